/** The figures of one run: a measure as a picture, all of them as a table, and how the intervals were made. */
import { useState } from 'react';
import { ChartNoAxesGantt, Download, Info, Table2 } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { Button, Empty } from '@/look/parts';
import { Asked, Refused, Skeleton } from '../parts/Asked';
import { Panel } from '../parts/Panel';
import { saveText } from '../parts/save';
import { plural } from '../parts/words';
import { figuresCsv } from './figuresCsv';
import { FiguresTable } from './FiguresTable';
import { MeasureSelect } from './MeasureSelect';
import { BOUNDED, MAIN, measureLabel } from './measures';
import { seedsText } from './seeds';
import { Whiskers } from './Whiskers';

export type RunFigures = Schemas['RunFigures'];

export function Figures({ id, every }: { id: number; every: number | null }) {
  const answer = useGet<RunFigures>(`/api/runs/${id}/figures`, every);
  // What has not measured anything is refused with 409: that is a state, not a fault.
  if (answer.problem?.status === 409 && !answer.data) {
    return <Panel title="Figures"><Empty title="No figures yet"><p>{answer.problem.message}</p></Empty></Panel>;
  }
  if (answer.problem && !answer.data) return <Refused problem={answer.problem} again={answer.again} />;
  return (
    <Asked answer={answer} skeleton={<Skeleton heights={['h-80', 'h-64']} label="Loading the figures" />}>
      {(figures) => <Known figures={figures} />}
    </Asked>
  );
}

function Known({ figures }: { figures: RunFigures }) {
  const [wanted, setWanted] = useState(MAIN[0]!);
  const measure = figures.measures.find((each) => each.name === wanted) ?? figures.measures[0];
  if (!measure || !figures.schedulers.length) return <Panel title="Figures"><Empty title="No figures yet"><p>No task of this run has ended.</p></Empty></Panel>;
  const rows = figures.schedulers.map(({ scheduler, estimates }) => ({ scheduler, run: null, estimate: estimates[measure.name] }));
  return (
    <>
      <Panel
        title={measureLabel(measure.name)}
        icon={<ChartNoAxesGantt size={15} />}
        subtitle={`${measure.meaning}; ${measure.less_is_better ? 'lower' : 'higher'} is better; whiskers are 95 % intervals`}
        actions={<MeasureSelect measures={figures.measures} value={measure.name} onChange={setWanted} />}
      >
        <Whiskers rows={rows} unit={measure.unit} label={measureLabel(measure.name)} bound={measure.name === BOUNDED ? 1 : null} />
      </Panel>
      <Panel
        title="All measures"
        icon={<Table2 size={15} />}
        subtitle="mean, and its 95 % interval below; ★ is best, the oracle apart"
        actions={<Button onClick={() => saveText(`run-${figures.run_id}-figures.csv`, figuresCsv(figures))}><Download size={15} aria-hidden="true" /> Figures as CSV</Button>}
      >
        <FiguresTable figures={figures} chosen={measure.name} onChoose={setWanted} />
      </Panel>
      <Panel title="How the intervals were made" icon={<Info size={15} />}>
        <p className="max-w-3xl text-sm">{figures.explanation}</p>
        <p className="mt-1 text-xs text-quiet">
          {figures.method === 'seeds' ? `${plural(figures.seeds.length, 'seed')}: ${seedsText(figures.seeds)}` : `one run with seed ${seedsText(figures.seeds)}, cut into batches`} · {plural(figures.tasks, 'task')}
          {figures.method === 'seeds' ? ' each' : ''}
        </p>
      </Panel>
    </>
  );
}
