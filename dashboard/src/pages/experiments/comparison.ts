/** What differences between runs mean, in words that claim no more than their intervals do. */
import type { Schemas } from '@/api/client';
import { isKnown } from '@/utils/format';
import type { IntervalRow } from './IntervalPlot';
import { formatSigned, type Measure } from './measures';

export type Difference = Schemas['Difference'];
export interface Verdict {
  tone: 'good' | 'bad' | 'quiet';
  text: string;
}

const NO_DIFFERENCE = 'no clear difference';

/** Better, worse, or nothing that can be told from chance. */
export function judgeDifference(difference: Pick<Difference, 'mean' | 'low' | 'high' | 'relative'>, lessIsBetter: boolean): Verdict {
  const { mean, low, high, relative } = difference;
  if (!isKnown(mean)) return { tone: 'quiet', text: 'not measured in both' };
  if (!isKnown(low) || !isKnown(high)) return { tone: 'quiet', text: 'one number each: chance cannot be told apart' };
  if (low <= 0 && high >= 0) return { tone: 'quiet', text: NO_DIFFERENCE };
  const better = mean < 0 === lessIsBetter;
  return { tone: better ? 'good' : 'bad', text: `${formatAmount(mean, relative)}, ${better ? 'better' : 'worse'}` };
}

function formatAmount(mean: number, relative: number | null): string {
  const way = mean < 0 ? 'lower' : 'higher';
  if (!isKnown(relative)) return way;
  const share = Math.abs(relative);
  if (share >= 9.5) return `${(share + 1).toFixed(0)} times as much`;
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} % ${way}`;
}

/** The interval of a difference: +1.2 ms to +3.4 ms. */
export function formatDifferenceInterval({ low, high }: Pick<Difference, 'low' | 'high'>, unit: string): string {
  return isKnown(low) && isKnown(high) ? `${formatSigned(low, unit)} to ${formatSigned(high, unit)}` : 'no interval';
}

/** A, B, C …: short names of the runs side by side. */
export const runLetter = (place: number): string => String.fromCharCode(65 + place);

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
