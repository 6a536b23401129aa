/** Shared clusters: wide jobs on nodes, simulated by one policy or kept by `hms jobs`; the address says which. */
import { useState } from 'react';
import { Boxes, ChevronLeft, ChevronRight, ListOrdered, ZoomIn, ZoomOut } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { MeasuredBadge } from '@/components/badges';
import { CommandLine } from '@/components/CommandLine';
import { Button, Field, INPUT_CLASS, Select } from '@/components/controls';
import { FactList, PageHeader, Panel } from '@/components/Panel';
import { setQuery, useRouter } from '@/state/router';
import { formatNumber, formatPercent, formatSeconds, humanize, pluralize } from '@/utils/format';
import { describeWidth, type ClusterRun } from './clusters/lanes';
import { NodeLanes } from './clusters/NodeLanes';

type Options = Schemas['ClusterOptions'];
const DEFAULTS = { workload: 'training_jobs', order: 'fcfs', backfill: 'easy', fit: 'best', jobs: '200', seed: '0', spot: '0', kept: '', policy: '', window: '0', page: '0' };
type Choice = typeof DEFAULTS;
const MOST_ZOOM = 16;
/** Nodes that are drawn at once. */
const NODES = 48;

/** What is shown changes: its first page comes first. */
const choose = (name: keyof Choice, value: string, ...forget: (keyof Choice)[]) => setQuery(name, value, 'page', ...forget);

export default function ClustersPage() {
  const options = useFetch<Options>('/api/clusters');
  const query = useRouter((state) => state.route.query);
  const choice = Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, query.get(name) ?? value])) as Choice;
  const answer = useFetch<ClusterRun>(`/api/clusters/run?${new URLSearchParams(choice)}`);
  return (
    <>
      <PageHeader title="Shared clusters" about="Jobs that want several GPUs at once, or a part of one: a policy orders the queue, chooses nodes, and may let short jobs pass." />
      <div className="space-y-3">
        <AsyncContent answer={options} skeleton={<Skeleton heights={['h-20']} label="Loading what can be simulated" />}>
          {(known) => <Choices options={known} choice={choice} />}
        </AsyncContent>
        <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-20', 'h-96']} label="Simulating" late="the first time its loop is compiled, which takes up to half a minute" />}>
          {(run) => <RunView key={`${run.title} ${run.policy} ${run.page}`} run={run} choice={choice} />}
        </AsyncContent>
      </div>
    </>
  );
}

