/** For every turnaround the share of tasks that were done by then, for every scheduler: the further left, the better. */
import { useState, type KeyboardEvent, type PointerEvent } from 'react';
import { ChartSpline } from 'lucide-react';
import { Tooltip } from '@/components/chartParts';
import { EmptyState } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { SchedulerMarker } from '@/components/Scheduler';
import type { SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatPercent, formatSeconds, isKnown } from '@/utils/format';
import { usePauseOnHover, useSize } from '@/utils/hooks';
import { invertScale, keepPositive, logAxis, makeScale, smallTextSize, trimZeros, type Axis } from '@/utils/scale';

interface CursorPosition {
  share: number;
  /** null: moved by keys, which go along the shares. */
  time: number | null;
}

export function LatencyCdf() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [pointed, setPointed] = useState<CursorPosition | null>(null);
  const schedulers = useRace((race) => race.frame?.schedulers ?? [], 'read', paused);
  const curves = buildCurves(schedulers);
  const visible = curves.filter((curve) => !hidden.has(curve.name));
  const tasks = Math.max(0, ...schedulers.map((each) => each.window.tasks));
  const toggle = (name: string) => setHidden(new Set(hidden.has(name) ? [...hidden].filter((each) => each !== name) : [...hidden, name]));
  return (
    <Tile title="Latency" icon={<ChartSpline size={15} />} subtitle={`share of the last ${tasks} tasks done within a time, log axis`}>
      {curves.length ? (
        <div className="@container h-full" {...pauseHandlers}>
          <div className="flex h-full flex-col gap-x-3 gap-y-1 @md:flex-row">
            <div className="min-h-0 min-w-0 flex-1">
              {visible.length ? <Curves curves={visible} pointed={pointed} point={setPointed} /> : <EmptyState title="All are switched off">Switch one on in the legend.</EmptyState>}
            </div>
            <Legend curves={curves} hidden={hidden} toggle={toggle} share={pointed?.share ?? TAIL} />
          </div>
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

interface LegendProps {
  curves: Curve[];
  hidden: ReadonlySet<string>;
  toggle: (name: string) => void;
  share: number;
}

function Legend({ curves, hidden, toggle, share }: LegendProps) {
  const theme = useTheme((state) => state.theme);
  return (
    <div className="shrink-0 overflow-y-auto text-xs @md:w-[13.2rem]">
      <p className="num pr-1.5 text-right font-semibold text-warn">{formatPercentile(share)}</p>
      <ul className="grid grid-cols-2 gap-x-2 @md:grid-cols-1">
        {curves.map(({ name, values }) => {
          const { label, colour, dash } = schedulerStyle(name);
          return (
            <li key={name}>
              <button
                type="button"
                aria-pressed={!hidden.has(name)}
                title={hidden.has(name) ? `Show ${label}` : `Hide ${label}`}
                onClick={() => toggle(name)}
                className="flex min-h-6 w-full items-center gap-1.5 rounded px-1.5 py-0.5 text-left hover:bg-raised aria-[pressed=false]:text-quiet aria-[pressed=false]:line-through"
              >
                <svg width={20} height={4} aria-hidden="true" className="shrink-0">
                  {!hidden.has(name) && <line x1={0} x2={20} y1={2} y2={2} stroke={colour[theme]} strokeWidth={2} strokeDasharray={dash.join(' ')} />}
                </svg>
                <SchedulerMarker name={name} />
                <span className="flex-1 truncate">{label}</span>
                <span className="num whitespace-nowrap">{formatSeconds(timeAt(values, share))}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Curves({ curves, pointed, point }: { curves: Curve[]; pointed: CursorPosition | null; point: (pointed: CursorPosition | null) => void }) {
  const [box, { width, height }] = useSize();
  const theme = useTheme((state) => state.theme);
  const em = smallTextSize();
  const area = { left: 3.4 * em, right: width - 6, top: 6, bottom: height - 2 * em };
  const axis = timeAxis(curves, Math.floor((area.right - area.left) / (5 * em)));
  const x = makeScale(axis.range, [area.left, area.right], true);
  const y = makeScale([0, 1], [area.bottom, area.top]);
  if (width <= 80 || height <= 60) return <div ref={box} className="h-full" />;
  const path = (values: number[]) => values.map((value, i) => `${i ? 'L' : 'M'}${x(value).toFixed(1)} ${y(i / (values.length - 1)).toFixed(1)}`).join('');
  const share = pointed?.share ?? TAIL;
  return (
    <div ref={box} className="relative h-full">
      <svg width={width} height={height} className="absolute inset-0" role="img" aria-label={describeCdf(curves)} fontSize={em} fill="var(--quiet)">
        {[0, 0.25, 0.5, 0.75, 1].map((tick) => (
          <g key={tick}>
            <line x1={area.left} x2={area.right} y1={y(tick)} y2={y(tick)} stroke="var(--grid)" />
            {Math.abs(y(tick) - y(share)) > 1.3 * em && <text x={area.left - 6} y={y(tick) + 0.35 * em} textAnchor="end" className="num">{tick * 100}%</text>}
          </g>
        ))}
        {axis.ticks.map((tick) => (
          <g key={tick}>
            <line x1={x(tick)} x2={x(tick)} y1={area.top} y2={area.bottom} stroke="var(--grid)" />
            <text x={x(tick)} y={height - 0.4 * em} textAnchor={x(tick) > width - 2 * em ? 'end' : 'middle'} className="num">{trimZeros(formatSeconds(tick))}</text>
          </g>
        ))}
        <line x1={area.left} x2={area.right} y1={y(share)} y2={y(share)} stroke="var(--warn)" strokeDasharray="4 3" />
        <text x={area.left - 6} y={y(share) + 0.35 * em} textAnchor="end" fontWeight={600} className="num" fill="var(--warn)">{formatPercentile(share)}</text>
        {pointed?.time && <line x1={x(pointed.time)} x2={x(pointed.time)} y1={area.top} y2={area.bottom} stroke="var(--quiet)" strokeDasharray="2 3" />}
        {curves.toReversed().map(({ name, values }) => {
          const { colour, dash } = schedulerStyle(name);
          return (
            <g key={name}>
              <path d={path(values)} fill="none" stroke={colour[theme]} strokeWidth={2} strokeDasharray={dash.join(' ')} strokeLinejoin="round" />
              <circle cx={x(timeAt(values, share))} cy={y(share)} r={3} fill={colour[theme]} stroke="var(--panel)" />
            </g>
          );
        })}
      </svg>
      <CursorOverlay curves={curves} area={area} axis={axis} share={share} point={point} />
      {pointed?.time && (
        <Tooltip x={x(pointed.time)} y={y(pointed.share)} width={width} height={height}>
          <p className="text-quiet">done within {formatSeconds(pointed.time)}</p>
          {curves.map(({ name, values }) => (
            <p key={name} className="flex items-center gap-1.5"><SchedulerMarker name={name} /> <span className="flex-1 pr-3">{schedulerStyle(name).label}</span><span className="num">{formatPercent(shareWithin(values, pointed.time!), 1)}</span></p>
          ))}
        </Tooltip>
      )}
    </div>
  );
}

interface CursorOverlayProps {
  curves: Curve[];
  area: { left: number; right: number; top: number; bottom: number };
  axis: Axis;
  share: number;
  point: (pointed: CursorPosition | null) => void;
}

const KEY_STEPS: Record<string, number> = { ArrowUp: 0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowLeft: -0.05, PageUp: 0.25, PageDown: -0.25, Home: -1, End: 1 };

/** Lies over the curves: the pointer reads a time and a share, keys move the share. */
function CursorOverlay({ curves, area, axis, share, point }: CursorOverlayProps) {
  const move = (event: PointerEvent<HTMLDivElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const time = invertScale(axis.range, [0, area.right - area.left], true)(event.clientX - left);
    point({ time, share: invertScale([1, 0], [0, area.bottom - area.top])(event.clientY - top) });
  };
  const press = (event: KeyboardEvent) => {
    const step = KEY_STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    point({ time: null, share: Math.min(1, Math.max(0, Math.round((share + step) * 20) / 20)) });
  };
  const readings = curves.map((curve) => `${schedulerStyle(curve.name).label} ${formatSeconds(timeAt(curve.values, share))}`).join(', ');
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label="Percentile to read"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={`${formatPercentile(share)}: ${readings}`}
      className="absolute cursor-crosshair"
      style={{ left: area.left, top: area.top, width: area.right - area.left, height: area.bottom - area.top }}
      onPointerMove={move}
      onPointerLeave={() => point(null)}
      onBlur={() => point(null)}
      onKeyDown={press}
    />
  );
}

/** Turnaround curves: reading them in both directions, and what they say. */
const TAIL = 0.95;

interface Curve {
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

const formatPercentile = (share: number): string => `p${Math.round(share * 100)}`;

function describeCdf(curves: readonly Curve[]): string {
  const parts = curves.map((curve) => `${schedulerStyle(curve.name).label} ${formatSeconds(timeAt(curve.values, TAIL))}`);
  return `Turnaround within which 95 % of the last tasks were done: ${parts.join(', ')}`;
}

function timeAxis(curves: readonly Curve[], most: number): Axis {
  const values = keepPositive(curves.flatMap((curve) => curve.values));
  return values.length ? logAxis(Math.min(...values), Math.max(...values), Math.max(2, most), true) : logAxis(0.001, 1, most, true);
}
