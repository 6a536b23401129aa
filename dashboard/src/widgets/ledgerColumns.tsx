/** Columns of the ledger: how each is called, sorted and drawn. */
import { createColumnHelper, createSortedRowModel, rowSortingFeature, sortFn_text, tableFeatures } from '@tanstack/react-table';
import { Lightbulb } from 'lucide-react';
import { formatNumber, isKnown, formatMegabytes, formatRatio, formatPercent, scaleSeconds } from '@/look/format';
import { SchedulerName } from '@/look/Shape';
import type { LedgerRow } from './ledgerRows';
import { DeviceSwatch } from './DeviceSwatch';

export const tableOptions = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns: { text: sortFn_text } });
export type LedgerFeatures = typeof tableOptions;
const columnHelper = createColumnHelper<LedgerFeatures, LedgerRow>();
/** What is not known comes last, whichever way a column is sorted. */
const numberColumn = { sortUndefined: 'last', sortDescFirst: true } as const;
const textColumn = { sortFn: 'text', sortUndefined: 'last', sortDescFirst: false } as const;

export const LEDGER_COLUMNS = columnHelper.columns([
  columnHelper.accessor('task', { header: 'Task', ...numberColumn, cell: (cell) => <TaskButton id={cell.getValue()} /> }),
  columnHelper.accessor('arrival', { header: 'Arrival', ...numberColumn, cell: (cell) => <ValueWithUnit number={cell.getValue().toFixed(1)} unit="s" /> }),
  columnHelper.accessor('size', { header: 'Size', ...numberColumn, cell: (cell) => formatNumber(cell.getValue()) }),
  columnHelper.accessor('intensity', { header: 'Intensity', ...numberColumn, cell: (cell) => <IntensityCell value={cell.getValue()} /> }),
  columnHelper.accessor('memory', { header: 'Memory', ...numberColumn, cell: (cell) => formatMegabytes(cell.getValue()) }),
  columnHelper.accessor((row) => (row.placed === '–' ? undefined : row.placed), { id: 'placed', header: 'Placed on', ...textColumn, cell: (cell) => <PlacementCell row={cell.row.original} /> }),
  columnHelper.accessor((row) => row.time ?? undefined, { id: 'time', header: 'Time', ...numberColumn, cell: (cell) => <SecondsCell value={cell.getValue()} /> }),
  columnHelper.accessor((row) => row.turnaround ?? undefined, { id: 'turnaround', header: 'Turnaround', ...numberColumn, cell: (cell) => <SecondsCell value={cell.getValue()} /> }),
  columnHelper.accessor((row) => row.regret ?? undefined, { id: 'regret', header: 'Regret', ...numberColumn, cell: (cell) => <RegretCell value={cell.getValue()} /> }),
  columnHelper.accessor((row) => row.winner ?? undefined, { id: 'winner', header: 'Winner', ...textColumn, cell: (cell) => <WinnerCell row={cell.row.original} /> }),
  columnHelper.accessor((row) => (row.explained ? 1 : 0), { id: 'explained', header: 'Why', ...numberColumn, cell: (cell) => <ReasonsIcon told={cell.getValue() === 1} /> }),
]);

/** The row itself listens to clicks, so that one press opens one audit. */
function TaskButton({ id }: { id: number }) {
  return <button type="button" tabIndex={-1} className="font-semibold hover:underline" aria-label={`Task ${id}: why it was placed there`}>#{id}</button>;
}

function ValueWithUnit({ number: digits, unit }: { number: string; unit: string }) {
  return <>{digits} <span className="text-quiet">{unit}</span></>;
}

function SecondsCell({ value }: { value: number | undefined }) {
  return <ValueWithUnit {...scaleSeconds(value)} />;
}

function IntensityCell({ value }: { value: number }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden="true" className="h-1.5 w-7 overflow-hidden rounded-full bg-well ring-1 ring-edge">
        <span className="block h-full bg-accent" style={{ width: `${Math.min(1, Math.max(0, value)) * 100}%` }} />
      </span>
      {value.toFixed(2)}
    </span>
  );
}

function PlacementCell({ row }: { row: LedgerRow }) {
  if (row.rejected) return <span className="font-sans font-semibold text-warn">rejected</span>;
  const split = isKnown(row.gpuShare) && row.gpuShare > 0 && row.gpuShare < 1;
  return (
    <span className="inline-flex items-center gap-1.5 font-sans">
      <DeviceSwatch index={row.device} />
      {row.placed}
      {split && <span className="num text-quiet" title="The rest runs on a CPU">{formatPercent(row.gpuShare)}</span>}
      {row.attempt > 1 && <span className="text-warn" title="It had to start again">×{row.attempt}</span>}
    </span>
  );
}

function RegretCell({ value }: { value: number | undefined }) {
  return <span className={!isKnown(value) ? 'text-quiet' : value < 1.005 ? 'text-good' : value < 1.5 ? '' : 'text-warn'}>{formatRatio(value)}</span>;
}

function WinnerCell({ row }: { row: LedgerRow }) {
  if (!row.winner) return <span className="text-quiet">nobody</span>;
  return (
    <span className="inline-flex items-center gap-1 font-sans">
      <SchedulerName name={row.winner} short />
      {row.ties > 0 && <span className="num text-quiet" title={`${row.ties} more ended at the same moment`}>+{row.ties}</span>}
    </span>
  );
}

function ReasonsIcon({ told }: { told: boolean }) {
  return told ? <Lightbulb size={13} className="inline text-accent" aria-label="its reasons are kept" /> : <span className="sr-only">no reasons kept</span>;
}
