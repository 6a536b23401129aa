/** What the learners look at, how wrong they are, and when they last learnt. */
import { useState } from 'react';
import { BrainCircuit } from 'lucide-react';
import { Sparkline } from '@/components/chartParts';
import { Chip, EmptyState, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import type { AgentHistory, AgentInsight, ForestHistory, ForestInsight, OtherInsight, SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatCount, formatNumber, formatPercent, formatSeconds, isKnown } from '@/utils/format';

export function ModelInsight() {
  const [wanted, setWanted] = useState('hybrid_ml');
  const { learners, histories } = useRace((race) => ({ learners: race.frame?.schedulers.filter((each) => each.insight) ?? [], histories: race.analysis?.histories ?? {} }), 'slow');
  const shown = learners.find((each) => each.name === wanted) ?? learners[0];
  return (
    <Tile
      title="Model insight"
      icon={<BrainCircuit size={15} />}
      subtitle={shown ? `what ${schedulerStyle(shown.name).label} looks at` : ''}
      actions={
        learners.length > 1 && (
          <Select aria-label="Learner" value={shown?.name} onChange={(event) => setWanted(event.target.value)}>
            {learners.map((each) => <option key={each.name} value={each.name}>{schedulerStyle(each.name).label}</option>)}
          </Select>
        )
      }
    >
      {shown ? <Insight state={shown} history={histories[shown.name]} /> : <EmptyState title="Nobody who learns takes part">Let Hybrid ML or the RL agent join the race.</EmptyState>}
    </Tile>
  );
}

export function Insight({ state, history }: { state: SchedulerFigures; history: ForestHistory | AgentHistory | undefined }) {
  const insight = state.insight;
  const theme = useTheme((each) => each.theme);
  const colour = schedulerStyle(state.name).colour[theme];
  switch (insight?.kind) {
    case 'forest':
      return <Forest insight={insight} history={history?.kind === 'forest' ? history : undefined} colour={colour} />;
    case 'agent':
      return <Agent insight={insight} history={history?.kind === 'agent' ? history : undefined} colour={colour} />;
    case 'other':
      return <Other insight={insight} />;
    default:
      return <EmptyState title="It tells nothing about itself" />;
  }
}

function Forest({ insight, history, colour }: { insight: ForestInsight; history: ForestHistory | undefined; colour: string }) {
  const features = Object.entries(insight.feature_importance).toSorted(([, a], [, b]) => (b ?? 0) - (a ?? 0));
  const points = history?.points ?? [];
  return (
    <div className="flex h-full flex-col justify-between gap-2 overflow-y-auto">
      <ul className="space-y-1" aria-label="Feature importance">
        {features.map(([name, share]) => (
          <li key={name} className="grid grid-cols-[9rem_1fr_3rem] items-center gap-2 text-sm">
            <span className="truncate">{name.replaceAll('_', ' ')}</span>
            <span className="h-2.5 overflow-hidden rounded bg-well"><span className="block h-full origin-left rounded" style={{ background: colour, transform: `scaleX(${share ?? 0})` }} /></span>
            <span className="num text-right">{formatPercent(share)}</span>
          </li>
        ))}
      </ul>
      <InsightFacts
        facts={[
          ['Error of the share', insight.share_mae === null ? '–' : `±${formatPercent(insight.share_mae, 1)}`, 'mean absolute error of the GPU share it chose, on tasks that it had not seen'],
          ['R² of the share', formatNumber(insight.share_r2), 'the same predictions; 1 is perfect'],
          ['Error of times', formatSeconds(insight.seconds_mae), 'mean absolute error of execution times that it predicted before deciding'],
          ['Retrained', `${formatCount(insight.retrains)}×`, isKnown(insight.last_retrain) ? `last before task ${formatCount(insight.last_retrain)}` : 'not in this race yet'],
        ]}
      />
      <div className="flex items-center gap-3 text-xs text-quiet">
        <Chip tone="accent">v{insight.version}</Chip>
        <Sparkline values={points.map((point) => point.mae ?? NaN)} colour={colour} width={140} height={26} />
        <span>{points.length ? `error before each of the last ${points.length} fits; newest: ${points.at(-1)!.reason === 'drift' ? 'the work had changed' : points.at(-1)!.reason}, ${formatCount(points.at(-1)!.samples)} tasks${isKnown(points.at(-1)!.seconds) ? `, ${formatSeconds(points.at(-1)!.seconds)}` : ''}` : 'no fit in this race yet'}</span>
      </div>
    </div>
  );
}

function Agent({ insight, history, colour }: { insight: AgentInsight; history: AgentHistory | undefined; colour: string }) {
  const points = history?.points ?? [];
  const rows: [string, string, number[], string][] = [
    ['Exploration ε', formatPercent(insight.epsilon, 1), points.map((point) => point.epsilon ?? NaN), 'share of decisions at random'],
    ['Loss', formatNumber(insight.loss), points.map((point) => point.loss ?? NaN), 'of the last update'],
    ['Reward', formatNumber(insight.reward), points.map((point) => point.reward ?? NaN), 'what a decision earns lately; 0 would cost nothing'],
  ];
  return (
    <div className="flex h-full flex-col justify-between gap-2 overflow-y-auto">
      <ul className="space-y-2">
        {rows.map(([name, value, line, about]) => (
          <li key={name} className="grid grid-cols-[7rem_5rem_1fr] items-center gap-2 text-sm" title={about}>
            <span>{name}</span>
            <span className="num font-semibold">{value}</span>
            <Sparkline values={line} colour={colour} width={180} height={30} />
          </li>
        ))}
      </ul>
      <InsightFacts facts={[['Version', `v${insight.version}`, ''], ['Decisions learnt from', formatCount(insight.steps), ''], ['Updates', formatCount(insight.updates), ''], ['Learns', insight.beside ? 'in the background' : 'in the race', insight.beside ? 'in a process of its own; what it learns counts 50 tasks later' : '']]} />
    </div>
  );
}

function Other({ insight }: { insight: OtherInsight }) {
  const facts = Object.entries(insight.values).map(([name, value]): [string, string, string] => [name.replaceAll('_', ' '), typeof value === 'number' ? formatNumber(value) : JSON.stringify(value) ?? '–', '']);
  return facts.length ? <InsightFacts facts={facts} /> : <EmptyState title="It tells nothing about itself" />;
}

function InsightFacts({ facts }: { facts: [string, string, string][] }) {
  return (
    <dl className="grid grid-cols-2 gap-x-4 gap-y-1 text-sm sm:grid-cols-4">
      {facts.map(([name, value, about]) => (
        <div key={name} title={about}>
          <dt className="text-xs text-quiet">{name}</dt>
          <dd className="num truncate font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
