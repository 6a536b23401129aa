/** The figures of one run: a measure as a picture, all of them as a table, and how the intervals were made. */
import { useState } from 'react';
import { ChartNoAxesGantt, Download, Info, Table2 } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, RequestError, Skeleton } from '@/components/AsyncContent';
import { Button, EmptyState } from '@/components/controls';
import { Panel } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import { isReference } from '@/theme/schedulers';
import { downloadFile } from '@/utils/download';
import { isKnown, pluralize } from '@/utils/format';
import { formatSeeds } from './form';
import { IntervalPlot } from './IntervalPlot';
import { BOUNDED_MEASURE, formatInterval, formatMeasure, MAIN_MEASURES, measureLabel, MeasureSelect, sortMeasures, type Estimate, type Measure } from './measures';

export type RunFigures = Schemas['RunFigures'];

export function FiguresSection({ id, every }: { id: number; every: number | null }) {
  const answer = useFetch<RunFigures>(`/api/runs/${id}/figures`, every);
  // What has not measured anything is refused with 409: that is a state, not a fault.
  if (answer.problem?.status === 409 && !answer.data) {
    return <Panel title="Figures"><EmptyState title="No figures yet"><p>{answer.problem.message}</p></EmptyState></Panel>;
  }
  if (answer.problem && !answer.data) return <RequestError problem={answer.problem} retry={answer.refetch} />;
  return (
    <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-80', 'h-64']} label="Loading the figures" />}>
      {(figures) => <FiguresPanels figures={figures} />}
    </AsyncContent>
  );
}

function FiguresPanels({ figures }: { figures: RunFigures }) {
  const [wanted, setWanted] = useState(MAIN_MEASURES[0]!);
  const measure = figures.measures.find((each) => each.name === wanted) ?? figures.measures[0];
  if (!measure || !figures.schedulers.length) return <Panel title="Figures"><EmptyState title="No figures yet"><p>No task of this run has ended.</p></EmptyState></Panel>;
  const rows = figures.schedulers.map(({ scheduler, estimates }) => ({ scheduler, run: null, estimate: estimates[measure.name] }));
  return (
    <>
      <Panel
        title={measureLabel(measure.name)}
        icon={<ChartNoAxesGantt size={15} />}
        subtitle={`${measure.meaning}; ${measure.less_is_better ? 'lower' : 'higher'} is better; whiskers are 95 % intervals`}
        actions={<MeasureSelect measures={figures.measures} value={measure.name} onChange={setWanted} />}
      >
        <IntervalPlot rows={rows} unit={measure.unit} label={measureLabel(measure.name)} bound={measure.name === BOUNDED_MEASURE ? 1 : null} />
      </Panel>
      <Panel
        title="All measures"
        icon={<Table2 size={15} />}
        subtitle="mean, and its 95 % interval below; ★ is best, the oracle apart"
        actions={<Button onClick={() => downloadFile(`run-${figures.run_id}-figures.csv`, 'text/csv', figuresToCsv(figures))}><Download size={15} aria-hidden="true" /> Figures as CSV</Button>}
      >
        <FiguresTable figures={figures} chosen={measure.name} onChoose={setWanted} />
      </Panel>
      <Panel title="How the intervals were made" icon={<Info size={15} />}>
        <p className="max-w-3xl text-sm">{figures.explanation}</p>
        <p className="mt-1 text-xs text-quiet">
          {figures.method === 'seeds' ? `${pluralize(figures.seeds.length, 'seed')}: ${formatSeeds(figures.seeds)}` : `one run with seed ${formatSeeds(figures.seeds)}, cut into batches`} · {pluralize(figures.tasks, 'task')}
          {figures.method === 'seeds' ? ' each' : ''}
        </p>
      </Panel>
    </>
  );
}

/** So many rows are read at once; only more of them are folded. */
const MAX_ROWS = 10;

