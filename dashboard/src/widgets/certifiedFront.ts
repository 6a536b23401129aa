/** The certified front of time and energy or cost: where it runs, and the ground below it on which nobody can stand. */
import type { CertifiedWindow } from '@/live/messages';
import { isKnown } from '@/utils/format';

export interface Vertex {
  time: number;
  price: number;
}

export interface Fronts {
  /** Of schedules that split no task. */
  whole: Vertex[];
  /** Of all schedules; it lies lower. */
  all: Vertex[];
}

export function readFronts(window: CertifiedWindow, price: 'cost' | 'energy'): Fronts {
  return {
    whole: toFront(window[`${price}_front`], window.mean_turnaround),
    all: toFront(window[`${price}_front_split`], window.mean_turnaround_split),
  };
}

/** Vertices by falling time. The bound of the turnaround alone may be sharper than the front's end: then the front ends there. */
function toFront(pairs: readonly (readonly number[])[], bound: number | null): Vertex[] {
  const front = pairs.flatMap(([time, price]) => (isKnown(time) && isKnown(price) ? [{ time, price }] : []));
  const least = front.at(-1)?.time;
  if (least === undefined || !isKnown(bound) || bound <= least) return front;
  return [...front.filter((each) => each.time > bound), { time: bound, price: priceAt(front, bound) }];
}

/** The least joules or dollars that a mean turnaround allows: the fewest of all beyond the first vertex, none fast enough before the last. */
export function priceAt(front: readonly Vertex[], time: number): number {
  const next = front.findIndex((each) => each.time <= time);
  if (next < 0) return Infinity;
  const [right, left] = [front[next - 1], front[next]!];
  if (!right) return left.price;
  return left.price + ((right.price - left.price) * (time - left.time)) / (right.time - left.time);
}

interface Drawing {
  x: (time: number) => number;
  y: (price: number) => number;
  timeAt: (x: number) => number;
  area: { left: number; right: number; top: number; bottom: number };
}

/** Pixels from one place of the line to the next: on logarithmic axes it is bent. */
const STEP = 3;

/** The line from its upper end to the right edge, and the ground left of it and below. */
export function drawFront(front: readonly Vertex[], { x, y, timeAt, area }: Drawing): { line: string; ground: string } | null {
  const last = front.at(-1);
  if (!last) return null;
  const start = x(last.time);
  const count = Math.max(1, Math.ceil((area.right - start) / STEP));
  const places = Array.from({ length: count + 1 }, (_, i) => {
    const across = start + ((area.right - start) * i) / count;
    return `L${across.toFixed(1)} ${y(i ? priceAt(front, timeAt(across)) : last.price).toFixed(1)}`;
  });
  const line = `M${start.toFixed(1)} ${area.top}${places.join('')}`;
  return { line, ground: `${line}V${area.bottom}H${area.left}V${area.top}Z` };
}
