/** How a quantity is spread: bars over bins, which may be spaced by factors, with the median and the tail marked. */
import { logTicks, roundTicks } from '@/pages/axisScale';
import { useSize } from '@/utils/hooks';

interface Bins {
  edges: number[];
  counts: number[];
  /** Whether edges are spaced by factors. */
  log?: boolean;
}

export interface Mark {
  value: number;
  label: string;
}

/** Left edge, width and height of each bar, from 0 to 1, on the axis of `place`. */
export function barGeometry({ edges, counts }: Pick<Bins, 'edges' | 'counts'>, place: (value: number) => number): { x: number; width: number; height: number }[] {
  const most = Math.max(...counts, 1);
  return counts.map((count, i) => {
    const x = place(edges[i]!);
    return { x, width: place(edges[i + 1]!) - x, height: count / most };
  });
}

/** From a value to its place between two ends; by factors only where the lower end allows it. */
export function histogramScale([low, high]: readonly [number, number], log: boolean): (value: number) => number {
  const usable = log && low > 0;
  const on = (value: number) => (usable ? Math.log(Math.max(value, low)) : value);
  const spread = on(high) - on(low) || 1;
  return (value) => Math.min(1, Math.max(0, (on(value) - on(low)) / spread));
}

/** The ends of an axis; where all values are the same, some room around them. */
export function axisEnds(edges: readonly number[]): [number, number] {
  const [low, high] = [edges[0] ?? 0, edges.at(-1) ?? 1];
  const room = Math.abs(low) / 2 || 0.5;
  return high - low > 1e-9 * Math.abs(low) ? [low, high] : [low - room, high + room];
}

interface SmallProps extends Bins {
  label: string;
  /** The ends of the axis, the same for all workloads, so that their pictures can be compared. */
  from: number;
  to: number;
}

/** A picture in words' size: no axes, but the same ends for all. */
export function SmallHistogram({ edges, counts, log = false, label, from, to }: SmallProps) {
  const [low, high] = [edges[0] ?? from, edges.at(-1) ?? to];
  const place = histogramScale([Math.min(from, low), Math.max(to, high)], log);
  return (
    <figure className="min-w-0 flex-1">
      <svg viewBox="0 0 100 36" preserveAspectRatio="none" className="block h-9 w-full" aria-hidden="true">
        {barGeometry({ edges, counts }, place).map((bar, i) => <rect key={i} x={Math.min(99, bar.x * 100)} width={Math.max(1, bar.width * 100 - 0.4)} y={36 - bar.height * 35} height={bar.height * 35} fill="var(--accent)" />)}
        <line x1={0} x2={100} y1={35.7} y2={35.7} stroke="var(--edge-strong)" strokeWidth={0.6} />
      </svg>
      <figcaption className="mt-0.5 truncate text-center text-[0.7rem] text-quiet">{label}</figcaption>
    </figure>
  );
}

const HEIGHT = 170;
const PAD = { left: 44, right: 14, top: 18, bottom: 22 };

interface HistogramProps extends Bins {
  label: string;
  text: (value: number) => string;
  marks?: Mark[];
}

export function Histogram({ edges, counts, log = false, label, text, marks = [] }: HistogramProps) {
  const [ref, size] = useSize();
  const width = size.width || 420;
  const [w, h] = [width - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom];
  const most = Math.max(...counts, 1);
  const ends = axisEnds(edges);
  const place = histogramScale(ends, log);
  const all = counts.reduce((sum, each) => sum + each, 0);
  return (
    <div ref={ref} className="w-full">
      <svg width={width} height={HEIGHT} role="img" aria-label={`${label}: ${all.toLocaleString('en-US')} tasks from ${text(edges[0] ?? 0)} to ${text(edges.at(-1) ?? 0)}`} className="block max-w-full">
        <g transform={`translate(${PAD.left} ${PAD.top})`}>
          {roundTicks(0, most, 3).map((tick) => (
            <g key={tick}>
              <line x2={w} y1={h - (tick / most) * h} y2={h - (tick / most) * h} stroke="var(--grid)" />
              <text x={-6} y={h - (tick / most) * h + 4} textAnchor="end" fontSize="0.73rem" fill="var(--quiet)" className="num">{tick.toLocaleString('en-US', { notation: tick >= 10_000 ? 'compact' : 'standard' })}</text>
            </g>
          ))}
          {barGeometry({ edges, counts }, place).map((bar, i) => (
            <rect key={i} x={bar.x * w + (bar.width > 1e-6 ? 0.5 : -4)} width={bar.width > 1e-6 ? Math.max(1, bar.width * w - 1) : 8} y={h - bar.height * h} height={bar.height * h} fill="var(--accent)" opacity={0.85}>
              <title>{`${text(edges[i]!)} to ${text(edges[i + 1]!)}: ${counts[i]!.toLocaleString('en-US')} tasks`}</title>
            </rect>
          ))}
          <line x2={w} y1={h} y2={h} stroke="var(--edge-strong)" />
          {axisTicks(ends, log, width < 340 ? 3 : 6).map((value) => (
            <text key={value} x={place(value) * w} y={h + 16} textAnchor={place(value) > 0.96 ? 'end' : place(value) < 0.02 ? 'start' : 'middle'} fontSize="0.73rem" fill="var(--quiet)" className="num">{text(value)}</text>
          ))}
          {marks.filter((mark, i) => i === 0 || (place(mark.value) - place(marks[i - 1]!.value)) * w > 60).map((mark) => <MarkLine key={mark.label} x={place(mark.value) * w} height={h} label={mark.label} width={w} />)}
        </g>
      </svg>
    </div>
  );
}

function MarkLine({ x, height, label, width }: { x: number; height: number; label: string; width: number }) {
  return (
    <g aria-hidden="true">
      <line x1={x} x2={x} y1={-4} y2={height} stroke="var(--warn)" strokeDasharray="3 3" />
      <text x={x + (x > width - 60 ? -4 : 4)} y={-6} textAnchor={x > width - 60 ? 'end' : 'start'} fontSize="0.73rem" fill="var(--warn)">{label}</text>
    </g>
  );
}

function axisTicks([low, high]: [number, number], log: boolean, most: number): number[] {
  return log && low > 0 ? logTicks(low, high, most) : roundTicks(low, high, most);
}
