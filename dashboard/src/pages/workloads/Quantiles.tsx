import { formatNumber, formatMegabytes } from '@/look/format';
import type { WorkloadShape } from './useShape';

const QUANTILE_ROWS: [string, (shape: WorkloadShape) => WorkloadShape['size'], (value: number) => string][] = [
  ['Size', (shape) => shape.size, (value) => formatNumber(value)],
  ['Compute intensity', (shape) => shape.compute_intensity, (value) => value.toFixed(2)],
  ['Memory', (shape) => shape.memory_required, formatMegabytes],
];
const QUANTILE_COLUMNS = ['minimum', 'p25', 'median', 'p75', 'p90', 'p99', 'maximum', 'mean'] as const;

export function QuantileTable({ shape }: { shape: WorkloadShape }) {
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of quantiles">
      <table className="w-full text-right text-sm">
        <thead className="text-xs text-quiet">
          <tr className="border-b border-edge">
            <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 text-left font-medium">Quantity</th>
            {QUANTILE_COLUMNS.map((name) => <th key={name} className="px-2 font-medium">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {QUANTILE_ROWS.map(([name, of, text]) => (
            <tr key={name} className="border-b border-edge/60 last:border-0">
              <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-3 text-left font-normal">{name}</th>
              {QUANTILE_COLUMNS.map((column) => <td key={column} className="num px-2 whitespace-nowrap">{text(of(shape)[column])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
