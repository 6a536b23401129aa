/** Seven figures that say at a glance who leads, by how much, and whether somebody is drowning. */
import type { ReactNode } from 'react';
import { AlertTriangle, BrainCircuit, Crown, Gauge, ShieldCheck, Target, Timer, Zap } from 'lucide-react';
import { Sparkline } from '@/components/chartParts';
import type { Race } from '@/live/state';
import { useRace } from '@/live/store';
import { isLearner, isReference, schedulerStyle } from '@/theme/schedulers';
import { CHART_COLOURS, useTheme } from '@/theme/theme';
import { formatCount, formatNumber, formatRatio, formatSeconds, isKnown } from '@/utils/format';
import { findLeader, rankSchedulers } from './ranking';

const POINTS = 60;
const lastPoints = (values: number[] | undefined): number[] => values?.slice(-POINTS) ?? [];

export function KeyFigures() {
  const race = useRace((each) => each, 'read');
  const theme = useTheme((state) => state.theme);
  if (!race.frame) return null;
  const { schedulers, tasks_per_second, tasks_processed, bound, sim_time, measured, certified_window: window } = race.frame;
  const first = findLeader(schedulers, 'turnaround');
  const nearest = window && findLeader(schedulers.filter((each) => isKnown(each.turnaround_over_bound)), 'turnaroundOverBound');
  const style = first ? schedulerStyle(first.name) : null;
  const others = rankSchedulers(schedulers, 'turnaround').filter((each) => !isReference(each.name) && !isLearner(each.name));
  const rule = others[0];
  const speedUp = first && rule ? (rule.window.mean_turnaround ?? NaN) / (first.window.mean_turnaround ?? NaN) : NaN;
  const saturated = schedulers.filter((each) => each.saturated);
  const colour = style?.colour[theme] ?? CHART_COLOURS[theme].ink;
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-4 xl:grid-cols-7" data-testid="key-figures">
      <Figure wide icon={<Crown size={14} />} title="Leader" value={style?.label ?? '–'} colour={style?.text[theme]} below={`${formatSeconds(first?.window.mean_turnaround)} per task`} spark={lastPoints(first ? race.series[first.name]?.turnaround : [])} line={colour} />
      <Figure icon={<Target size={14} />} title="Gap to the bound" value={formatRatio(first?.makespan_over_bound)} below={measured ? `yardstick of measured times: ${formatSeconds(bound)}` : `nobody can end before ${formatSeconds(bound)}`} spark={lastPoints(first ? race.series[first.name]?.overBound : [])} line={CHART_COLOURS[theme].ink} />
      <Figure
        icon={<ShieldCheck size={14} />}
        title="Turnaround / bound"
        value={formatNumber(nearest?.turnaround_over_bound)}
        colour={nearest ? schedulerStyle(nearest.name).text[theme] : undefined}
        below={nearest ? `${schedulerStyle(nearest.name).label}, ${formatCount(window.tasks)} tasks` : window ? 'nobody took all tasks of the window' : 'from the first 100 tasks on'}
        spark={lastPoints(nearest ? race.series[nearest.name]?.turnaroundOverBound : [])}
        line={CHART_COLOURS[theme].ink}
      />
      <Figure icon={<Zap size={14} />} title="Speed-up" value={Number.isFinite(speedUp) ? `×${formatNumber(speedUp)}` : '–'} below={rule ? `over ${schedulerStyle(rule.name).label}, best rule` : 'no rule takes part'} spark={ratioSeries(race, rule?.name, first?.name)} line={colour} />
      <Figure icon={<Gauge size={14} />} title="Throughput" value={`${formatNumber(tasks_per_second)}/s`} below={`${formatCount(tasks_processed)} tasks in ${formatSeconds(sim_time)}`} spark={lastPoints(race.rate)} line="#7aa8ff" />
      <Figure icon={<Timer size={14} />} title="p95 turnaround" value={formatSeconds(first?.window.p95_turnaround)} below={`${style?.label ?? ''}, last ${first?.window.tasks ?? 0}`} spark={lastPoints(first ? race.series[first.name]?.p95 : [])} line={CHART_COLOURS[theme].mark} />
      <Figure
        icon={saturated.length ? <AlertTriangle size={14} /> : <BrainCircuit size={14} />}
        title="Saturated"
        value={`${saturated.length} of ${schedulers.length}`}
        colour={saturated.length ? 'var(--warn)' : 'var(--good)'}
        below={saturated.length ? saturated.map((each) => schedulerStyle(each.name).short).join(', ') + ': backlog grows' : 'everybody keeps up'}
        spark={lastPoints(saturated[0] ? race.series[saturated[0].name]?.backlog : [])}
        line={CHART_COLOURS[theme].mark}
      />
    </div>
  );
}

function ratioSeries(race: Race, above: string | undefined, below: string | undefined): number[] {
  const [top, bottom] = [lastPoints(above ? race.series[above]?.turnaround : []), lastPoints(below ? race.series[below]?.turnaround : [])];
  return top.map((value, i) => value / (bottom[i] ?? NaN));
}

interface FigureProps {
  icon: ReactNode;
  title: string;
  value: string;
  colour?: string | undefined;
  below: string;
  spark: number[];
  line: string;
  /** Takes two columns where there are few, so that all rows are full. */
  wide?: boolean;
}

function Figure({ icon, title, value, colour, below, spark, line, wide = false }: FigureProps) {
  return (
    <section aria-label={title} className={`panel @container px-3.5 py-2.5 ${wide ? 'max-xl:col-span-2' : ''}`}>
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <p className="flex items-center gap-1.5 truncate text-xs text-quiet"><span aria-hidden="true">{icon}</span><span className="truncate">{title}</span></p>
          <p className="num truncate text-xl font-semibold" style={{ color: colour }}>{value}</p>
          <p className="truncate text-xs text-quiet" title={below}>{below}</p>
        </div>
        <span className="fade hidden @[15rem]:block"><Sparkline values={spark} colour={line} width={90} /></span>
      </div>
    </section>
  );
}
