/** Several runs side by side: the first one named is what the others are compared with. */
import { useState, type ReactNode } from 'react';
import { ChartNoAxesGantt, GitCompareArrows, TriangleAlert } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { EmptyState, Link } from '@/components/controls';
import { PageHeader, Panel } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import { formatLoad, workloadName } from '@/pages/labels';
import { formatCount } from '@/utils/format';
import { formatDifferenceInterval, intervalRows, judgeDifference, listSchedulers, runLetter, sharedMeasures, type Difference } from './comparison';
import { formatSeeds } from './form';
import { IntervalPlot } from './IntervalPlot';
import { BOUNDED_MEASURE, formatSigned, MAIN_MEASURES, measureLabel, MeasureSelect, type Measure } from './measures';
import { runTitle } from './runs';

type Comparison = Schemas['RunComparison'];

export function ComparisonPage({ ids }: { ids: number[] }) {
  const answer = useFetch<Comparison>(`/api/compare?runs=${ids.join(',')}`);
  return (
    <>
      <PageHeader before={<Link to="/experiments">← All experiments</Link>} title={`${ids.length} runs side by side`} about="The address holds the choice: share it, or keep it." />
      <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-32', 'h-96', 'h-64']} label="Loading the comparison" />}>
        {(comparison) => <ComparisonPanels comparison={comparison} />}
      </AsyncContent>
    </>
  );
}

function ComparisonPanels({ comparison }: { comparison: Comparison }) {
  const [wanted, setWanted] = useState(MAIN_MEASURES[0]!);
  const measures = sharedMeasures(comparison);
  const measure = measures.find((each) => each.name === wanted) ?? measures[0];
  return (
    <div className="space-y-3">
      <ComparedRuns runs={comparison.runs} />
      <ComparisonNotes notes={comparison.notes} />
      {measure ? <MeasureComparison comparison={comparison} measure={measure} measures={measures} onChoose={setWanted} /> : <div className="panel"><EmptyState title="These runs share no measure" /></div>}
    </div>
  );
}

function ComparisonNotes({ notes }: { notes: string[] }) {
  if (!notes.length) return null;
  return (
    <ul aria-label="To keep in mind" className="space-y-1 rounded-xl border border-warn/50 bg-warn/10 px-4 py-2.5 text-sm">
      {notes.map((note) => (
        <li key={note} className="flex items-start gap-2">
          <TriangleAlert size={15} className="mt-0.5 shrink-0 text-warn" aria-hidden="true" /> {note}
        </li>
      ))}
    </ul>
  );
}

function MeasureComparison({ comparison, measure, measures, onChoose }: { comparison: Comparison; measure: Measure; measures: Measure[]; onChoose: (name: string) => void }) {
  const better = measure.less_is_better ? 'lower is better' : 'higher is better';
  return (
    <div className="grid items-start gap-3 xl:grid-cols-2">
      <Panel
        title={measureLabel(measure.name)}
        icon={<ChartNoAxesGantt size={15} />}
        subtitle={`${measure.meaning}; ${better}; whiskers are 95 % intervals`}
        actions={<MeasureSelect measures={measures} value={measure.name} onChange={onChoose} />}
      >
        <IntervalPlot rows={intervalRows(comparison, measure.name)} unit={measure.unit} label={measureLabel(measure.name)} bound={measure.name === BOUNDED_MEASURE ? 1 : null} />
      </Panel>
      <Panel title="Differences" icon={<GitCompareArrows size={15} />} subtitle={`each run minus run A; where the 95 % interval holds 0, nothing can be said`}>
        <Differences comparison={comparison} measure={measure} />
      </Panel>
    </div>
  );
}

type RunFigures = Schemas['RunFigures'];

const COLUMNS: [string, (run: RunFigures) => string][] = [
  ['Kind', (run) => run.kind],
  ['Workload', (run) => workloadName(run.workload)],
  ['Load', formatLoad],
  ['GPUs', (run) => formatCount(run.num_gpus)],
  ['Tasks', (run) => formatCount(run.tasks)],
  ['Seeds', (run) => formatSeeds(run.seeds)],
  ['Intervals', (run) => (run.method === 'seeds' ? 'over seeds' : 'batch means')],
];

