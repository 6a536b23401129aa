/** Several runs in one picture. */
import type { Schemas } from '@/api/client';
import type { Measure } from './measures';
import type { IntervalRow } from './Whiskers';
import { runLetter } from './wording';

type Comparison = Schemas['RunComparison'];

/** Schedulers in the order of the first run; those that it lacks after them. */
export const listSchedulers = (comparison: Comparison): string[] => [...new Set(comparison.runs.flatMap((run) => run.schedulers.map((each) => each.scheduler)))];

/** Measures that at least two of the runs have. */
export function sharedMeasures(comparison: Comparison): Measure[] {
  const first = new Map(comparison.runs.flatMap((run) => run.measures).map((each) => [each.name, each]));
  return [...first.values()].filter(({ name }) => comparison.runs.filter((run) => run.measures.some((each) => each.name === name)).length > 1);
}

/** A row for each scheduler and run. */
export function intervalRows(comparison: Comparison, measure: string): IntervalRow[] {
  return listSchedulers(comparison).flatMap((scheduler) =>
    comparison.runs.map((run, i) => ({ scheduler, run: runLetter(i), estimate: run.schedulers.find((each) => each.scheduler === scheduler)?.estimates[measure] })),
  );
}
