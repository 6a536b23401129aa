/** Columns of the ledger: how each is called, sorted and drawn. */
import { createColumnHelper, createSortedRowModel, rowSortingFeature, sortFn_text, tableFeatures } from '@tanstack/react-table';
import { Lightbulb } from 'lucide-react';
import { figure, known, megabytes, over, percent, secondsOf } from '@/look/format';
import { SchedulerName } from '@/look/Shape';
import type { LedgerRow } from './ledgerRows';
import { DeviceSwatch } from './DeviceSwatch';

export const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns: { text: sortFn_text } });
export type LedgerFeatures = typeof features;
const column = createColumnHelper<LedgerFeatures, LedgerRow>();
/** What is not known comes last, whichever way a column is sorted. */
const number = { sortUndefined: 'last', sortDescFirst: true } as const;
const text = { sortFn: 'text', sortUndefined: 'last', sortDescFirst: false } as const;

export const COLUMNS = column.columns([
  column.accessor('task', { header: 'Task', ...number, cell: (cell) => <TaskButton id={cell.getValue()} /> }),
  column.accessor('arrival', { header: 'Arrival', ...number, cell: (cell) => <Figure number={cell.getValue().toFixed(1)} unit="s" /> }),
  column.accessor('size', { header: 'Size', ...number, cell: (cell) => figure(cell.getValue()) }),
  column.accessor('intensity', { header: 'Intensity', ...number, cell: (cell) => <Intensity value={cell.getValue()} /> }),
  column.accessor('memory', { header: 'Memory', ...number, cell: (cell) => megabytes(cell.getValue()) }),
  column.accessor((row) => (row.placed === '–' ? undefined : row.placed), { id: 'placed', header: 'Placed on', ...text, cell: (cell) => <Placed row={cell.row.original} /> }),
  column.accessor((row) => row.time ?? undefined, { id: 'time', header: 'Time', ...number, cell: (cell) => <Seconds value={cell.getValue()} /> }),
  column.accessor((row) => row.turnaround ?? undefined, { id: 'turnaround', header: 'Turnaround', ...number, cell: (cell) => <Seconds value={cell.getValue()} /> }),
  column.accessor((row) => row.regret ?? undefined, { id: 'regret', header: 'Regret', ...number, cell: (cell) => <Regret value={cell.getValue()} /> }),
  column.accessor((row) => row.winner ?? undefined, { id: 'winner', header: 'Winner', ...text, cell: (cell) => <Winner row={cell.row.original} /> }),
  column.accessor((row) => (row.explained ? 1 : 0), { id: 'explained', header: 'Why', ...number, cell: (cell) => <Why told={cell.getValue() === 1} /> }),
]);

/** The row itself listens to clicks, so that one press opens one audit. */
function TaskButton({ id }: { id: number }) {
  return <button type="button" tabIndex={-1} className="font-semibold hover:underline" aria-label={`Task ${id}: why it was placed there`}>#{id}</button>;
}

function Figure({ number: digits, unit }: { number: string; unit: string }) {
  return <>{digits} <span className="text-quiet">{unit}</span></>;
}

function Seconds({ value }: { value: number | undefined }) {
  return <Figure {...secondsOf(value)} />;
}

function Intensity({ value }: { value: number }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden="true" className="h-1.5 w-7 overflow-hidden rounded-full bg-well ring-1 ring-edge">
        <span className="block h-full bg-accent" style={{ width: `${Math.min(1, Math.max(0, value)) * 100}%` }} />
      </span>
      {value.toFixed(2)}
    </span>
  );
}

function Placed({ row }: { row: LedgerRow }) {
  if (row.rejected) return <span className="font-sans font-semibold text-warn">rejected</span>;
  const split = known(row.gpuShare) && row.gpuShare > 0 && row.gpuShare < 1;
  return (
    <span className="inline-flex items-center gap-1.5 font-sans">
      <DeviceSwatch index={row.device} />
      {row.placed}
      {split && <span className="num text-quiet" title="The rest runs on a CPU">{percent(row.gpuShare)}</span>}
      {row.attempt > 1 && <span className="text-warn" title="It had to start again">×{row.attempt}</span>}
    </span>
  );
}

function Regret({ value }: { value: number | undefined }) {
  return <span className={!known(value) ? 'text-quiet' : value < 1.005 ? 'text-good' : value < 1.5 ? '' : 'text-warn'}>{over(value)}</span>;
}

function Winner({ row }: { row: LedgerRow }) {
  if (!row.winner) return <span className="text-quiet">nobody</span>;
  return (
    <span className="inline-flex items-center gap-1 font-sans">
      <SchedulerName name={row.winner} short />
      {row.ties > 0 && <span className="num text-quiet" title={`${row.ties} more ended at the same moment`}>+{row.ties}</span>}
    </span>
  );
}

function Why({ told }: { told: boolean }) {
  return told ? <Lightbulb size={13} className="inline text-accent" aria-label="its reasons are kept" /> : <span className="sr-only">no reasons kept</span>;
}
