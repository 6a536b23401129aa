/** The runs as a table, or as cards where a table does not fit. */
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react';
import { formatCount, formatDate, formatSeconds } from '@/look/format';
import { formatShortLoad, formatLoad, workloadName } from '../parts/words';
import { RunHeadline, CompareCheckbox, SchedulerMarkers, RunState, RunTitle } from './cells';
import { SORTS, useRunList, type Row, type SortKey } from './rows';

export function RunTable({ rows }: { rows: Row[] }) {
  return (
    <div className="relative overflow-x-auto">
      <table className="w-full min-w-[1000px] text-left text-sm">
        <caption className="sr-only">Runs; tick two or more to compare them</caption>
        <thead className="text-xs text-quiet">
          <tr className="border-b border-edge">
            <th className="w-8 py-2 pl-2"><span className="sr-only">Compare</span></th>
            <SortableHeader name="title" />
            <th className="px-2 font-medium">State</th>
            <SortableHeader name="when" />
            <SortableHeader name="duration" right />
            <th className="px-2 font-medium">Workload</th>
            <SortableHeader name="load" right />
            <SortableHeader name="gpus" right />
            <SortableHeader name="tasks" right />
            <th className="px-2 font-medium">Schedulers</th>
            <th className="px-2 font-medium">Best</th>
          </tr>
        </thead>
        <tbody>{rows.map((row) => <RunRow key={row.id} row={row} />)}</tbody>
      </table>
    </div>
  );
}

function RunRow({ row }: { row: Row }) {
  const picked = useRunList((state) => state.picked.includes(row.id));
  return (
    <tr className={`border-b border-edge/60 last:border-0 hover:bg-raised/60 ${picked ? 'bg-raised' : ''}`}>
      <td className="py-2 pl-2 align-middle"><CompareCheckbox row={row} /></td>
      <td className="max-w-72 px-2 py-2"><RunTitle row={row} /></td>
      <td className="px-2"><RunState row={row} /></td>
      <td className="num px-2 text-xs whitespace-nowrap">{formatDate(row.started_at)}</td>
      <td className="num px-2 text-right whitespace-nowrap">{formatSeconds(row.duration)}</td>
      <td className="max-w-40 truncate px-2" title={row.workload}>{workloadName(row.workload)}</td>
      <td className="num px-2 text-right whitespace-nowrap" title={formatLoad(row)}>{formatShortLoad(row)}</td>
      <td className="num px-2 text-right">{row.num_gpus ?? '–'}</td>
      <td className="num px-2 text-right">{formatCount(row.tasks)}</td>
      <td className="px-2"><SchedulerMarkers names={row.schedulers} /></td>
      <td className="px-2 whitespace-nowrap"><RunHeadline row={row} /></td>
    </tr>
  );
}

function SortableHeader({ name, right = false }: { name: SortKey; right?: boolean }) {
  const { sort, down, set } = useRunList();
  const on = sort === name;
  const Arrow = !on ? ChevronsUpDown : down ? ArrowDown : ArrowUp;
  return (
    <th className="px-2 font-medium" aria-sort={on ? (down ? 'descending' : 'ascending') : 'none'}>
      <button type="button" onClick={() => set({ sort: name, down: on ? !down : name !== 'title' })} className={`flex w-full items-center gap-1 py-2 hover:text-ink ${right ? 'justify-end' : ''} ${on ? 'text-ink' : ''}`}>
        {SORTS[name]} <Arrow size={12} aria-hidden="true" />
      </button>
    </th>
  );
}

export function RunCards({ rows }: { rows: Row[] }) {
  return (
    <ul className="divide-y divide-edge/60">
      {rows.map((row) => (
        <li key={row.id} className="flex gap-3 py-3">
          <span className="pt-0.5"><CompareCheckbox row={row} /></span>
          <div className="min-w-0 flex-1 space-y-1.5 text-sm">
            <div className="flex items-start justify-between gap-2"><RunTitle row={row} /><RunState row={row} /></div>
            <p className="text-xs text-quiet">
              <span className="num">{formatDate(row.started_at)}</span>, <span className="num">{formatSeconds(row.duration)}</span> · {workloadName(row.workload)} · load {formatShortLoad(row)} · {row.num_gpus ?? '–'} GPUs · {formatCount(row.tasks)} tasks
            </p>
            <div className="flex flex-wrap items-center justify-between gap-2"><SchedulerMarkers names={row.schedulers} /><RunHeadline row={row} /></div>
          </div>
        </li>
      ))}
    </ul>
  );
}
