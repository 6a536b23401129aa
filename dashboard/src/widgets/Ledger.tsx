/** The newest tasks: where the chosen scheduler put them, and how far that was from the best. */
import { memo, useEffect, useMemo, useRef, useState, type FocusEvent, type KeyboardEvent } from 'react';
import { createColumnHelper, createSortedRowModel, flexRender, rowSortingFeature, sortFn_text, tableFeatures, useTable, type Header, type Row } from '@tanstack/react-table';
import { ArrowDown, ArrowUp, ChevronsUpDown, Download, Lightbulb, Table2 } from 'lucide-react';
import { Button, EmptyState, SearchBox } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { DeviceSwatch } from '@/components/Placement';
import { SchedulerName } from '@/components/Scheduler';
import type { TaskRecord } from '@/live/messages';
import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { setQuery } from '@/state/router';
import { schedulerStyle } from '@/theme/schedulers';
import { downloadFile } from '@/utils/download';
import { formatMegabytes, formatNumber, formatPercent, formatRatio, isKnown, scaleCost, scaleEnergy, scaleSeconds } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';
import { describeCounts, FILTER_HELP, isSampled, MAX_ROWS, parseFilter, toCsv, toJson, toLedgerRow, type LedgerRow } from './ledgerRows';

export function Ledger() {
  const [hovered, { onMouseEnter, onMouseLeave }] = usePauseOnHover();
  const [focused, { onFocus, onBlur }] = usePauseOnHover();
  const [text, setText] = useState('');
  const preferred = usePreferences((state) => state.scheduler);
  const race = useRace((each) => each, 'read', hovered || focused);
  const name = resolveScheduler(preferred, race.frame?.schedulers.map((each) => each.name) ?? []);
  const rows = useRows(race.records, race.frame?.devices, name);
  const filter = useMemo(() => parseFilter(text), [text]);
  const matching = useMemo(() => rows.filter(filter.test), [rows, filter]);
  const table = useTable({ features: tableOptions, columns: LEDGER_COLUMNS, data: matching, initialState: { sorting: [{ id: 'task', desc: true }] }, enableSortingRemoval: false, getRowId: (row) => String(row.task) });
  const shown = table.getRowModel().rows.slice(0, MAX_ROWS);
  const counts = describeCounts({ shown: shown.length, matching: matching.length, kept: rows.length, total: race.frame?.tasks_processed ?? 0, sampled: isSampled(race.records) });
  const originals = () => shown.map((row) => row.original);
  const keyboard = { onFocus: (event: FocusEvent<HTMLElement>) => event.target.matches(':focus-visible') && onFocus(), onBlur };
  return (
    <Tile
      title="Task ledger"
      icon={<Table2 size={15} />}
      subtitle={<span title={counts}>{filter.problem ? <span role="alert" className="text-bad">{filter.problem}</span> : `${counts} · ${schedulerStyle(name).label}${hovered || focused ? ' · paused' : ''}`}</span>}
      actions={
        <>
          <SearchBox label="Filter tasks" help={FILTER_HELP} value={text} onChange={setText} wrong={filter.problem !== ''} />
          <ExportButton kind="CSV" onClick={() => downloadFile(`tasks-${name}.csv`, 'text/csv', toCsv(originals()))} />
          <ExportButton kind="JSON" onClick={() => downloadFile(`tasks-${name}.json`, 'application/json', toJson(originals(), name))} />
        </>
      }
    >
      {rows.length ? (
        <div className="flex h-full flex-col">
          {/* Narrow screens have no room for it beside the title. */}
          <p className="text-xs text-quiet sm:hidden">{counts}</p>
          <div className="relative min-h-0 flex-1 overflow-auto" onMouseEnter={onMouseEnter} onMouseLeave={onMouseLeave} {...keyboard}>
            <table className="w-full border-collapse text-[0.8rem]">
              <thead className="sticky top-0 z-[1] bg-panel">
                {table.getHeaderGroups().map((group) => <tr key={group.id}>{group.headers.map((header) => <SortHeader key={header.id} header={header} sorted={header.column.getIsSorted()} />)}</tr>)}
              </thead>
              <LedgerBody rows={shown} />
            </table>
            {!shown.length && <EmptyState title="No task matches the filter" />}
          </div>
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

/** A record that changes is another one, so a row is made once: rows that stay are not drawn again. */
function useRows(records: readonly TaskRecord[], devices: Parameters<typeof toLedgerRow>[2] | undefined, name: string): LedgerRow[] {
  const key = devices?.map((each) => each.name).join() ?? '';
  const latest = useRef(devices);
  latest.current = devices;
  const made = useMemo(() => new WeakMap<TaskRecord, LedgerRow>(), [key, name]);
  return useMemo(() => {
    const row = (record: TaskRecord) => {
      const old = made.get(record) ?? toLedgerRow(record, name, latest.current ?? []);
      made.set(record, old);
      return old;
    };
    return records.map(row);
  }, [records, made, name]);
}

function ExportButton({ kind, onClick }: { kind: string; onClick: () => void }) {
  return (
    <Button className="px-1.5 text-xs" aria-label={`Export the rows shown as ${kind}`} title={`Export the rows shown as ${kind}`} onClick={onClick}>
      <Download size={12} aria-hidden="true" className="hidden sm:inline" />{kind}
    </Button>
  );
}

const SORTED = { asc: 'ascending', desc: 'descending' } as const;

function SortHeader({ header, sorted }: { header: Header<LedgerFeatures, LedgerRow>; sorted: false | 'asc' | 'desc' }) {
  const Icon = sorted === 'asc' ? ArrowUp : sorted === 'desc' ? ArrowDown : ChevronsUpDown;
  return (
    <th scope="col" aria-sort={sorted ? SORTED[sorted] : 'none'} className="border-b border-edge px-1 py-1 text-left font-medium whitespace-nowrap">
      <button type="button" className={`inline-flex items-center gap-0.5 ${sorted ? 'text-ink' : 'text-quiet hover:text-ink'}`} onClick={header.column.getToggleSortingHandler()}>
        {flexRender(header.column.columnDef.header, header.getContext())}
        <Icon size={11} aria-hidden="true" />
      </button>
    </th>
  );
}

type LedgerTableRow = Row<LedgerFeatures, LedgerRow>;

/** One stop of the Tab key; arrows lead to the other rows. */
function LedgerBody({ rows }: { rows: LedgerTableRow[] }) {
  const body = useRef<HTMLTableSectionElement | null>(null);
  useEffect(() => {
    const buttons = body.current?.querySelectorAll('button') ?? [];
    buttons.forEach((button, i) => (button.tabIndex = i ? -1 : 0));
  }, [rows]);
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === 'ArrowDown' ? 'nextElementSibling' : event.key === 'ArrowUp' ? 'previousElementSibling' : null;
    const to = step && (event.target as HTMLElement).closest('tr')?.[step]?.querySelector('button');
    if (!to) return;
    event.preventDefault();
    to.focus();
  };
  return <tbody ref={body} onKeyDown={onKeyDown}>{rows.map((row) => <LedgerLine key={row.id} row={row} />)}</tbody>;
}

const LedgerLine = memo(
  function Line({ row }: { row: LedgerTableRow }) {
    return (
      <tr className="num cursor-pointer border-b border-edge/50 hover:bg-raised focus-within:bg-raised" onClick={() => setQuery('task', row.id)}>
        {row.getAllCells().map((cell) => <td key={cell.id} className="px-1 py-[3px] whitespace-nowrap">{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>)}
      </tr>
    );
  },
  (before, after) => before.row.original === after.row.original,
);

/** Columns of the ledger: how each is called, sorted and drawn. */
const tableOptions = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel(), sortFns: { text: sortFn_text } });
type LedgerFeatures = typeof tableOptions;
const columnHelper = createColumnHelper<LedgerFeatures, LedgerRow>();
/** What is not known comes last, whichever way a column is sorted. */
const numberColumn = { sortUndefined: 'last', sortDescFirst: true } as const;
const textColumn = { sortFn: 'text', sortUndefined: 'last', sortDescFirst: false } as const;

const LEDGER_COLUMNS = columnHelper.columns([
  columnHelper.accessor('task', { header: 'Task', ...numberColumn, cell: (cell) => <TaskButton id={cell.getValue()} /> }),
  columnHelper.accessor('scheduler', { header: 'Scheduler', ...textColumn, cell: (cell) => <SchedulerName name={cell.getValue()} short /> }),
  columnHelper.accessor('arrival', { header: 'Arrival', ...numberColumn, cell: (cell) => <ValueWithUnit number={cell.getValue().toFixed(1)} unit="s" /> }),
  columnHelper.accessor('size', { header: 'Size', ...numberColumn, cell: (cell) => formatNumber(cell.getValue()) }),
  columnHelper.accessor('intensity', { header: 'Intensity', ...numberColumn, cell: (cell) => <IntensityCell value={cell.getValue()} /> }),
  columnHelper.accessor('memory', { header: 'Memory', ...numberColumn, cell: (cell) => formatMegabytes(cell.getValue()) }),
  columnHelper.accessor((row) => (row.placed === '–' ? undefined : row.placed), { id: 'placed', header: 'Placed on', ...textColumn, cell: (cell) => <PlacementCell row={cell.row.original} /> }),
  columnHelper.accessor((row) => row.time ?? undefined, { id: 'time', header: 'Time', ...numberColumn, cell: (cell) => <SecondsCell value={cell.getValue()} /> }),
  columnHelper.accessor((row) => row.turnaround ?? undefined, { id: 'turnaround', header: 'Turnaround', ...numberColumn, cell: (cell) => <SecondsCell value={cell.getValue()} /> }),
  columnHelper.accessor((row) => row.energy ?? undefined, { id: 'energy', header: 'Energy', ...numberColumn, cell: (cell) => <ValueWithUnit {...scaleEnergy(cell.getValue())} /> }),
  columnHelper.accessor((row) => row.cost ?? undefined, { id: 'cost', header: 'Cost', ...numberColumn, cell: (cell) => <ValueWithUnit {...scaleCost(cell.getValue())} /> }),
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
      {row.device >= 0 && <DeviceSwatch index={row.device} />}
      {row.placed}
      {split && <span className="num text-quiet" title="The rest runs on a CPU">{formatPercent(row.gpuShare)}</span>}
      {row.waiting && <span className="text-quiet" title="It has not started yet: its scheduler lets others overtake it">waits</span>}
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
