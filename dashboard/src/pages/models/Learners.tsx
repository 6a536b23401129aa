/** The schedulers of the live race that learn: their state now, and how their training went. */
import { BrainCircuit } from 'lucide-react';
import { EmptyState, Link } from '@/components/controls';
import { FactList, Panel } from '@/components/Panel';
import { SchedulerMarker } from '@/components/Scheduler';
import type { AgentHistory, AgentInsight, ForestHistory, ForestInsight, OtherInsight, SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatCount, formatNumber, formatPercent, formatSeconds, formatValue, humanize } from '@/utils/format';
import { TrainingHistory } from './TrainingHistory';

type Insight = ForestInsight | AgentInsight | OtherInsight;
type History = ForestHistory | AgentHistory;

export function Learners() {
  const { learners, histories } = useRace((race) => ({ learners: (race.frame?.schedulers ?? []).filter(isLearner), histories: race.analysis?.histories ?? {} }), 'slow');
  return (
    <section aria-label="Learning now" className="min-w-0 space-y-3">
      {learners.length ? (
        <>
          {learners.map(({ name, insight }) => <Learner key={name} name={name} insight={insight!} history={histories[name]} />)}
        </>
      ) : (
        <Panel title="Learning now" icon={<BrainCircuit size={15} />}>
          <EmptyState title="Nobody learns at the moment"><p>Schedulers that learn show here what they look at, once a <Link to="/">race</Link> with them runs.</p></EmptyState>
        </Panel>
      )}
    </section>
  );
}

/** An older server tells nothing about its learners. */
const isLearner = ({ insight }: SchedulerFigures): boolean => insight !== null && typeof insight === 'object' && 'kind' in insight;

function Learner({ name, insight, history }: { name: string; insight: Insight; history: History | undefined }) {
  const { label } = schedulerStyle(name);
  const version = insight.kind === 'other' ? '' : insight.version ? `version ${insight.version} in this race` : 'decides as it was pretrained before the race';
  return (
    <Panel title={label} icon={<SchedulerMarker name={name} size={13} />} subtitle={version}>
      {insight.kind === 'forest' && <ForestFacts name={name} insight={insight} />}
      {insight.kind === 'agent' && <AgentFacts insight={insight} />}
      {insight.kind === 'other' && <FactList facts={Object.entries(insight.values).map(([key, value]): [string, string] => [humanize(key), formatValue(value)])} />}
      {history && <TrainingHistory name={name} history={history} />}
    </Panel>
  );
}

function ForestFacts({ name, insight }: { name: string; insight: ForestInsight }) {
  return (
    <>
      <FactList
        className="grid-cols-2 sm:grid-cols-3"
        facts={[
          ['Fits, pretraining included', formatCount(insight.retrains)],
          ['Error of the GPU share', `${formatNumber(insight.share_mae)} on ${formatCount(insight.share_tested)} unseen tasks`],
          ['R² of the GPU share', formatNumber(insight.share_r2)],
          ['Last fit', insight.last_retrain === null ? 'none in this race' : `task ${formatCount(insight.last_retrain)}`],
          ['Error of predicted times', `${formatSeconds(insight.seconds_mae)} on ${formatCount(insight.seconds_tested)} tasks`],
          ['R² of predicted times', formatNumber(insight.seconds_r2)],
        ]}
      />
      <FeatureImportances name={name} values={insight.feature_importance} />
    </>
  );
}

function AgentFacts({ insight }: { insight: AgentInsight }) {
  return (
    <FactList
      className="grid-cols-2 sm:grid-cols-3"
      facts={[
        ['Decisions at random', formatPercent(insight.epsilon, 1)],
        ['Reward lately', `${formatNumber(insight.reward)} typical tasks`],
        ['Loss of the last update', formatNumber(insight.loss)],
        ['Gradient steps', formatCount(insight.steps)],
        ['Updates in this race', formatCount(insight.updates)],
      ]}
    />
  );
}

function FeatureImportances({ name, values }: { name: string; values: ForestInsight['feature_importance'] }) {
  const theme = useTheme((state) => state.theme);
  const order = Object.entries(values).map(([feature, value]) => ({ feature, value: value ?? 0 })).toSorted((a, b) => b.value - a.value);
  const most = Math.max(...order.map((each) => each.value), 1e-9);
  if (!order.length) return null;
  return (
    <div className="mt-3">
      <h4 className="mb-1 text-xs text-quiet">What it looks at</h4>
      <ol className="space-y-1">
        {order.map(({ feature, value }) => (
          <li key={feature} className="grid grid-cols-[9rem_1fr_3rem] items-center gap-2 text-sm">
            <span className="truncate" title={humanize(feature)}>{humanize(feature)}</span>
            <span className="block h-3 overflow-hidden rounded bg-well ring-1 ring-edge" aria-hidden="true">
              <span className="block h-full origin-left" style={{ background: schedulerStyle(name).colour[theme], transform: `scaleX(${value / most})` }} />
            </span>
            <span className="num text-right text-xs">{formatPercent(value)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
