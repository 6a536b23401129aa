/** The measures of runs in words and units. */
import type { Schemas } from '@/api/client';
import { Select } from '@/components/controls';
import { formatNumber, formatPercent, isKnown, scaleCost, scaleEnergy, scaleSeconds, type Quantity } from '@/utils/format';

export type Measure = Schemas['MeasureInfo'];
export type Estimate = Schemas['Estimate'];

/** What most people look for, in this order; the others can be asked for. */
export const MAIN_MEASURES = ['mean_turnaround', 'p95_turnaround', 'makespan_over_bound', 'mean_execution', 'energy_per_task', 'cost_per_task', 'energy', 'cost', 'throughput'];
/** Nobody can get below 1 here: the bound is certified. */
export const BOUNDED_MEASURE = 'makespan_over_bound';

const LABELS: Record<string, string> = {
  makespan_over_bound: 'Makespan / bound',
  execution_over_best: 'Execution / best',
  mean_execution: 'Mean execution time',
  decision_seconds: 'Time of a decision',
  total_time: 'Total execution time',
  p50_turnaround: 'Median turnaround',
  p95_turnaround: 'p95 turnaround',
  p99_turnaround: 'p99 turnaround',
  energy_delay: 'Energy × delay',
  regret: 'Regret against the oracle',
};

export function measureLabel(name: string): string {
  const words = name.replaceAll('_', ' ');
  return LABELS[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** Measures with the main ones first, in their order. */
export function sortMeasures(measures: readonly Measure[]): Measure[] {
  const place = (each: Measure) => (MAIN_MEASURES.includes(each.name) ? MAIN_MEASURES.indexOf(each.name) : MAIN_MEASURES.length);
  return measures.toSorted((a, b) => place(a) - place(b));
}

export function toQuantity(value: number | null | undefined, unit: string): Quantity {
  if (!isKnown(value)) return { number: '–', unit: '' };
  switch (unit) {
    case 's':
      return scaleSeconds(value);
    case 'J':
      return scaleEnergy(value);
    case '$':
      return scaleCost(value);
    case 'share':
      return { number: formatPercent(value, 1).replace(' %', ''), unit: '%' };
    case '×':
      return { number: Math.abs(value) < 10 ? value.toFixed(3) : formatNumber(value), unit: '×' };
    default:
      return { number: formatNumber(value), unit };
  }
}

export function formatMeasure(value: number | null | undefined, unit: string): string {
  const { number, unit: written } = toQuantity(value, unit);
  return written ? `${number} ${written}` : number;
}

/** Both ends of an interval; the unit once if it is the same. */
export function formatInterval(low: number | null, high: number | null, unit: string): string {
  if (!isKnown(low) || !isKnown(high)) return 'no interval';
  const [from, to] = [toQuantity(low, unit), toQuantity(high, unit)];
  return from.unit === to.unit ? `${from.number} – ${to.number} ${to.unit}`.trim() : `${formatMeasure(low, unit)} – ${formatMeasure(high, unit)}`;
}

/** A signed amount: +3.1 ms, −20 J, 0 s. */
export function formatSigned(value: number | null, unit: string): string {
  if (!isKnown(value)) return '–';
  const sign = value > 0 ? '+' : value < 0 ? '−' : '';
  return sign + formatMeasure(Math.abs(value), unit);
}

/** Choose a measure; those that most people look for come first. */
export function MeasureSelect({ measures, value, onChange }: { measures: readonly Measure[]; value: string; onChange: (name: string) => void }) {
  const option = ({ name }: Measure) => <option key={name} value={name}>{measureLabel(name)}</option>;
  const order = sortMeasures(measures);
  const rest = order.filter(({ name }) => !MAIN_MEASURES.includes(name));
  return (
    <Select aria-label="Measure" value={value} onChange={(event) => onChange(event.target.value)}>
      {order.filter(({ name }) => MAIN_MEASURES.includes(name)).map(option)}
      {rest.length > 0 && <optgroup label="More">{rest.map(option)}</optgroup>}
    </Select>
  );
}
