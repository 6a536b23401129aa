/** The schedulers of the live race that learn: how they stand now, and how their lessons went. */
import { BrainCircuit } from 'lucide-react';
import type { AgentHistory, AgentInsight, ForestHistory, ForestInsight, OtherInsight, SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { count, figure, percent, seconds } from '@/look/format';
import { Empty } from '@/look/parts';
import { schedulerLook } from '@/look/schedulers';
import { useTheme } from '@/look/theme';
import { Shape } from '@/look/Shape';
import { Link } from '../parts/Link';
import { Facts, Panel } from '../parts/Panel';
import { plain, spaced } from '../parts/words';
import { Lessons } from './Lessons';

type Insight = ForestInsight | AgentInsight | OtherInsight;
type History = ForestHistory | AgentHistory;

export function Learners() {
  const { learners, histories } = useRace((race) => ({ learners: (race.frame?.schedulers ?? []).filter(learns), histories: race.pictures?.histories ?? {} }), 'slow');
  return (
    <section aria-label="Learning now" className="min-w-0 space-y-3">
      {learners.length ? (
        <>
          {learners.map(({ name, insight }) => <Learner key={name} name={name} insight={insight!} history={histories[name]} />)}
        </>
      ) : (
        <Panel title="Learning now" icon={<BrainCircuit size={15} />}>
          <Empty title="Nobody learns at the moment"><p>Schedulers that learn show here what they look at, once a <Link to="/">race</Link> with them runs.</p></Empty>
        </Panel>
      )}
    </section>
  );
}

/** An older server tells nothing about its learners. */
const learns = ({ insight }: SchedulerFigures): boolean => insight !== null && typeof insight === 'object' && 'kind' in insight;

function Learner({ name, insight, history }: { name: string; insight: Insight; history: History | undefined }) {
  const { label } = schedulerLook(name);
  const version = insight.kind === 'other' ? '' : insight.version ? `version ${insight.version} in this race` : 'decides by what it was taught before the race';
  return (
    <Panel title={label} icon={<Shape name={name} size={13} />} subtitle={version}>
      {insight.kind === 'forest' && <Forest name={name} insight={insight} />}
      {insight.kind === 'agent' && <Agent insight={insight} />}
      {insight.kind === 'other' && <Facts facts={Object.entries(insight.values).map(([key, value]): [string, string] => [spaced(key), plain(value)])} />}
      {history && <Lessons name={name} history={history} />}
    </Panel>
  );
}

function Forest({ name, insight }: { name: string; insight: ForestInsight }) {
  return (
    <>
      <Facts
        className="grid-cols-2 sm:grid-cols-3"
        facts={[
          ['Fits, lessons included', count(insight.retrains)],
          ['Error of the GPU share', `${figure(insight.share_mae)} on ${count(insight.share_tested)} unseen tasks`],
          ['R² of the GPU share', figure(insight.share_r2)],
          ['Last fit', insight.last_retrain === null ? 'none in this race' : `task ${count(insight.last_retrain)}`],
          ['Error of predicted times', `${seconds(insight.seconds_mae)} on ${count(insight.seconds_tested)} tasks`],
          ['R² of predicted times', figure(insight.seconds_r2)],
        ]}
      />
      <Importances name={name} values={insight.feature_importance} />
    </>
  );
}

function Agent({ insight }: { insight: AgentInsight }) {
  return (
    <Facts
      className="grid-cols-2 sm:grid-cols-3"
      facts={[
        ['Decisions by lot', percent(insight.epsilon, 1)],
        ['Reward lately', `${figure(insight.reward)} typical tasks`],
        ['Loss of the last lesson', figure(insight.loss)],
        ['Gradient steps', count(insight.steps)],
        ['Lessons of this race', count(insight.updates)],
      ]}
    />
  );
}

function Importances({ name, values }: { name: string; values: ForestInsight['feature_importance'] }) {
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
            <span className="truncate" title={spaced(feature)}>{spaced(feature)}</span>
            <span className="block h-3 overflow-hidden rounded bg-well ring-1 ring-edge" aria-hidden="true">
              <span className="block h-full origin-left" style={{ background: schedulerLook(name).colour[theme], transform: `scaleX(${value / most})` }} />
            </span>
            <span className="num text-right text-xs">{percent(value)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
