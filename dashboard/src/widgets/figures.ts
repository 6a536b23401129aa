/** The figures by which schedulers are compared, and who leads. */
import type { SchedulerFigures } from '@/live/messages';
import { costOf, energyOf, figure, known, secondsOf, type Quantity } from '@/look/format';

export type Measure = 'turnaround' | 'execution' | 'makespan' | 'energy' | 'cost';

export interface MeasureInfo {
  label: string;
  /** What it is, in the words of the page. */
  words: string;
  of: (state: SchedulerFigures) => number | null;
  text: (value: number | null) => Quantity;
}

export const MEASURES: Record<Measure, MeasureInfo> = {
  turnaround: { label: 'Turnaround', words: 'arrival to finish, mean of the last 1000 tasks', of: (s) => s.window.mean_turnaround, text: secondsOf },
  execution: { label: 'Execution time', words: 'without waiting, mean of the last 1000 tasks', of: (s) => s.window.avg_time, text: secondsOf },
  makespan: {
    label: 'Makespan / bound',
    words: 'time to finish everything, against the certified bound',
    of: (s) => s.makespan_over_bound,
    text: (value) => ({ number: figure(value, 4), unit: '×' }),
  },
  energy: { label: 'Energy', words: 'per task, mean of the last 1000 tasks', of: (s) => s.window.energy, text: energyOf },
  cost: { label: 'Cost', words: 'per task, mean of the last 1000 tasks', of: (s) => s.window.cost, text: costOf },
};

/** Schedulers with a figure, best first; who has done nothing yet comes last. */
export function ranked(schedulers: readonly SchedulerFigures[], measure: Measure): SchedulerFigures[] {
  const value = (state: SchedulerFigures) => {
    const found = MEASURES[measure].of(state);
    return known(found) && state.tasks > 0 ? found : Infinity;
  };
  return schedulers.toSorted((a, b) => value(a) - value(b));
}

export const isReference = (name: string): boolean => name === 'oracle';

/** The best scheduler that could be used in practice: the oracle sees what nobody can. */
export function leader(schedulers: readonly SchedulerFigures[], measure: Measure): SchedulerFigures | null {
  return ranked(schedulers, measure).find((each) => !isReference(each.name)) ?? null;
}
