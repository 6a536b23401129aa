/** Who is dominated by whom, and where points, labels and the front are drawn. */
import type { SchedulerFigures } from '@/live/messages';
import { isKnown } from '@/look/format';
import { schedulerStyle } from '@/look/schedulers';
import { linearAxis, logAxis, overlapArea, timeUnit, type Axis, type Box } from './draw';
import { isReference, MEASURES } from './figures';

/** Beyond this ratio small values would lie on each other. */
const LINEAR_UP_TO = 8;
export const PRICES = { cost: 'Cost', energy: 'Energy' } as const;
export type Price = keyof typeof PRICES;

export interface Point {
  name: string;
  time: number;
  price: number;
  saturated: boolean;
  /** Who is at least as good in both and better in one; empty: it lies on the front. */
  dominatedBy: string[];
}

/** Who has figures. The oracle is a reference: it dominates nobody, because nobody can use it instead. */
export function buildPoints(schedulers: readonly SchedulerFigures[], price: Price): Point[] {
  const bare = schedulers.flatMap((each) => {
    const [time, paid] = [each.window.mean_turnaround, each.window[price]];
    return isKnown(time) && isKnown(paid) && time > 0 && paid > 0 ? [{ name: each.name, time, price: paid, saturated: each.saturated }] : [];
  });
  const usable = bare.filter((each) => !isReference(each.name));
  return bare.map((each) => ({ ...each, dominatedBy: isReference(each.name) ? [] : usable.filter((other) => dominates(other, each)).map((other) => other.name) }));
}

const dominates = (a: { time: number; price: number }, b: { time: number; price: number }): boolean =>
  a.time <= b.time && a.price <= b.price && (a.time < b.time || a.price < b.price);

/** Points that nobody dominates, fastest first. */
export function paretoFront(points: readonly Point[]): Point[] {
  return points.filter((each) => !isReference(each.name) && each.dominatedBy.length === 0).toSorted((a, b) => a.time - b.time || a.price - b.price);
}

const labelList = (names: readonly string[]): string => names.map((name) => schedulerStyle(name).label).join(', ');

export function formatAxisValue(measure: 'turnaround' | Price, value: number): string {
  const { number, unit } = MEASURES[measure].format(value);
  return `${number} ${unit}`;
}

/** Where a point stands, in words. */
export function describeDominance(point: Point): string {
  if (isReference(point.name)) return 'a reference, not a choice';
  return point.dominatedBy.length ? `dominated by ${labelList(point.dominatedBy)}` : 'on the Pareto front';
}

export const describePoint = (point: Point, price: Price): string =>
  `${schedulerStyle(point.name).label}: ${formatAxisValue('turnaround', point.time)}, ${formatAxisValue(price, point.price)}, ${describeDominance(point)}${point.saturated ? ', saturated' : ''}`;

export function describeFront(points: readonly Point[], price: Price): string {
  const beaten = points.filter((each) => each.dominatedBy.length).map((each) => each.name);
  const rest = beaten.length ? `dominated: ${labelList(beaten)}` : 'nobody is dominated';
  return `${PRICES[price]} against mean turnaround per task. On the Pareto front: ${labelList(paretoFront(points).map((each) => each.name)) || 'nobody'}; ${rest}`;
}

/** Linear with room around the points, logarithmic if these lie far apart. */
export function chooseAxis(values: readonly number[], most: number, time: boolean): Axis {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high / low > LINEAR_UP_TO) return logAxis(low / 1.3, high * 1.3, most, time);
  const room = (high - low) * 0.15 || high * 0.1;
  return linearAxis(Math.max(0, low - room), high + room, most, time ? timeUnit(high) : 1);
}

/** Lines up or down from the point at which a label is tried. */
const LABEL_SHIFTS = [0, -1.1, 1.1, -2.1, 2.1, -3.1, 3.1];

/** Where labels stand beside their points: the first place that covers nothing, else the one that covers least. */
export function placeLabels(points: readonly { x: number; y: number; width: number }[], height: number, bounds: Box): Box[] {
  const dots = points.map(({ x, y }) => ({ x: x - 7, y: y - 7, width: 14, height: 14 }));
  const placed: Box[] = [];
  for (const [i, { x, y, width }] of points.entries()) {
    const taken = [...placed, ...dots.filter((_, j) => j !== i)];
    const boxes = LABEL_SHIFTS.flatMap((shift) => {
      const sides = shift === 0 ? [x + 9, x - 9 - width] : [x - width / 2, x + 9, x - 9 - width];
      return sides.map((bx) => ({ x: bx, y: y - height / 2 + shift * (height + 1), width, height }));
    });
    const covered = (box: Box) => taken.reduce((sum, each) => sum + overlapArea(box, each), 0) + (width * height - overlapArea(box, bounds)) * 2;
    placed.push(boxes.find((box) => covered(box) < 1e-6) ?? boxes.toSorted((a, b) => covered(a) - covered(b))[0]!);
  }
  return placed;
}

/** From the fastest of the front down to the cheapest, in steps: what lies right of it and above is dominated. */
export function stepPath(front: readonly { x: number; y: number }[], right: number, top: number): string {
  const [first, ...rest] = front;
  if (!first) return '';
  return `M${first.x} ${top}V${first.y}${rest.map(({ x, y }) => `H${x}V${y}`).join('')}H${right}`;
}
