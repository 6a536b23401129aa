/** Ratios of a scheduler to the reference, and how far from the centre they are drawn. */
import type { SchedulerFigures } from '@/live/messages';
import { formatNumber, isKnown } from '@/look/format';
import { schedulerStyle } from '@/look/schedulers';
import { keepPositive } from './draw';
import { isReference, MEASURES, type Measure } from './figures';

export interface Corner {
  measure: Measure;
  value: number;
  /** Of the value to the reference; smaller is better. */
  ratio: number;
}

/** Ratios to the oracle; without it, or for the oracle itself, to the best of the others in each measure. */
export function compareToReference(schedulers: readonly SchedulerFigures[], name: string, measures: readonly Measure[]): { corners: Corner[]; against: string } | null {
  const own = schedulers.find((each) => each.name === name);
  const oracle = schedulers.find((each) => isReference(each.name) && each.name !== name);
  const others = oracle ? [oracle] : schedulers.filter((each) => each.name !== name);
  const corners = measures.map((measure) => {
    const value = own ? MEASURES[measure].value(own) : null;
    const best = Math.min(...keepPositive((others.length ? others : schedulers).map(MEASURES[measure].value)));
    return { measure, value: value ?? NaN, ratio: isKnown(value) ? value / best : NaN };
  });
  if (!corners.every((corner) => corner.ratio > 0)) return null;
  return { corners, against: oracle ? schedulerStyle(oracle.name).label : 'the best of each' };
}

/** Up to this ratio the axes are linear: at ×5 the reference still has a fifth of the room. */
const LINEAR_UP_TO = 5;
/** Share of the radius inside the reference on the logarithmic axes. */
const INNER = 0.4;

/** Distance from the centre, 0 to 1, and where the rings lie. Ends are round, so that the picture does not breathe. */
export function radarScale(corners: readonly Corner[]): { log: boolean; rings: number[]; at: (ratio: number) => number } {
  const most = Math.max(...corners.map((corner) => corner.ratio));
  if (most <= LINEAR_UP_TO) {
    const end = [1.25, 1.5, 2, 3, 4, 5].find((each) => most <= each) ?? LINEAR_UP_TO;
    return { log: false, rings: [0.5, 1, 1.5, 2, 3, 4].filter((ring) => ring < end).concat(end), at: (ratio) => ratio / end };
  }
  const decades = Math.ceil(Math.log10(most) * 2 - 1e-9) / 2;
  const at = (ratio: number) => (ratio <= 1 ? ratio * INNER : INNER + (1 - INNER) * (Math.log10(ratio) / decades));
  return { log: true, rings: Array.from({ length: Math.floor(decades) + 1 }, (_, i) => 10 ** i), at };
}

export const CORNER_NAMES: Record<Measure, string> = { turnaround: 'Turnaround', execution: 'Execution', makespan: 'Makespan', energy: 'Energy', cost: 'Cost' };

export const formatAmount = (corner: Corner): string => {
  const { number, unit } = MEASURES[corner.measure].format(corner.value);
  return `${number} ${unit}`;
};
export const formatFactor = (ratio: number): string => `×${formatNumber(ratio)}`;

/** What the picture says, for who does not see it. */
export function describeRadar(name: string, corners: readonly Corner[], against: string): string {
  const parts = corners.map((corner) => `${CORNER_NAMES[corner.measure].toLowerCase()} ${formatAmount(corner)} (${formatFactor(corner.ratio)})`);
  return `${schedulerStyle(name).label} per task against ${against}: ${parts.join(', ')}; below ×1 is better`;
}
