/** One run: what it was, what was changed, what came out, and how sure that is. */
import { useState, type ReactNode } from 'react';
import { History } from 'lucide-react';
import { remove, type Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, ProgressBar, Skeleton } from '@/components/AsyncContent';
import { MeasuredBadge, StateBadge } from '@/components/badges';
import { Button, Chip, ErrorMessage, Link } from '@/components/controls';
import { FactList, PageHeader, Panel } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import { formatLoad, isUpload, workloadName, workloadPath } from '@/pages/labels';
import { runCommand } from '@/state/commands';
import { formatClock, formatCount, formatDate, formatPercent, formatSeconds, formatValue, humanize, pluralize } from '@/utils/format';
import { formatSeeds } from './form';
import { RenameForm, RunActions } from './RunActions';
import { FiguresSection } from './RunFigures';
import { runTitle, type Experiment, type RunDetail } from './runs';

const ACTIVE = ['queued', 'running'];

export function RunPage({ id }: { id: number }) {
  const [active, setActive] = useState(false);
  const run = useFetch<RunDetail>(`/api/runs/${id}`, active ? 5 : null);
  const comparison = run.data?.kind === 'comparison';
  const experiment = useFetch<Experiment>(comparison ? `/api/experiments/${id}` : null, active ? 1 : null);
  const inProgress = ACTIVE.includes(experiment.data?.state ?? run.data?.status ?? '');
  if (run.data && inProgress !== active) {
    setActive(inProgress);
    if (!inProgress) run.refetch();
  }
  const back = <Link to="/experiments">← All experiments</Link>;
  if (!run.data) {
    return (
      <>
        <PageHeader title={`Run ${id}`} before={back} />
        <AsyncContent answer={run} skeleton={<Skeleton heights={['h-28', 'h-80', 'h-64']} label="Loading the run" />}>{() => null}</AsyncContent>
      </>
    );
  }
  const refetch = () => {
    run.refetch();
    experiment.refetch();
  };
  return (
    <>
      <RunHeader run={run.data} experiment={experiment.data} back={back} refetch={refetch} />
      <div className="space-y-3">
        {experiment.data && <ExperimentProgress experiment={experiment.data} refetch={refetch} />}
        <RunSettings run={run.data} experiment={experiment.data} />
        {(!comparison || experiment.data?.state === 'finished' || experiment.problem) && <FiguresSection id={id} every={inProgress ? 10 : null} />}
        {run.data.kind === 'live' && <Changes changes={run.data.changes} />}
      </div>
    </>
  );
}

function RunHeader({ run, experiment, back, refetch }: { run: RunDetail; experiment: Experiment | null; back: ReactNode; refetch: () => void }) {
  const [renaming, setRenaming] = useState(false);
  const state = experiment?.state ?? run.status;
  const close = () => {
    setRenaming(false);
    refetch();
  };
  return (
    <>
      <PageHeader
        before={back}
        title={renaming ? <RenameForm run={run} onDone={close} /> : <>{runTitle(run)} <StateBadge state={state} /> <MeasuredBadge measured={run.measured} />{run.current && <Chip tone="good">goes on now</Chip>}</>}
        about={`Run ${run.id}, ${run.kind} · ${formatDate(run.started_at)} · ${formatSeconds(run.duration)} · version ${run.version}`}
        actions={<RunActions run={run} state={state} onRename={() => setRenaming(true)} />}
      />
      {state === 'interrupted' && run.kind === 'live' && <div className="mb-3"><ErrorMessage message="The server ended before this run did." hint={run.measured ? 'What really ran cannot be played again: start a new one.' : 'Resume it: it is played again up to its last task, then goes on.'} /></div>}
    </>
  );
}

/** Settings that the list below already has in better words. */
const SHOWN_ELSEWHERE = ['schedulers', 'preset', 'workload', 'load', 'rate', 'num_gpus', 'seed', 'seeds', 'tasks', 'title'];

