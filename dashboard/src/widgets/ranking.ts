/** The figures by which schedulers are compared, and who leads. */
import type { CertifiedWindow, SchedulerFigures } from '@/live/messages';
import { isReference } from '@/theme/schedulers';
import { formatCount, formatNumber, isKnown, scaleCost, scaleEnergy, scaleSeconds, type Quantity } from '@/utils/format';

export type Measure = 'turnaround' | 'execution' | 'makespan' | 'turnaroundOverBound' | 'energy' | 'cost';

export interface MeasureInfo {
  label: string;
  /** Whether it is a ratio to a bound: nobody is below 1. */
  overBound?: boolean;
  /** What it is, in the words of the page. */
  description: string;
  value: (state: SchedulerFigures) => number | null;
  format: (value: number | null) => Quantity;
}

const scaleRatio = (value: number | null): Quantity => ({ number: formatNumber(value, 4), unit: '×' });

export const MEASURES: Record<Measure, MeasureInfo> = {
  turnaround: { label: 'Turnaround', description: 'arrival to finish, mean of the last 1000 tasks', value: (s) => s.window.mean_turnaround, format: scaleSeconds },
  execution: { label: 'Execution time', description: 'without waiting, mean of the last 1000 tasks', value: (s) => s.window.avg_time, format: scaleSeconds },
  makespan: { label: 'Makespan / bound', description: 'time to finish everything, against the certified bound', value: (s) => s.makespan_over_bound, format: scaleRatio, overBound: true },
  turnaroundOverBound: { label: 'Turnaround / bound', description: 'mean of the certified window, against its bound', value: (s) => s.turnaround_over_bound, format: scaleRatio, overBound: true },
  energy: { label: 'Energy', description: 'per task, mean of the last 1000 tasks', value: (s) => s.window.energy, format: scaleEnergy },
  cost: { label: 'Cost', description: 'per task, mean of the last 1000 tasks', value: (s) => s.window.cost, format: scaleCost },
};

/** Schedulers with a figure, best first; who has done nothing yet comes last. */
export function rankSchedulers(schedulers: readonly SchedulerFigures[], measure: Measure): SchedulerFigures[] {
  const value = (state: SchedulerFigures) => {
    const found = MEASURES[measure].value(state);
    return isKnown(found) && state.tasks > 0 ? found : Infinity;
  };
  return schedulers.toSorted((a, b) => value(a) - value(b));
}

/** The best scheduler that could be used in practice: the oracle sees what nobody can. */
export function findLeader(schedulers: readonly SchedulerFigures[], measure: Measure): SchedulerFigures | null {
  return rankSchedulers(schedulers, measure).find((each) => !isReference(each.name)) ?? null;
}

/** Which tasks a certificate is about. */
export const formatWindow = ({ first_task, tasks }: CertifiedWindow): string => `${formatCount(tasks)} tasks from ${formatCount(first_task)} on`;
