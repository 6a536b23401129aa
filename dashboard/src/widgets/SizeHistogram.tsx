/** How large the last tasks were, and where the middle and the tail begin. */
import { useId, useState } from 'react';
import { ChartColumn } from 'lucide-react';
import { Tooltip } from '@/components/chartParts';
import { Chip, EmptyState, ToggleButton } from '@/components/controls';
import { Tile } from '@/components/Panel';
import type { Analysis } from '@/live/messages';
import { useRace } from '@/live/store';
import { formatCount, formatNumber, formatPercent, isKnown } from '@/utils/format';
import { usePauseOnHover, useSize, useRovingFocus } from '@/utils/hooks';
import { linearAxis, logTicks, makeScale, smallTextSize, trimZeros, type Axis, type Range } from '@/utils/scale';

export function SizeHistogram() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const [log, setLog] = useState(false);
  const analysis = useRace((race) => race.analysis, 'slow', paused);
  return (
    <Tile
      title="Task sizes"
      icon={<ChartColumn size={15} />}
      subtitle={`number of tasks by size${log ? ', log count' : ''}`}
      actions={
        <>
          <Chip>n = {formatCount(analysis?.tasks)}</Chip>
          <ToggleButton on={log} set={setLog} title="Count on a logarithmic axis: rare sizes become visible">log count</ToggleButton>
        </>
      }
    >
      {analysis && analysis.tasks > 0 ? (
        <div className="flex h-full flex-col" {...pauseHandlers}>
          <Bars analysis={analysis} log={log} />
          <p className="shrink-0 text-center text-xs text-quiet">task size{analysis.log_sizes ? ' (log)' : ''}</p>
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

function Bars({ analysis, log }: { analysis: Analysis; log: boolean }) {
  const [box, { width, height }] = useSize();
  const [pointed, setPointed] = useState<number | null>(null);
  const { size_edges: edges, size_counts: counts, tasks } = analysis;
  const paint = useId();
  const roving = useRovingFocus(1, counts.length);
  const em = smallTextSize();
  const quantiles = getQuantiles(analysis);
  const [left, bottom] = [3.6 * em, 1.5 * em];
  const sizes: Range = [edges[0] ?? 0, edges.at(-1) ?? 1];
  const x = makeScale(sizes, [left, width - 4], analysis.log_sizes);
  const marks = stackLabels(quantiles.map((each) => x(each.value)), 6.6 * em, [left, width]);
  const top = 4 + 1.25 * em * (1 + Math.max(0, ...marks.map((mark) => mark.lane)));
  const axis = countAxis(Math.max(...counts), log, Math.max(2, Math.floor((height - top - bottom) / (2.4 * em))));
  const y = makeScale(axis.range, [height - bottom, top], log);
  const describe = (i: number) => `size ${formatNumber(edges[i])} to ${formatNumber(edges[i + 1])}: ${formatCount(counts[i])} tasks, ${formatPercent((counts[i] ?? 0) / tasks, 1)}`;
  const leave = () => setPointed(null);
  if (width <= 80 || height <= 60) return <div ref={box} className="min-h-0 flex-1" />;
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <svg width={width} height={height} className="absolute inset-0">
        <g role="img" aria-label={describeHistogram(analysis, quantiles)} fontSize={em} fill="var(--quiet)">
          {axis.ticks.map((tick) => (
            <g key={tick}>
              <line x1={left} x2={width - 4} y1={y(tick)} y2={y(tick)} stroke="var(--grid)" />
              <text x={left - 6} y={y(tick) + 0.35 * em} textAnchor="end" className="num">{trimZeros(formatNumber(tick))}</text>
            </g>
          ))}
          <SizeTicks sizes={sizes} log={analysis.log_sizes} x={x} y={height - 0.35 * em} most={Math.floor((width - left) / (5 * em))} right={width} em={em} />
        </g>
        <g data-roving="" onMouseLeave={leave} onBlur={leave}>
          {counts.map((here, i) => {
            const point = () => setPointed(i);
            const [from, to] = [x(edges[i] ?? 0), x(edges[i + 1] ?? 0)];
            return (
              <g key={i} role="img" aria-label={describe(i)} {...roving(0, i)} onFocus={point} onMouseEnter={point} className="focus-visible:outline-offset-0">
                <rect x={from} y={top} width={Math.max(1, to - from)} height={height - bottom - top} fill="transparent" />
                {here > 0 && <rect x={from + 0.75} y={y(here)} width={Math.max(1, to - from - 1.5)} height={Math.max(1, height - bottom - y(here))} rx={1.5} fill={`url(#${paint})`} opacity={pointed === null || pointed === i ? 1 : 0.6} />}
              </g>
            );
          })}
        </g>
        <defs>
          <linearGradient id={paint} x1="0" y1={top} x2="0" y2={height - bottom} gradientUnits="userSpaceOnUse">
            <stop offset="0" stopColor="#7fb4ff" />
            <stop offset="1" stopColor="#2c5fc4" />
          </linearGradient>
        </defs>
        <g aria-hidden="true" pointerEvents="none">
          {quantiles.map((each, i) => <line key={each.name} x1={x(each.value)} x2={x(each.value)} y1={labelLine(marks[i]!.lane, em) + 3} y2={height - bottom} stroke="var(--warn)" strokeWidth={1.5} strokeDasharray="4 3" />)}
          {quantiles.map((each, i) => <QuantileLabel key={each.name} quantile={each} label={marks[i]!} em={em} />)}
        </g>
      </svg>
      {pointed !== null && <Tooltip x={x(edges[pointed] ?? 0)} y={top + 20} width={width} height={height}>{describe(pointed)}</Tooltip>}
    </div>
  );
}

function SizeTicks({ sizes, log, x, y, most, right, em }: { sizes: Range; log: boolean; x: (value: number) => number; y: number; most: number; right: number; em: number }) {
  const ticks = (log ? logTicks(sizes, most) : linearAxis(sizes[0], sizes[1], most).ticks).filter((tick) => tick >= sizes[0] && tick <= sizes[1]);
  return ticks.map((tick) => <text key={tick} x={x(tick)} y={y} textAnchor={x(tick) > right - 2 * em ? 'end' : 'middle'} className="num">{trimZeros(formatNumber(tick))}</text>);
}

const labelLine = (lane: number, em: number): number => 1.1 * em + lane * 1.25 * em;

/** Drawn over the lines of all marks, with a rim, because they may run through it. */
function QuantileLabel({ quantile, label, em }: { quantile: Quantile; label: { x: number; lane: number }; em: number }) {
  return (
    <text x={label.x + 3.3 * em} y={labelLine(label.lane, em)} textAnchor="middle" fontSize={em} fontWeight={600} className="num" fill="var(--warn)" stroke="var(--panel)" strokeWidth={5} paintOrder="stroke">
      {quantile.name} {quantile.about ? '≈' : ''}{formatNumber(quantile.value)}
    </text>
  );
}

interface Quantile {
  name: string;
  value: number;
  /** Read off the bins, so not exact. */
  about: boolean;
}

const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
type Share = keyof typeof SHARES;

/** The server's quantiles; where it sends none, they are read off the bins. */
export function getQuantiles(analysis: Analysis): Quantile[] {
  const { size_edges, size_counts, size_quantiles, log_sizes } = analysis;
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

function describeHistogram(analysis: Analysis, quantiles: readonly Quantile[]): string {
  const parts = quantiles.map((each) => `${each.name} ${each.about ? 'about ' : ''}${formatNumber(each.value)}`);
  return `Sizes of the last ${formatCount(analysis.tasks)} tasks, ${formatNumber(analysis.size_edges[0])} to ${formatNumber(analysis.size_edges.at(-1))}: ${parts.join(', ')}`;
}
