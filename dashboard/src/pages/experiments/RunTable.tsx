/** The runs as a table, or as cards where a table does not fit. */
import { ArrowDown, ArrowUp, ChevronsUpDown } from 'lucide-react';
import { ProgressBar } from '@/components/AsyncContent';
import { MeasuredBadge, StateBadge } from '@/components/badges';
import { Link } from '@/components/controls';
import { SchedulerMarker, SchedulerName } from '@/components/Scheduler';
import { formatLoad, formatShortLoad, workloadName } from '@/pages/labels';
import { schedulerStyle } from '@/theme/schedulers';
import { formatCount, formatDate, formatSeconds } from '@/utils/format';
import { isComparable, runTitle, SORTS, useRunList, type Row, type SortKey } from './runs';

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

/** What a row says about a run; the same words in the table and on a phone's cards. */
function CompareCheckbox({ row }: { row: Row }) {
  const { picked, pick } = useRunList();
  return (
    <input
      type="checkbox"
      className="size-4 accent-[var(--accent)] disabled:opacity-40"
      aria-label={`Compare ${runTitle(row)}`}
      title={isComparable(row) ? 'Tick two or more to compare them' : 'It has no figures to compare'}
      disabled={!isComparable(row)}
      checked={picked.includes(row.id)}
      onChange={(event) => pick(row.id, event.target.checked)}
    />
  );
}

function RunTitle({ row }: { row: Row }) {
  return (
    <span className="block min-w-0">
      <Link to={`/experiments?run=${row.id}`} className="font-semibold break-words underline-offset-2 hover:underline">{runTitle(row)}</Link>
      <span className="flex items-center gap-1.5 text-xs whitespace-nowrap text-quiet">#{row.id} · {row.kind}{row.current ? ' · goes on now' : ''} <MeasuredBadge measured={row.measured} /></span>
    </span>
  );
}

function RunState({ row }: { row: Row }) {
  const { state, experiment } = row;
  return (
    <span className="inline-block min-w-24 max-lg:text-right">
      <StateBadge state={state} {...(experiment?.error ? { title: experiment.error } : {})} />
      {experiment && (state === 'running' || state === 'queued') && (
        <span className="mt-1 block">
          <ProgressBar done={experiment.done} total={experiment.of} label={`Seeds of ${runTitle(row)}`} />
          <span className="num text-xs text-quiet">{experiment.ahead ? `${experiment.ahead} before it` : `${experiment.done} of ${experiment.of} seeds`}</span>
        </span>
      )}
    </span>
  );
}

function SchedulerMarkers({ names }: { names: readonly string[] }) {
  const all = names.map((name) => schedulerStyle(name).label).join(', ');
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5" role="img" aria-label={all} title={all}>
      {names.map((name) => <SchedulerMarker key={name} name={name} size={13} />)}
    </span>
  );
}

export function RunHeadline({ row }: { row: Row }) {
  if (!row.headline) return <span className="text-quiet">–</span>;
  const { scheduler, mean_turnaround, tied } = row.headline;
  return (
    <span className="block text-sm">
      {[scheduler, ...tied].map((name) => (
        <span key={name} className="block">
          <SchedulerName name={name} />
        </span>
      ))}
      <span className="num block text-xs text-quiet">
        {tied.length > 0 && 'tie at '}
        {formatSeconds(mean_turnaround)} turnaround
      </span>
    </span>
  );
}
