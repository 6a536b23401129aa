/** Turnaround curves: reading them in both directions, and what they say. */
import type { SchedulerFigures } from '@/live/messages';
import { isKnown, formatSeconds } from '@/look/format';
import { schedulerStyle } from '@/look/schedulers';
import { logAxis, keepPositive, type Axis } from './draw';

export const TAIL = 0.95;

export interface Curve {
  name: string;
  /** Turnaround at evenly spaced shares from 0 to 1. */
  values: number[];
}

/** Who has done tasks, the shortest tail first. */
export function buildCurves(schedulers: readonly SchedulerFigures[]): Curve[] {
  return schedulers
    .map(({ name, turnaround_cdf }) => ({ name, values: turnaround_cdf.filter(isKnown) }))
    .filter((curve) => curve.values.length > 1)
    .toSorted((a, b) => timeAt(a.values, TAIL) - timeAt(b.values, TAIL));
}

/** The time within which a share of the tasks was done. */
export function timeAt(values: readonly number[], share: number): number {
  const at = Math.min(1, Math.max(0, share)) * (values.length - 1);
  const first = Math.min(values.length - 2, Math.floor(at + 1e-9));
  return values[first]! + (values[first + 1]! - values[first]!) * (at - first);
}

/** The share of tasks that was done within a time. */
export function shareWithin(values: readonly number[], time: number): number {
  if (time < values[0]!) return 0;
  const above = values.findIndex((value) => value > time);
  if (above < 0) return 1;
  const [low, high] = [values[above - 1]!, values[above]!];
  return (above - 1 + (time - low) / (high - low)) / (values.length - 1);
}

export const formatPercentile = (share: number): string => `p${Math.round(share * 100)}`;

export function describeCdf(curves: readonly Curve[]): string {
  const parts = curves.map((curve) => `${schedulerStyle(curve.name).label} ${formatSeconds(timeAt(curve.values, TAIL))}`);
  return `Turnaround within which 95 % of the last tasks were done: ${parts.join(', ')}`;
}

export function timeAxis(curves: readonly Curve[], most: number): Axis {
  const values = keepPositive(curves.flatMap((curve) => curve.values));
  return values.length ? logAxis(Math.min(...values), Math.max(...values), Math.max(2, most), true) : logAxis(0.001, 1, most, true);
}
