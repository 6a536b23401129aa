/** One workload in numbers and pictures, and what can be done with it. */
import { useState } from 'react';
import { Download, FlaskConical, Play, Trash2, TriangleAlert } from 'lucide-react';
import { remove } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { Button, buttonClass, Chip, EmptyState, Link } from '@/components/controls';
import { ConfirmDialog } from '@/components/Dialog';
import { FactList, PageHeader, Panel } from '@/components/Panel';
import { useRace } from '@/live/store';
import { changeSettings, runCommand, start } from '@/state/commands';
import { navigate } from '@/state/router';
import { formatBytes, formatCount, formatDate, formatMegabytes, formatNumber, formatPercent, formatSeconds, isKnown } from '@/utils/format';
import { Histogram } from './Histogram';
import type { WorkloadShape } from './useShape';

export function WorkloadDetail({ name }: { name: string }) {
  const answer = useFetch<WorkloadShape>(`/api/workloads/${encodeURIComponent(name)}`);
  const shape = answer.data;
  return (
    <>
      <PageHeader
        before={<Link to="/workloads">← All workloads</Link>}
        title={<>{name} {shape && <Chip>{shape.kind === 'upload' ? `file, ${shape.format}` : 'built in'}</Chip>}{shape?.in_use && <Chip tone="good">in use</Chip>}</>}
        about={shape ? describeSource(shape) : ''}
        actions={shape && <WorkloadActions shape={shape} />}
      />
      <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-28', 'h-56', 'h-56']} label="Loading the shape" />}>
        {(each) => <ShapePanels shape={each} />}
      </AsyncContent>
    </>
  );
}

/** A perfectly even stream has a rounding error for a spread. */
const dropRoundoff = (value: number | null) => (value !== null && Math.abs(value) < 1e-6 ? 0 : value);

function describeSource({ kind, summary, bytes: size, uploaded_at, sha256 }: WorkloadShape): string {
  if (kind === 'preset') return `${summary}. Drawn once with seed 0 for the pictures below.`;
  return `Uploaded ${formatDate(uploaded_at)}, ${formatBytes(size)}, SHA-256 ${sha256?.slice(0, 8) ?? '–'}…`;
}

function ShapePanels({ shape }: { shape: WorkloadShape }) {
  const marks = (each: WorkloadShape['size']) => [{ value: each.median, label: 'median' }, { value: each.p99, label: 'p99' }];
  return (
    <div className="space-y-3">
      {(shape.obstacle || shape.unfit_share > 0) && <Warnings shape={shape} />}
      <ShapeNumbers shape={shape} />
      <div className="grid gap-3 md:grid-cols-2">
        <Panel title="Size" subtitle={`tasks by problem size N${shape.size.scale === 'log' ? ', log axis' : ''}`}>
          <Histogram edges={shape.size.edges} counts={shape.size.counts} log={shape.size.scale === 'log'} label="Size" text={(value) => formatCount(value)} marks={marks(shape.size)} />
        </Panel>
        <Panel title="Compute intensity" subtitle="how much tasks gain from a GPU, 0 to 1">
          <Histogram edges={shape.compute_intensity.edges} counts={shape.compute_intensity.counts} log={shape.compute_intensity.scale === 'log'} label="Compute intensity" text={(value) => String(+value.toFixed(2))} marks={[{ value: shape.compute_intensity.median, label: 'median' }]} />
        </Panel>
        <Panel title="Memory" subtitle={`tasks by memory${shape.memory_required.scale === 'log' ? ', log axis' : ''}`}>
          <Histogram edges={shape.memory_required.edges} counts={shape.memory_required.counts} log={shape.memory_required.scale === 'log'} label="Memory" text={(value) => trimZeros(formatMegabytes(value))} marks={marks(shape.memory_required)} />
        </Panel>
        <Panel title="Arrivals" subtitle="tasks that come in each stretch of time">
          {shape.span > 0 ? <Histogram edges={shape.arrivals.edges} counts={shape.arrivals.counts} label="Arrivals" text={(value) => trimZeros(formatSeconds(value))} /> : <EmptyState title="All tasks arrive at once" />}
        </Panel>
      </div>
      <Panel title="Quantiles"><QuantileTable shape={shape} /></Panel>
    </div>
  );
}

/** Round numbers without digits that say nothing: 100 MB rather than 100.0 MB. */
const trimZeros = (text: string): string => text.replace(/\.0+(?= )/, '').replace(/(\.\d*?)0+(?= )/, '$1');

function Warnings({ shape }: { shape: WorkloadShape }) {
  const lines = [
    shape.obstacle && `The live race cannot run on it: ${shape.obstacle}.`,
    shape.unfit_share > 0 && `${formatPercent(shape.unfit_share, 1)} of its tasks fit on no device of the cluster and are rejected.`,
  ].filter((line): line is string => Boolean(line));
  return (
    <ul className="space-y-1 rounded-xl border border-warn/50 bg-warn/10 px-4 py-2.5 text-sm">
      {lines.map((line) => <li key={line} className="flex items-start gap-2"><TriangleAlert size={15} className="mt-0.5 shrink-0 text-warn" aria-hidden="true" /> {line}</li>)}
    </ul>
  );
}