/** Names of the columns in which the runs are not all alike. */
export function differingColumns(runs: readonly RunFigures[]): string[] {
  return COLUMNS.filter(([, of]) => new Set(runs.map(of)).size > 1).map(([name]) => name);
}

function ComparedRuns({ runs }: { runs: RunFigures[] }) {
  const differing = differingColumns(runs);
  const cell = (name: string, text: string): ReactNode => (differing.includes(name) ? <strong className="font-semibold text-warn">{text}</strong> : text);
  return (
    <Panel title="Runs" subtitle={differing.length ? `they differ in ${differing.join(', ').toLowerCase()} (bold)` : 'with the same settings'}>
      <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Runs that are compared">
        <table className="w-full min-w-[44rem] text-left text-sm">
          <thead className="text-xs text-quiet">
            <tr className="border-b border-edge">
              <th className="w-8 py-1.5 font-medium"><span className="sr-only">Letter</span></th>
              <th className="px-2 font-medium">Run</th>
              {COLUMNS.map(([name]) => <th key={name} className="px-2 font-medium">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {runs.map((run, i) => (
              <tr key={run.run_id} className="border-b border-edge/60 last:border-0">
                <td className="num py-1.5 font-semibold">{runLetter(i)}</td>
                <td className="px-2"><Link to={`/experiments?run=${run.run_id}`}>{runTitle({ id: run.run_id, kind: run.kind, title: run.title })}</Link>{i === 0 && <span className="text-xs text-quiet"> · baseline</span>}</td>
                {COLUMNS.map(([name, of]) => <td key={name} className="px-2 whitespace-nowrap">{cell(name, of(run))}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const VERDICT_TONES = { good: 'text-good', bad: 'text-bad', quiet: 'text-quiet' };

/** How each scheduler differs between the runs, said only as far as the intervals reach. */
function Differences({ comparison, measure }: { comparison: Comparison; measure: Measure }) {
  const here = comparison.differences.filter((each) => each.measure === measure.name);
  if (!here.length) return <EmptyState title="Nothing to compare"><p>No scheduler took part in run A and in another one.</p></EmptyState>;
  const others = comparison.runs.map((run, i) => ({ id: run.run_id, letter: runLetter(i) })).filter(({ id }) => id !== comparison.baseline);
  const names = listSchedulers(comparison).filter((name) => here.some((each) => each.scheduler === name));
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of differences">
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-quiet">
          <tr className="border-b border-edge">
            <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-2 font-medium">Scheduler</th>
            {others.map((run) => <th key={run.id} className="px-2 font-medium">{run.letter} minus A</th>)}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name} className="border-b border-edge/60 last:border-0">
              <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-2 pr-2 font-normal"><SchedulerName name={name} /></th>
              {others.map((run) => <DifferenceCell key={run.id} difference={here.find((each) => each.scheduler === name && each.run_id === run.id)} measure={measure} />)}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-2 text-xs text-quiet">{describePairing(here)}</p>
    </div>
  );
}

function DifferenceCell({ difference, measure }: { difference: Difference | undefined; measure: Measure }) {
  if (!difference) return <td className="px-2 text-xs text-quiet">did not take part</td>;
  const { tone, text } = judgeDifference(difference, measure.less_is_better);
  return (
    <td className="px-2 py-1.5">
      <span className={`block ${VERDICT_TONES[tone]} ${tone === 'quiet' ? '' : 'font-semibold'}`}>{text}</span>
      <span className="num block text-xs text-quiet">{formatSigned(difference.mean, measure.unit)} ({formatDifferenceInterval(difference, measure.unit)})</span>
    </td>
  );
}

function describePairing(differences: readonly Difference[]): string {
  const same = differences.filter((each) => each.paired).length;
  if (same === differences.length) return 'Paired: the same seeds drew the same tasks for both, so that luck cancels.';
  if (same === 0) return 'Not paired: the runs drew different tasks, so luck is part of the difference.';
  return 'Some are paired (the same tasks for both), some are not.';
}