function Choices({ options, choice }: { options: Options; choice: Choice }) {
  const queue = options.orders.find((each) => each.name === choice.order)?.queue ?? true;
  const kept = options.kept.find((each) => each.name === choice.kept);
  const select = (name: keyof Choice, label: string, values: [string, string][], disabled = false) => (
    <Field label={label}>
      <Select
        className="w-full"
        value={choice[name]}
        disabled={disabled}
        onChange={(event) => choose(name, event.target.value, ...(name === 'kept' ? (['policy', 'window'] as const) : []))}
      >
        {values.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
      </Select>
    </Field>
  );
  const runs = select('kept', 'Run', [['', 'simulate a preset'], ...options.kept.map((each): [string, string] => [each.name, `kept: ${each.name}`])]);
  if (kept)
    return (
      <section aria-label="What to show" className="panel p-3.5">
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-3">
          {runs}
          {select('policy', 'Policy', kept.policies.map((each, i) => [i ? each : '', each]))}
          {select('window', 'Window', kept.windows.map((each, i) => [String(i), each]))}
        </div>
        <p className="mt-2 text-xs text-quiet">{kept.source}, kept by hms jobs in the folder jobs/{kept.name} of the service’s data, and run again.</p>
      </section>
    );
  const names = (list: Options['orders']): [string, string][] => list.map((each) => [each.name, humanize(each.name)]);
  const about = options.orders.find((each) => each.name === choice.order)?.summary;
  return (
    <section aria-label="What to simulate" className="panel p-3.5">
      <div className={`grid grid-cols-2 gap-3 sm:grid-cols-4 ${options.kept.length ? 'xl:grid-cols-8' : 'xl:grid-cols-7'}`}>
        {options.kept.length > 0 && runs}
        {select('workload', 'Jobs', names(options.workloads))}
        {select('order', 'Order', names(options.orders))}
        {select('backfill', 'Backfilling', options.backfilling.map((each) => [each, each]), !queue)}
        {select('fit', 'Nodes by', names(options.fits))}
        {select('spot', 'Spot nodes', [['0', 'none'], ['0.25', '25 %'], ['0.5', '50 %']])}
        <NumberField name="jobs" label="Number of jobs" value={choice.jobs} least={2} most={options.most_jobs} />
        <NumberField name="seed" label="Seed" value={choice.seed} least={0} most={1_000_000} />
      </div>
      {about && <p className="mt-2 text-xs text-quiet">{humanize(choice.order)}: {about}.</p>}
    </section>
  );
}

/** Takes a number when it is complete: on Enter, or when the field is left. */
function NumberField({ name, label, value, least, most }: { name: keyof Choice; label: string; value: string; least: number; most: number }) {
  const submit = (text: string) => {
    const number = Math.min(most, Math.max(least, Math.round(Number(text) || 0)));
    if (String(number) !== value) choose(name, String(number));
  };
  return (
    <Field label={label}>
      <input
        key={value}
        className={INPUT_CLASS}
        type="number"
        min={least}
        max={most}
        defaultValue={value}
        onBlur={(event) => submit(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && submit(event.currentTarget.value)}
      />
    </Field>
  );
}

function RunView({ run, choice }: { run: ClusterRun; choice: Choice }) {
  const [picked, pick] = useState<number | null>(null);
  const [zoom, setZoom] = useState(1);
  const [firstNode, setFirstNode] = useState(0);
  const { measures } = run;
  const facts: [string, string][] = [
    ['Mean bounded slowdown', `${formatNumber(measures.bounded_slowdown)} ×`],
    ['Mean waiting', formatSeconds(measures.mean_waiting)],
    ['In use', formatPercent(measures.utilisation)],
    ['Makespan / bound', formatNumber(measures.makespan_over_bound)],
    ['Deadlines missed', formatPercent(measures.deadline_misses)],
    ['Jain’s index of users', formatNumber(measures.jain_index)],
    [run.pages > 1 ? 'Interruptions on this page' : 'Interruptions', String(run.jobs.reduce((sum, job) => sum + job.interruptions, 0))],
  ];
  return (
    <>
      <section aria-label="Figures" className="panel p-3.5"><FactList facts={facts.map(([name, value]) => [name, <span key={name} className="num text-base">{value}</span>])} /></section>
      <Panel title="Nodes over time" icon={<Boxes size={15} />} subtitle={run.title} actions={<MeasuredBadge measured={false} />}>
        <div role="toolbar" aria-label="Part that is shown" className="mb-1 flex flex-wrap items-center gap-x-4 gap-y-1">
          {run.pages > 1 && <Pager label="page" at={run.page} count={run.pages} go={(page) => setQuery('page', String(page))} />}
          {run.nodes.length > NODES && (
            <Pager label="nodes" at={firstNode / NODES} count={Math.ceil(run.nodes.length / NODES)} go={(part) => setFirstNode(part * NODES)} words={`nodes ${firstNode + 1} – ${Math.min(firstNode + NODES, run.nodes.length)} of ${run.nodes.length}`} />
          )}
          <span className="flex items-center gap-1">
            <Button kind="bare" aria-label="Zoom out" disabled={zoom === 1} onClick={() => setZoom(zoom / 2)}><ZoomOut size={15} /></Button>
            <span className="num text-xs text-quiet">{zoom} ×</span>
            <Button kind="bare" aria-label="Zoom in" disabled={zoom === MOST_ZOOM} onClick={() => setZoom(zoom * 2)}><ZoomIn size={15} /></Button>
          </span>
        </div>
        <p aria-live="polite" className="mb-1 min-h-5 text-sm text-quiet">{picked === null ? 'Point at a job, or focus it in the table, to see all that it holds.' : describeJob(run, picked)}</p>
        <NodeLanes run={run} picked={picked} pick={pick} zoom={zoom} nodes={[firstNode, firstNode + NODES]} />
      </Panel>
      <JobTable run={run} picked={picked} pick={pick} />
      {choice.kept ? (
        <CommandLine about="Every bit of this run again, in a terminal" text={`hms repeat data/jobs/${choice.kept}`} />
      ) : (
        <CommandLine about="The same with intervals over seeds, in a terminal; --out data/jobs/NAME keeps it for this page" text={commandLine(choice)} />
      )}
    </>
  );
}

function Pager({ label, at, count, go, words }: { label: string; at: number; count: number; go: (page: number) => void; words?: string }) {
  return (
    <span className="flex items-center gap-1">
      <Button kind="bare" aria-label={`Previous ${label}`} disabled={at === 0} onClick={() => go(at - 1)}><ChevronLeft size={15} /></Button>
      <span className="num text-xs text-quiet">{words ?? `${label} ${at + 1} of ${count}`}</span>
      <Button kind="bare" aria-label={`Next ${label}`} disabled={at + 1 >= count} onClick={() => go(at + 1)}><ChevronRight size={15} /></Button>
    </span>
  );
}

function describeJob({ jobs, stints }: ClusterRun, row: number): string {
  const job = jobs[row]!;
  const nodes = new Set(stints.filter((each) => each.job === row).map((each) => each.node)).size;
  const waited = job.start === null ? 'never ran' : `waited ${formatSeconds(job.start - job.arrival)}, ended after ${formatSeconds(job.finish === null ? null : job.finish - job.arrival)}`;
  const broken = job.interruptions ? `, interrupted ${pluralize(job.interruptions, 'time')}` : '';
  return `Job ${job.job} of user ${job.user}: ${describeWidth(job)} on ${pluralize(nodes, 'node')}, ${waited}${broken}.`;
}

function JobTable({ run, picked, pick }: { run: ClusterRun; picked: number | null; pick: (job: number | null) => void }) {
  return (
    <Panel title="Jobs" icon={<ListOrdered size={15} />} subtitle={run.pages > 1 ? `${run.jobs.length} of ${run.total_jobs}: those of this page, in order of arrival` : 'in order of arrival'}>
      <div role="group" aria-label="Jobs in order of arrival" tabIndex={0} className="max-h-80 overflow-auto">
        <table className="w-full text-sm whitespace-nowrap">
          <thead className="text-left text-xs text-quiet">
            <tr>{['job', 'user', 'asks for', 'arrives', 'waits', 'ends', 'interrupted'].map((each) => <th key={each} className="px-2 py-1 font-normal">{each}</th>)}</tr>
          </thead>
          <tbody>
            {run.jobs.map((job, row) => (
              <tr key={job.job} className={row === picked ? 'bg-raised' : ''} onMouseEnter={() => pick(row)}>
                <td className="px-2 py-0.5"><button type="button" className="num underline-offset-2 hover:underline" onFocus={() => pick(row)} onClick={() => pick(row)}>{job.job}</button></td>
                <td className="num px-2">{job.user}</td>
                <td className="px-2">{describeWidth(job)}</td>
                <td className="num px-2">{formatSeconds(job.arrival)}</td>
                <td className="num px-2">{formatSeconds(job.start === null ? null : job.start - job.arrival)}</td>
                <td className="num px-2">{formatSeconds(job.finish)}</td>
                <td className="num px-2">{job.interruptions || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function commandLine({ workload, order, backfill, fit, jobs, spot }: Choice): string {
  return `hms jobs ${workload} -n ${jobs} -s ${order} --backfill ${backfill} --fit ${fit}${spot === '0' ? '' : ` --spot ${spot}`}`;
}