function RunSettings({ run, experiment }: { run: RunDetail; experiment: Experiment | null }) {
  const rest = Object.entries(run.settings).filter(([name]) => !SHOWN_ELSEWHERE.includes(name));
  const seeds = experiment?.seeds ?? [run.seed];
  return (
    <Panel title="Settings" subtitle={run.measured ? 'as it began; it was measured, so another one will differ' : run.kind === 'live' ? 'as it began; with the changes below, that is what it takes to repeat it' : 'what it takes to repeat it'}>
      <FactList
        facts={[
          ['Workload', <Link key="w" to={workloadPath(run.workload)} title={run.workload}>{workloadName(run.workload)}{isUpload(run.workload) ? ' (file)' : ''}</Link>],
          ['Load', formatLoad(run)],
          ['GPUs', formatCount(run.num_gpus)],
          experiment ? ['Tasks of a seed', experiment.tasks === null ? 'all of the workload' : formatCount(experiment.tasks)] : ['Tasks', formatCount(run.tasks)],
          [seeds.length > 1 ? `${seeds.length} seeds` : 'Seed', <span key="s" className="num">{formatSeeds(seeds)}</span>],
          ...rest.map(([name, value]): [string, string] => formatSetting(name, value)),
        ]}
      />
      <p className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm">{run.schedulers.map((name) => <SchedulerName key={name} name={name} />)}</p>
    </Panel>
  );
}

/** A setting in words, with its unit; one that is not known here as it is. */
function formatSetting(name: string, value: unknown): [string, string] {
  if (name === 'pace') return ['Pace', value === null ? 'as fast as possible' : `${formatValue(value)} tasks/s`];
  if (name === 'max_queue') return ['Longest queue', value === null ? 'any' : `${formatValue(value)} tasks`];
  if (name === 'failed_gpus') return ['Failed GPUs', formatValue(value)];
  if (name === 'energy_weight' && typeof value === 'number') return ['Energy against time', formatPercent(value)];
  if (name === 'devices') return ['Devices', value === '' ? 'simulated' : formatValue(value)];
  return [capitalize(humanize(name)), formatValue(value)];
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** How far an experiment is; it can be cancelled while it waits or runs. */
function ExperimentProgress({ experiment, refetch }: { experiment: Experiment; refetch: () => void }) {
  const { id, state, done, of, error } = experiment;
  if (state === 'failed') return <ErrorMessage message={error || 'the experiment has failed'} />;
  if (state === 'cancelled' || state === 'interrupted') {
    return <p role="status" className="panel px-4 py-3 text-sm">It was {state === 'cancelled' ? 'cancelled' : 'interrupted: the server ended'} after {done} of {pluralize(of, 'seed')}.</p>;
  }
  if (state === 'finished') return null;
  const cancel = async () => {
    await runCommand('Cancelled', () => remove(`/api/experiments/${id}`), () => `after ${pluralize(done, 'seed')}`);
    refetch();
  };
  return (
    <div className="panel flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p role="status" className="mb-1.5 text-sm">{describeProgress(experiment)}</p>
        <ProgressBar done={done} total={of} label="Seeds done" />
      </div>
      <Button kind="danger" onClick={() => void cancel()}>Cancel</Button>
    </div>
  );
}

function describeProgress({ state, done, of, ahead }: Experiment): string {
  if (state === 'queued') return ahead ? `It waits: ${pluralize(ahead, 'experiment')} before it.` : 'It starts in a moment.';
  return `${done} of ${pluralize(of, 'seed')} done. The figures appear when all are.`;
}

/** What was changed while a live run went on. */
function Changes({ changes }: { changes: Schemas['SettingsChange-Output'][] }) {
  return (
    <Panel title="Changes" icon={<History size={15} />} subtitle={changes.length ? `${pluralize(changes.length, 'change')}, oldest first` : undefined}>
      {changes.length ? (
        <ol className="relative max-h-72 space-y-1 overflow-y-auto text-sm" tabIndex={0} aria-label="Changes">
          {changes.map((each, i) => (
            <li key={i} className="flex flex-wrap gap-x-3">
              <span className="num w-24 shrink-0 text-quiet" title={formatDate(each.created_at)}>{formatClock(each.at_time)}</span>
              <span className="num w-28 shrink-0 text-quiet">task {formatCount(each.at_task)}</span>
              <span className="min-w-0 break-words">{Object.entries(each.change).map(([name, value]) => `${humanize(name)}: ${formatValue(value)}`).join('; ')}</span>
            </li>
          ))}
        </ol>
      ) : (
        <p className="text-sm text-quiet">Nothing was changed: the run went through as it began.</p>
      )}
    </Panel>
  );
}
