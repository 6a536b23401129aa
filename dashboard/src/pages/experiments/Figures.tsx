/** The figures of one run: a measure as a picture, all of them as a table, and how the intervals were made. */
import { useState } from 'react';
import { ChartNoAxesGantt, Download, Info, Table2 } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { Button, EmptyState } from '@/look/parts';
import { AsyncContent, RequestError, Skeleton } from '../parts/Asked';
import { Panel } from '../parts/Panel';
import { downloadText } from '../parts/save';
import { pluralize } from '../parts/words';
import { figuresToCsv } from './figuresCsv';
import { FiguresTable } from './FiguresTable';
import { MeasureSelect } from './MeasureSelect';
import { BOUNDED_MEASURE, MAIN_MEASURES, measureLabel } from './measures';
import { formatSeeds } from './seeds';
import { IntervalPlot } from './Whiskers';

export type RunFigures = Schemas['RunFigures'];

export function FiguresSection({ id, every }: { id: number; every: number | null }) {
  const answer = useFetch<RunFigures>(`/api/runs/${id}/figures`, every);
  // What has not measured anything is refused with 409: that is a state, not a fault.
  if (answer.problem?.status === 409 && !answer.data) {
    return <Panel title="Figures"><EmptyState title="No figures yet"><p>{answer.problem.message}</p></EmptyState></Panel>;
  }
  if (answer.problem && !answer.data) return <RequestError problem={answer.problem} again={answer.refetch} />;
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
        actions={<Button onClick={() => downloadText(`run-${figures.run_id}-figures.csv`, figuresToCsv(figures))}><Download size={15} aria-hidden="true" /> Figures as CSV</Button>}
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
