/** Lines over simulated time on a canvas (uPlot), with marks where settings were changed. */
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Mark } from '@/live/messages';
import { CHART_COLOURS, useTheme } from '@/theme/theme';
import { useSize } from '@/utils/hooks';

export interface ChartLine {
  label: string;
  colour: string;
  dash?: number[];
  width?: number;
  fill?: string;
}

interface TimeChartProps {
  /** First the times, then one column per line. */
  data: uPlot.AlignedData;
  lines: ChartLine[];
  log?: boolean;
  /** Lowest and highest value to show; null: as the data is. */
  range?: [number | null, number | null];
  value: (value: number) => string;
  /** How values are written at the axis, if otherwise. */
  tick?: (value: number) => string;
  marks?: Mark[];
  /** Seconds to show, counted from the newest point. */
  span?: number;
  label: string;
  /** Whether times are shown as "-10 s" rather than as a clock. */
  ago?: boolean;
}

export function TimeChart(props: TimeChartProps) {
  const { data, lines, label } = props;
  const theme = useTheme((state) => state.theme);
  const [box, size] = useSize();
  const holder = useRef<HTMLDivElement | null>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = useMemo(() => JSON.stringify([lines, props.log, props.span, props.range, props.ago]), [lines, props.log, props.span, props.range, props.ago]);
  const ready = size.width > 20 && size.height > 20;

  useEffect(() => {
    if (!ready || !holder.current) return;
    const made = new uPlot(plotOptions(latest, theme, 100, 100), leaveGaps(latest.current.data), holder.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [shape, theme, ready]);

  useEffect(() => {
    if (ready) plot.current?.setSize(size);
  }, [size, shape, theme, ready]);

  useEffect(() => {
    plot.current?.setData(leaveGaps(data));
  }, [data]);

  return (
    <div ref={box} className="relative h-full w-full overflow-hidden" role="img" aria-label={label}>
      <div ref={holder} className="absolute inset-0" />
    </div>
  );
}

/** What is not known is null: uPlot would draw a line down to NaN. */
export const leaveGaps = (data: uPlot.AlignedData): uPlot.AlignedData =>
  data.map((column) => Array.from(column, (value) => (Number.isNaN(value) ? null : value))) as uPlot.AlignedData;

type Latest = { current: TimeChartProps };

function plotOptions(latest: Latest, theme: 'dark' | 'light', width: number, height: number): uPlot.Options {
  const { lines, log, range, span } = latest.current;
  const { quiet, grid } = CHART_COLOURS[theme];
  const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px "JetBrains Mono Variable", monospace' };
  return {
    width,
    height,
    padding: [8, 10, 0, 0],
    cursor: { y: false, points: { show: false } },
    legend: { show: false },
    scales: {
      x: { time: false, range: (_u, low, high) => [span ? Math.max(high - span, Math.min(low, high - 10)) : low, Math.max(high, low + 1e-6)] },
      y: log
        ? { distr: 3, range: (_u, low, high) => decadeRange(low, high, range) }
        : { range: (_u, low, high) => [range?.[0] ?? low - (high - low) * 0.05, range?.[1] ?? Math.max(high + (high - low) * 0.08, low + 1e-9)] },
    },
    axes: [
      { ...axis, size: 24, values: (u, values) => formatTicks(values, u.scales.x?.max ?? 0, latest.current.ago) },
      { ...axis, size: 58, values: (_u, values) => values.map((each) => (each === null ? '' : (latest.current.tick ?? latest.current.value)(each))) },
    ],
    series: [{}, ...lines.map((line) => ({ label: line.label, stroke: line.colour, width: line.width ?? 1.75, dash: line.dash ?? [], ...(line.fill ? { fill: line.fill } : {}), points: { show: false }, spanGaps: true }))],
    hooks: { draw: [(u) => drawMarks(u, latest.current.marks ?? [], CHART_COLOURS[theme].mark)] },
    plugins: [tooltipPlugin(latest)],
  };
}

/** Half decades around the data, so that the axis does not jump with every point. */
function decadeRange(low: number | null, high: number | null, range: TimeChartProps['range']): [number, number] {
  const half = (value: number | null, round: (x: number) => number) => 10 ** (round(Math.log10(Math.max(value ?? 1, 1e-9)) * 2) / 2);
  const from = range?.[0] ?? half(low, Math.floor);
  const to = range?.[1] ?? half(high, Math.ceil);
  return [from, to > from ? to : from * 10];
}

/** Texts of ticks in seconds, with as many places as tell neighbours apart. */
export function formatTicks(ticks: readonly number[], newest: number, ago = false): string[] {
  const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : 1;
  const places = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  const minutes = !ago && step >= 60;
  return ticks.map((each) => {
    if (ago) return newest - each < step / 2 ? 'now' : `−${(newest - each).toFixed(places)} s`;
    return minutes ? `${(each / 60).toFixed(0)} min` : `${each.toFixed(places)} s`;
  });
}

function drawMarks(u: uPlot, marks: Mark[], colour: string): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  for (const mark of marks) {
    const x = u.valToPos(mark.at_time, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    const r = 4 * devicePixelRatio;
    ctx.moveTo(x - r, bbox.top);
    ctx.lineTo(x + r, bbox.top);
    ctx.lineTo(x, bbox.top + r * 1.6);
    ctx.fill();
  }
  ctx.restore();
}

/** Values under the pointer, nearest first, and what was changed there. */
function tooltipPlugin(latest: Latest): uPlot.Plugin {
  const box = document.createElement('div');
  box.className = 'chart-tip';
  box.style.cssText =
    'position:absolute;pointer-events:none;display:none;z-index:5;padding:6px 9px;border-radius:8px;font-size:12px;white-space:nowrap;' +
    'background:var(--raised);border:1px solid var(--edge-strong);color:var(--ink);box-shadow:0 4px 16px var(--shade)';
  return {
    hooks: {
      init: (u) => {
        u.over.appendChild(box);
        u.over.addEventListener('mouseleave', () => (box.style.display = 'none'));
      },
      setCursor: (u) => {
        const { left = -1, idx } = u.cursor;
        if (left < 0 || idx === null || idx === undefined) {
          box.style.display = 'none';
          return;
        }
        box.replaceChildren(...tooltipLines(u, idx, latest.current));
        box.style.display = 'block';
        const right = left > u.over.clientWidth / 2;
        box.style.left = right ? '' : `${left + 12}px`;
        box.style.right = right ? `${u.over.clientWidth - left + 12}px` : '';
        box.style.top = '6px';
      },
    },
  };
}

function tooltipLines(u: uPlot, idx: number, { lines, data, value, marks = [] }: TimeChartProps): HTMLElement[] {
  const at = data[0]?.[idx] ?? 0;
  const rows = lines
    .map((line, i) => ({ line, value: data[i + 1]?.[idx] }))
    .filter((row): row is { line: ChartLine; value: number } => typeof row.value === 'number' && Number.isFinite(row.value))
    .sort((a, b) => b.value - a.value)
    .slice(0, 12);
  const near = u.posToVal(6, 'x') - u.posToVal(0, 'x');
  return [
    tooltipLine(`${at.toFixed(1)} s`, 'var(--quiet)'),
    ...rows.map((row) => tooltipLine(`${row.line.label}  ${value(row.value)}`, row.line.colour)),
    ...marks.filter((mark) => Math.abs(mark.at_time - at) < near).map((mark) => tooltipLine(`▼ ${formatChange(mark.change)}`, 'var(--warn)')),
  ];
}

function tooltipLine(text: string, colour: string): HTMLElement {
  const line = document.createElement('div');
  line.textContent = text;
  line.style.color = colour;
  return line;
}

function formatChange(change: Record<string, unknown>): string {
  return Object.entries(change)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}
