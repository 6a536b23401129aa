/** Quantiles, axes and words of the histogram of sizes. */
import type { Pictures } from '@/live/messages';
import { formatCount, formatNumber, isKnown } from '@/look/format';
import { linearAxis, logTicks, type Axis, type Range } from './draw';

export interface Quantile {
  name: string;
  value: number;
  /** Read off the bins, so not exact. */
  about: boolean;
}

const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
type Share = keyof typeof SHARES;

/** The server's quantiles; where it sends none, they are read off the bins. */
export function getQuantiles(pictures: Pictures): Quantile[] {
  const { size_edges, size_counts, size_quantiles, log_sizes } = pictures;
  return (Object.keys(SHARES) as Share[])
    .map((name) => {
      const sent = size_quantiles[name];
      return isKnown(sent) ? { name, value: sent, about: false } : { name, value: quantileFromBins(size_edges, size_counts, SHARES[name], log_sizes), about: true };
    })
    .filter((each) => Number.isFinite(each.value));
}

/** The value below which a share of all lies, if they are evenly spread inside their bin. */
export function quantileFromBins(edges: readonly number[], counts: readonly number[], share: number, log: boolean): number {
  const all = counts.reduce((sum, each) => sum + each, 0);
  let left = share * all;
  for (const [i, here] of counts.entries()) {
    const [low, high] = [edges[i], edges[i + 1]];
    if (low === undefined || high === undefined) break;
    if (here > 0 && left <= here) return log ? low * (high / low) ** (left / here) : low + (high - low) * (left / here);
    left -= here;
  }
  return NaN;
}

/** A bar of one task must be seen, so a logarithmic axis begins below one. */
export function countAxis(most: number, log: boolean, ticks: number): Axis {
  if (!log) return linearAxis(0, Math.max(1, most), ticks);
  const range: Range = [0.5, Math.max(10, 10 ** Math.ceil(Math.log10(most * 1.02)))];
  return { range, ticks: logTicks([1, range[1]], ticks), log };
}

/** Which line above the bars each label takes so that none covers another; each label is centred but kept inside. */
export function stackLabels(places: readonly number[], width: number, bounds: Range): { x: number; lane: number }[] {
  const ends: number[] = [];
  return places.map((place) => {
    const x = Math.min(bounds[1] - width, Math.max(bounds[0], place - width / 2));
    const free = ends.findIndex((end) => end + 6 <= x);
    const lane = free >= 0 ? free : ends.length;
    ends[lane] = x + width;
    return { x, lane };
  });
}

export function describeHistogram(pictures: Pictures, quantiles: readonly Quantile[]): string {
  const parts = quantiles.map((each) => `${each.name} ${each.about ? 'about ' : ''}${formatNumber(each.value)}`);
  return `Sizes of the last ${formatCount(pictures.tasks)} tasks, ${formatNumber(pictures.size_edges[0])} to ${formatNumber(pictures.size_edges.at(-1))}: ${parts.join(', ')}`;
}
