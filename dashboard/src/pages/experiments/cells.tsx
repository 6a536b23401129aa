/** What a row says about a run; the same words in the table and on a phone's cards. */
import { formatSeconds } from '@/look/format';
import { MeasuredBadge } from '@/look/Measured';
import { schedulerStyle } from '@/look/schedulers';
import { SchedulerName, SchedulerMarker } from '@/look/Shape';
import { Link } from '../parts/Link';
import { ProgressBar } from '../parts/Progress';
import { isComparable, runTitle, useRunList, type Row } from './rows';
import { StateBadge } from './StateChip';

export function CompareCheckbox({ row }: { row: Row }) {
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

export function RunTitle({ row }: { row: Row }) {
  return (
    <span className="block min-w-0">
      <Link to={`/experiments?run=${row.id}`} className="font-semibold break-words underline-offset-2 hover:underline">{runTitle(row)}</Link>
      <span className="flex items-center gap-1.5 text-xs whitespace-nowrap text-quiet">#{row.id} · {row.kind}{row.current ? ' · goes on now' : ''} <MeasuredBadge measured={row.measured} /></span>
    </span>
  );
}

export function RunState({ row }: { row: Row }) {
  const { state, experiment } = row;
  return (
    <span className="inline-block min-w-24 max-lg:text-right">
      <StateBadge state={state} {...(experiment?.error ? { title: experiment.error } : {})} />
      {experiment && (state === 'running' || state === 'queued') && (
        <span className="mt-1 block">
          <ProgressBar done={experiment.done} of={experiment.of} label={`Seeds of ${runTitle(row)}`} />
          <span className="num text-xs text-quiet">{experiment.ahead ? `${experiment.ahead} before it` : `${experiment.done} of ${experiment.of} seeds`}</span>
        </span>
      )}
    </span>
  );
}

export function SchedulerMarkers({ names }: { names: readonly string[] }) {
  const all = names.map((name) => schedulerStyle(name).label).join(', ');
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5" role="img" aria-label={all} title={all}>
      {names.map((name) => <SchedulerMarker key={name} name={name} size={13} />)}
    </span>
  );
}

export function RunHeadline({ row }: { row: Row }) {
  if (!row.headline) return <span className="text-quiet">–</span>;
  return (
    <span className="block text-sm">
      <SchedulerName name={row.headline.scheduler} />
      <span className="num block text-xs text-quiet">{formatSeconds(row.headline.mean_turnaround)} turnaround</span>
    </span>
  );
}
