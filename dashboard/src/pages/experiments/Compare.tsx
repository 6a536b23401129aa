/** Several runs side by side: the first one named is what the others are held against. */
import { useState } from 'react';
import { ChartNoAxesGantt, GitCompareArrows, TriangleAlert } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { EmptyState } from '@/look/parts';
import { AsyncContent, Skeleton } from '../parts/Asked';
import { Link } from '../parts/Link';
import { PageHeader, Panel } from '../parts/Panel';
import { intervalRows, sharedMeasures } from './beside';
import { Differences } from './Differences';
import { MeasureSelect } from './MeasureSelect';
import { BOUNDED_MEASURE, MAIN_MEASURES, measureLabel, type Measure } from './measures';
import { ComparedRuns } from './RunsBeside';
import { IntervalPlot } from './Whiskers';

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