/** The scheduler with the best mean of a measure; null if nobody has one, or all are equal. */
export function findBest(figures: Pick<RunFigures, 'schedulers'>, measure: Measure): string | null {
  const seen = figures.schedulers
    .filter(({ scheduler }) => !isReference(scheduler))
    .map(({ scheduler, estimates }) => ({ scheduler, mean: estimates[measure.name]?.mean }))
    .filter((each): each is { scheduler: string; mean: number } => isKnown(each.mean));
  const order = seen.toSorted((a, b) => (measure.less_is_better ? a.mean - b.mean : b.mean - a.mean));
  return order.length > 1 && order[0]!.mean !== order.at(-1)!.mean ? order[0]!.scheduler : null;
}

function FiguresTable({ figures, chosen, onChoose }: { figures: RunFigures; chosen: string; onChoose: (measure: string) => void }) {
  const [all, setAll] = useState(false);
  const order = sortMeasures(figures.measures);
  const shown = all || order.length <= MAX_ROWS ? order : order.filter(({ name }) => MAIN_MEASURES.includes(name));
  return (
    <>
      <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of measures">
        <table className="w-full text-right text-sm">
          <thead>
            <tr className="border-b border-edge">
              <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-2 pr-3 text-left text-xs font-medium text-quiet">Measure</th>
              {figures.schedulers.map(({ scheduler }) => <th key={scheduler} className="px-2 py-2 font-semibold"><SchedulerName name={scheduler} /></th>)}
            </tr>
          </thead>
          <tbody>
            {shown.map((measure) => <MeasureRow key={measure.name} figures={figures} measure={measure} chosen={chosen === measure.name} onChoose={onChoose} />)}
          </tbody>
        </table>
      </div>
      {order.length > MAX_ROWS && <Button className="mt-2" aria-expanded={all} onClick={() => setAll(!all)}>{all ? 'Show the main measures only' : `Show all ${order.length} measures`}</Button>}
    </>
  );
}

function MeasureRow({ figures, measure, chosen, onChoose }: { figures: RunFigures; measure: Measure; chosen: boolean; onChoose: (measure: string) => void }) {
  const best = findBest(figures, measure);
  return (
    <tr className="border-b border-edge/60 last:border-0">
      <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-3 text-left font-normal">
        <button type="button" aria-pressed={chosen} onClick={() => onChoose(measure.name)} title={`${measure.meaning}: show it above`} className="rounded text-left underline-offset-2 hover:underline aria-pressed:font-semibold aria-pressed:text-accent">
          {measureLabel(measure.name)}
        </button>
        <span className="block text-xs text-quiet max-sm:hidden">{measure.less_is_better ? 'lower is better' : 'higher is better'}{measure.name === BOUNDED_MEASURE ? ', never below 1' : ''}</span>
      </th>
      {figures.schedulers.map(({ scheduler, estimates }) => <EstimateCell key={scheduler} estimate={estimates[measure.name]} unit={measure.unit} best={best === scheduler} />)}
    </tr>
  );
}

function EstimateCell({ estimate, unit, best }: { estimate: Estimate | undefined; unit: string; best: boolean }) {
  return (
    <td className="num px-2 py-1.5 whitespace-nowrap">
      <span className={best ? 'font-semibold text-good' : ''}>{best && <><span aria-hidden="true">★ </span><span className="sr-only">best: </span></>}{formatMeasure(estimate?.mean, unit)}</span>
      <span className="block text-xs text-quiet">{estimate ? formatInterval(estimate.low, estimate.high, unit) : '–'}</span>
    </td>
  );
}

/** The figures of a run as a table for other programs: a line for each scheduler and measure, numbers in full. */
export function figuresToCsv(figures: Pick<Schemas['RunFigures'], 'run_id' | 'measures' | 'schedulers'>): string {
  const lines = figures.schedulers.flatMap(({ scheduler, estimates }) =>
    figures.measures.flatMap(({ name, unit }) => {
      const found = estimates[name];
      return found ? [[figures.run_id, scheduler, name, unit, found.mean, found.low, found.high, found.n]] : [];
    }),
  );
  return [['run', 'scheduler', 'measure', 'unit', 'mean', 'low', 'high', 'n'], ...lines].map((line) => line.map(csvCell).join(',')).join('\n') + '\n';
}

function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