function ShapeNumbers({ shape }: { shape: WorkloadShape }) {
  const load = shape.offered_load;
  return (
    <Panel title="In numbers" subtitle={`load, share and bound are for a cluster of 1 CPU and ${shape.num_gpus} GPUs`}>
      <FactList
        facts={[
          ['Tasks', <BigNumber key="n" text={formatCount(shape.tasks)} />],
          ['Offered load', <BigNumber key="l" text={isKnown(load) ? formatNumber(load, 2) : 'all at once'} tone={isKnown(load) && load > 1 ? 'text-warn' : ''} below={!isKnown(load) ? '' : load > 1 ? 'more than it can do: queues grow' : 'of what it can do at best'} />],
          ['Faster on a GPU', <BigNumber key="g" text={formatPercent(shape.gpu_faster_share)} below="of the tasks, whole" />],
          ['Arrivals', <BigNumber key="a" text={isKnown(shape.arrival_rate) ? `${formatNumber(shape.arrival_rate)}/s` : 'at once'} below={`over ${formatSeconds(shape.span)}`} />],
          ['Burstiness', <BigNumber key="b" text={formatNumber(dropRoundoff(shape.burstiness), 2)} below="a Poisson stream has 1" />],
          ['Certified bound', <BigNumber key="c" text={formatSeconds(shape.bound)} below="nobody can end before" />],
          ['Wait for others', <BigNumber key="d" text={formatPercent(shape.dependency_share)} />],
          ['Measured times', <BigNumber key="m" text={shape.measured_classes.length ? shape.measured_classes.join(', ') : 'none'} below={shape.measured_classes.length ? '' : 'times by the formula'} />],
        ]}
      />
    </Panel>
  );
}

function BigNumber({ text, below = '', tone = '' }: { text: string; below?: string; tone?: string }) {
  return (
    <>
      <span className={`num block text-lg font-semibold ${tone}`}>{text}</span>
      {below && <span className="block text-xs text-quiet">{below}</span>}
    </>
  );
}

/** Race on a workload, compare on it, take it home, or delete it. */
function WorkloadActions({ shape }: { shape: WorkloadShape }) {
  const [confirming, setConfirming] = useState(false);
  const state = useRace((race) => race.frame?.state ?? null, 'slow');
  const goesOn = state === 'running' || state === 'paused' || state === 'ready';
  return (
    <>
      <Button kind="main" disabled={!shape.live} title={shape.live ? (goesOn ? 'The race that runs goes on with its tasks' : 'Start a race on it') : shape.obstacle} onClick={() => void raceOn(shape, goesOn)}>
        <Play size={15} aria-hidden="true" /> Race on it
      </Button>
      <Link to={`/experiments?new=1&workload=${encodeURIComponent(shape.spec)}`} className={buttonClass()}><FlaskConical size={15} aria-hidden="true" /> New experiment with it</Link>
      {shape.kind === 'upload' && (
        <>
          <a href={`/api/workloads/${encodeURIComponent(shape.name)}/file`} download={shape.name} className={buttonClass()}><Download size={15} aria-hidden="true" /> Download</a>
          <Button kind="danger" disabled={shape.in_use} title={shape.in_use ? 'An experiment needs it, or the run, which may be replayed with it' : 'Delete the file'} onClick={() => setConfirming(true)}><Trash2 size={15} aria-hidden="true" /> Delete</Button>
        </>
      )}
      {confirming && (
        <ConfirmDialog title={`Delete ${shape.name}?`} text="The file is gone from the server then. Runs that used it keep their results, but cannot be resumed." confirmLabel="Delete it" onConfirm={() => void deleteWorkload(shape.name)} onClose={() => setConfirming(false)} />
      )}
    </>
  );
}

/** The race that goes on takes its next tasks from the workload; if there is none, one starts. */
async function raceOn({ name, spec }: WorkloadShape, goesOn: boolean): Promise<void> {
  const done = goesOn ? await changeSettings(`The race goes on with ${name}`, { preset: spec }) : await start({ preset: spec });
  if (done) navigate('/');
}

async function deleteWorkload(name: string): Promise<void> {
  const gone = await runCommand(`${name} is deleted`, async () => {
    await remove(`/api/workloads/${encodeURIComponent(name)}`);
    return true;
  });
  if (gone) navigate('/workloads');
}

const QUANTILE_ROWS: [string, (shape: WorkloadShape) => WorkloadShape['size'], (value: number) => string][] = [
  ['Size', (shape) => shape.size, (value) => formatNumber(value)],
  ['Compute intensity', (shape) => shape.compute_intensity, (value) => value.toFixed(2)],
  ['Memory', (shape) => shape.memory_required, formatMegabytes],
];
const QUANTILE_COLUMNS = ['minimum', 'p25', 'median', 'p75', 'p90', 'p99', 'maximum', 'mean'] as const;

function QuantileTable({ shape }: { shape: WorkloadShape }) {
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of quantiles">
      <table className="w-full text-right text-sm">
        <thead className="text-xs text-quiet">
          <tr className="border-b border-edge">
            <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 text-left font-medium">Quantity</th>
            {QUANTILE_COLUMNS.map((name) => <th key={name} className="px-2 font-medium">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {QUANTILE_ROWS.map(([name, of, text]) => (
            <tr key={name} className="border-b border-edge/60 last:border-0">
              <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-3 text-left font-normal">{name}</th>
              {QUANTILE_COLUMNS.map((column) => <td key={column} className="num px-2 whitespace-nowrap">{text(of(shape)[column])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
