/** The newest tasks: where the chosen scheduler put them, and how far that was from the best. */
import { memo, useEffect, useMemo, useRef, useState, type FocusEvent, type KeyboardEvent } from 'react';
import { flexRender, useTable, type Header, type Row } from '@tanstack/react-table';
import { ArrowDown, ArrowUp, ChevronsUpDown, Download, Table2 } from 'lucide-react';
import { resolveScheduler, usePreferences } from '@/app/choices';
import { setQuery } from '@/app/router';
import type { LiveRecord } from '@/live/messages';
import { useRace } from '@/live/store';
import { Button, EmptyState } from '@/look/parts';
import { schedulerStyle } from '@/look/schedulers';
import { Tile } from '@/look/Tile';
import { usePauseOnHover } from '@/look/useHold';
import { downloadFile } from './download';
import { LEDGER_COLUMNS, tableOptions, type LedgerFeatures } from './ledgerColumns';
import { describeCounts, toCsv, FILTER_HELP, parseFilter, isSampled, toJson, MAX_ROWS, toLedgerRow, type LedgerRow } from './ledgerRows';
import { SearchBox } from './SearchBox';

export function Ledger() {
  const [hovered, { onMouseEnter, onMouseLeave }] = usePauseOnHover();
  const [focused, { onFocus, onBlur }] = usePauseOnHover();
  const [text, setText] = useState('');
  const wanted = usePreferences((state) => state.scheduler);
  const race = useRace((each) => each, 'read', hovered || focused);
  const name = resolveScheduler(wanted, race.frame?.schedulers.map((each) => each.name) ?? []);
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
      subtitle={<span title={counts}>{filter.problem ? <span role="alert" className="text-bad">{filter.problem}</span> : `${counts} · ${schedulerStyle(name).label}${hovered || focused ? ' · held' : ''}`}</span>}
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

/** A record never changes, so its row is made once: rows that stay are not drawn again. */
function useRows(records: readonly LiveRecord[], devices: Parameters<typeof toLedgerRow>[2] | undefined, name: string): LedgerRow[] {
  const key = devices?.map((each) => each.name).join() ?? '';
  const latest = useRef(devices);
  latest.current = devices;
  const made = useMemo(() => new WeakMap<LiveRecord, LedgerRow>(), [key, name]);
  return useMemo(() => {
    const row = (record: LiveRecord) => {
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
    <th scope="col" aria-sort={sorted ? SORTED[sorted] : 'none'} className="border-b border-edge px-1.5 py-1 text-left font-medium whitespace-nowrap">
      <button type="button" className={`inline-flex items-center gap-1 ${sorted ? 'text-ink' : 'text-quiet hover:text-ink'}`} onClick={header.column.getToggleSortingHandler()}>
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
        {row.getAllCells().map((cell) => <td key={cell.id} className="px-1.5 py-[3px] whitespace-nowrap">{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>)}
      </tr>
    );
  },
  (before, after) => before.row.original === after.row.original,
);
