/** One run: what it was, what was changed, what came out, and how sure that is. */
import { useState, type ReactNode } from 'react';
import type { Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { MeasuredBadge } from '@/look/Measured';
import { Chip, ErrorLine } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { count, moment, percent, seconds } from '@/look/format';
import { Asked, Skeleton } from '../parts/Asked';
import { Link } from '../parts/Link';
import { Facts, PageHead, Panel } from '../parts/Panel';
import { isUpload, loadText, plain, spaced, workloadName, workloadPath } from '../parts/words';
import { Changes } from './Changes';
import { Figures } from './Figures';
import { Rename } from './Rename';
import { RunActions } from './RunActions';
import { Standing } from './Standing';
import { titleOf, type Experiment } from './rows';
import { seedsText } from './seeds';
import { StateChip } from './StateChip';

export type RunDetail = Schemas['RunDetail'];
const ACTIVE = ['queued', 'running'];

export function RunView({ id }: { id: number }) {
  const [active, setActive] = useState(false);
  const run = useGet<RunDetail>(`/api/runs/${id}`, active ? 5 : null);
  const comparison = run.data?.kind === 'comparison';
  const experiment = useGet<Experiment>(comparison ? `/api/experiments/${id}` : null, active ? 1 : null);
  const goesOn = ACTIVE.includes(experiment.data?.state ?? run.data?.status ?? '');
  if (run.data && goesOn !== active) {
    setActive(goesOn);
    if (!goesOn) run.again();
  }
  const back = <Link to="/experiments">← All experiments</Link>;
  if (!run.data) {
    return (
      <>
        <PageHead title={`Run ${id}`} before={back} />
        <Asked answer={run} skeleton={<Skeleton heights={['h-28', 'h-80', 'h-64']} label="Loading the run" />}>{() => null}</Asked>
      </>
    );
  }
  const again = () => {
    run.again();
    experiment.again();
  };
  return (
    <>
      <Head run={run.data} experiment={experiment.data} back={back} again={again} />
      <div className="space-y-3">
        {experiment.data && <Standing experiment={experiment.data} again={again} />}
        <Settings run={run.data} experiment={experiment.data} />
        {(!comparison || experiment.data?.state === 'finished' || experiment.problem) && <Figures id={id} every={goesOn ? 10 : null} />}
        {run.data.kind === 'live' && <Changes changes={run.data.changes} />}
      </div>
    </>
  );
}

function Head({ run, experiment, back, again }: { run: RunDetail; experiment: Experiment | null; back: ReactNode; again: () => void }) {
  const [renaming, setRenaming] = useState(false);
  const state = experiment?.state ?? run.status;
  const close = () => {
    setRenaming(false);
    again();
  };
  return (
    <>
      <PageHead
        before={back}
        title={renaming ? <Rename run={run} onDone={close} /> : <>{titleOf(run)} <StateChip state={state} /> <MeasuredBadge measured={run.measured} />{run.current && <Chip tone="good">goes on now</Chip>}</>}
        about={`Run ${run.id}, ${run.kind} · ${moment(run.started_at)} · ${seconds(run.duration)} · version ${run.version}`}
        actions={<RunActions run={run} state={state} onRename={() => setRenaming(true)} />}
      />
      {state === 'interrupted' && run.kind === 'live' && <div className="mb-3"><ErrorLine message="The server ended before this run did." hint={run.measured ? 'What really ran cannot be played again: start a new one.' : 'Resume it: it is played again up to its last task, then goes on.'} /></div>}
    </>
  );
}

/** Settings that the list below already has in better words. */
const TOLD = ['schedulers', 'preset', 'workload', 'load', 'rate', 'num_gpus', 'seed', 'seeds', 'tasks', 'title'];

function Settings({ run, experiment }: { run: RunDetail; experiment: Experiment | null }) {
  const rest = Object.entries(run.settings).filter(([name]) => !TOLD.includes(name));
  const seeds = experiment?.seeds ?? [run.seed];
  return (
    <Panel title="Settings" subtitle={run.measured ? 'as it began; it was measured, so another one will differ' : run.kind === 'live' ? 'as it began; with the changes below, that is what it takes to repeat it' : 'what it takes to repeat it'}>
      <Facts
        facts={[
          ['Workload', <Link key="w" to={workloadPath(run.workload)} title={run.workload}>{workloadName(run.workload)}{isUpload(run.workload) ? ' (file)' : ''}</Link>],
          ['Load', loadText(run)],
          ['GPUs', count(run.num_gpus)],
          experiment ? ['Tasks of a seed', experiment.tasks === null ? 'all of the workload' : count(experiment.tasks)] : ['Tasks', count(run.tasks)],
          [seeds.length > 1 ? `${seeds.length} seeds` : 'Seed', <span key="s" className="num">{seedsText(seeds)}</span>],
          ...rest.map(([name, value]): [string, string] => setting(name, value)),
        ]}
      />
      <p className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm">{run.schedulers.map((name) => <SchedulerName key={name} name={name} />)}</p>
    </Panel>
  );
}

/** A setting in words, with its unit; one that is not known here as it is. */
function setting(name: string, value: unknown): [string, string] {
  if (name === 'pace') return ['Pace', value === null ? 'as fast as possible' : `${plain(value)} tasks/s`];
  if (name === 'max_queue') return ['Longest queue', value === null ? 'any' : `${plain(value)} tasks`];
  if (name === 'failed_gpus') return ['Failed GPUs', plain(value)];
  if (name === 'energy_weight' && typeof value === 'number') return ['Energy against time', percent(value)];
  if (name === 'devices') return ['Devices', value === '' ? 'simulated' : plain(value)];
  return [capital(spaced(name)), plain(value)];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
