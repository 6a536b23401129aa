/** What speed costs: schedulers by mean turnaround and by cost or energy, which of them are sensible choices, and where nobody can be. */
import { useState } from 'react';
import { ChartScatter } from 'lucide-react';
import { Tooltip } from '@/components/chartParts';
import { EmptyState, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { MARKER_PATHS } from '@/components/Scheduler';
import type { CertifiedWindow, SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { usePreferences } from '@/state/preferences';
import { isReference, schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatNumber, isKnown } from '@/utils/format';
import { usePauseOnHover, useSize, useRovingFocus } from '@/utils/hooks';
import { invertScale, linearAxis, logAxis, makeScale, overlapArea, smallTextSize, timeUnit, trimZeros, type Axis, type Box } from '@/utils/scale';
import { drawFront, priceAt, readFronts, type Fronts } from './certifiedFront';
import { formatWindow, MEASURES } from './ranking';

export function Pareto() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const { price, selectPrice } = usePreferences();
  const frame = useRace((race) => race.frame, 'slow', paused);
  const certified = frame?.schedulers.some((each) => each.certified) ? frame.certified_window : null;
  const points = buildPoints(frame?.schedulers ?? [], price, certified !== null);
  return (
    <Tile
      title={`${PRICES[price]} against time`}
      icon={<ChartScatter size={15} />}
      subtitle={`per task, ${certified ? formatWindow(certified) : 'last 1000 tasks'}, lower left is better`}
      actions={
        <Select aria-label="Against time" value={price} onChange={(event) => selectPrice(event.target.value as Price)}>
          {Object.entries(PRICES).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
        </Select>
      }
    >
      {frame && points.length ? (
        <div className="flex h-full flex-col" {...pauseHandlers}>
          <Scatter points={points} price={price} fronts={certified && readFronts(certified, price)} measured={frame.measured} />
          <p className="shrink-0 text-xs text-quiet">{describeProof(frame.schedulers, certified)}</p>
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

function Scatter({ points, price, fronts, measured }: { points: Point[]; price: Price; fronts: Fronts | null; measured: boolean }) {
  const [box, { width, height }] = useSize();
  const [pointed, setPointed] = useState<string | null>(null);
  const roving = useRovingFocus(1, points.length);
  const em = smallTextSize();
  const area = { left: 5.4 * em, right: width - 8, top: 6, bottom: height - 1.7 * em };
  const limits = Object.values(fronts ?? {});
  const across = chooseAxis([...points.map((each) => each.time), ...limits.flatMap((front) => front.at(-1)?.time ?? [])], Math.floor((area.right - area.left) / (6 * em)), true);
  const cheapest = limits.map((front) => priceAt(front, across.range[1])).filter(Number.isFinite);
  const up = chooseAxis([...points.map((each) => each.price), ...cheapest], Math.max(2, Math.floor((area.bottom - area.top) / (2.6 * em))), false);
  const x = makeScale(across.range, [area.left, area.right], across.log);
  const y = makeScale(up.range, [area.bottom, area.top], up.log);
  if (width <= 80 || height <= 60) return <div ref={box} className="min-h-0 flex-1" />;
  const at = points.map((each) => ({ x: x(each.time), y: y(each.price), width: (schedulerStyle(each.name).label.length * 0.62 + 1.2) * em }));
  const boxes = placeLabels(at, 1.2 * em, { x: area.left, y: 0, width: area.right - area.left + 6, height: area.bottom });
  const tip = points.find((each) => each.name === pointed);
  const leave = () => setPointed(null);
  return (
    <>
      <div ref={box} className="relative min-h-0 flex-1">
        <svg width={width} height={height} className="absolute inset-0" fontSize={em}>
          <g role="img" aria-label={`${describeFront(points, price)}${fronts ? `. ${describeFronts(fronts, price)}` : ''}`}>
            <Axes across={across} up={up} x={x} y={y} area={area} price={price} em={em} />
            {fronts && <CertifiedFronts fronts={fronts} drawing={{ x, y, timeAt: invertScale(across.range, [area.left, area.right], across.log), area }} />}
            <path d={stepPath(paretoFront(points).map((each) => ({ x: x(each.time), y: y(each.price) })), area.right, area.top)} fill="none" stroke="var(--good)" strokeWidth={1.75} strokeDasharray="6 3" />
          </g>
          <g data-roving="" onMouseLeave={leave} onBlur={leave}>
            {points.map((each, i) => (
              <g key={each.name} role="img" aria-label={describePoint(each, price)} {...roving(0, i)} onFocus={() => setPointed(each.name)} onMouseEnter={() => setPointed(each.name)}>
                <Mark point={each} x={at[i]!.x} y={at[i]!.y} />
                <Label name={each.name} box={boxes[i]!} em={em} />
              </g>
            ))}
          </g>
        </svg>
        {tip && (
          <Tooltip x={x(tip.time)} y={y(tip.price)} width={width} height={height}>
            <p className="font-semibold">{schedulerStyle(tip.name).label}</p>
            <p className="num">{formatAxisValue('turnaround', tip.time)} · {formatAxisValue(price, tip.price)}</p>
            {isKnown(tip.overBound) && <p>{formatNumber(tip.overBound)} × the least turnaround {tip.splits ? 'of any schedule; it splits tasks' : 'of whole tasks'}</p>}
            <p className={tip.dominatedBy.length ? 'text-warn' : 'text-good'}>{describeDominance(tip)}</p>
            {tip.saturated && <p className="text-warn">saturated: its backlog grows</p>}
          </Tooltip>
        )}
      </div>
      <p className="flex shrink-0 flex-wrap items-center justify-between gap-x-3 text-xs text-quiet">
        <span className="inline-flex items-center gap-1.5"><span className="w-5 border-t-2 border-dashed border-good" aria-hidden="true" />Pareto front</span>
        {fronts && <FrontLegend measured={measured} />}
        <span>mean turnaround{across.log ? ' (log)' : ''}{up.log ? `, ${price} (log)` : ''}</span>
        <span title="Another is at least as good in both and better in one">hollow: dominated</span>
      </p>
    </>
  );
}

/** Nobody stands on the darker ground; on the lighter one only who splits tasks. */
function CertifiedFronts({ fronts, drawing }: { fronts: Fronts; drawing: Parameters<typeof drawFront>[1] }) {
  const [whole, all] = [drawFront(fronts.whole, drawing), drawFront(fronts.all, drawing)];
  return (
    <g data-testid="certified-fronts" fill="none">
      {whole && <path d={whole.ground} fill="var(--bad)" fillOpacity={0.07} />}
      {all && <path d={all.ground} fill="var(--bad)" fillOpacity={0.13} />}
      {all && <path d={all.line} stroke="var(--quiet)" strokeWidth={1.25} strokeDasharray="2 3" />}
      {whole && <path d={whole.line} stroke="var(--ink)" strokeWidth={2} />}
    </g>
  );
}

function FrontLegend({ measured }: { measured: boolean }) {
  const proof = measured ? 'for the measured times, which vary: a yardstick and no proof' : 'proved for the tasks of the window';
  return (
    <>
      <span className="inline-flex items-center gap-1.5" title={`No schedule that splits no task is below this line: ${proof}`}><span className="w-5 border-t-2 border-ink" aria-hidden="true" />{measured ? 'limit' : 'nobody below'}</span>
      <span className="inline-flex items-center gap-1.5" title={`No schedule at all is below this line: ${proof}`}><span className="w-5 border-t border-dotted border-quiet" aria-hidden="true" />even with splits</span>
    </>
  );
}

/** Dominated points are hollow, so that it does not take the line to see it. */
function Mark({ point, x, y }: { point: Point; x: number; y: number }) {
  const theme = useTheme((state) => state.theme);
  const { marker, colour } = schedulerStyle(point.name);
  return (
    <g transform={`translate(${x} ${y})`}>
      <circle r={12} fill="transparent" />
      {point.dominatedBy.length ? (
        <path d={MARKER_PATHS[marker]} transform="scale(7)" fill="none" stroke={colour[theme]} strokeWidth={0.28} strokeLinejoin="round" />
      ) : (
        <path d={MARKER_PATHS[marker]} transform="scale(7.5)" fill={colour[theme]} fillRule="evenodd" stroke="var(--panel)" strokeWidth={0.15} />
      )}
    </g>
  );
}

/** The name with its shape again: where points lie on each other, only this tells which is which. */
function Label({ name, box, em }: { name: string; box: Box; em: number }) {
  const theme = useTheme((state) => state.theme);
  const { label, marker, colour } = schedulerStyle(name);
  return (
    <g>
      <path d={MARKER_PATHS[marker]} transform={`translate(${box.x + 0.45 * em} ${box.y + box.height / 2}) scale(${0.4 * em})`} fill={colour[theme]} fillRule="evenodd" />
      <text x={box.x + 1.1 * em} y={box.y + 0.95 * em} fontWeight={600} fill="var(--ink)" stroke="var(--panel)" strokeWidth={3} paintOrder="stroke">{label}</text>
    </g>
  );
}

interface AxesProps {
  across: Axis;
  up: Axis;
  x: (value: number) => number;
  y: (value: number) => number;
  area: { left: number; right: number; top: number; bottom: number };
  price: Price;
  em: number;
}

function Axes({ across, up, x, y, area, price, em }: AxesProps) {
  return (
    <g fill="var(--quiet)">
      {up.ticks.map((tick) => (
        <g key={tick}>
          <line x1={area.left} x2={area.right} y1={y(tick)} y2={y(tick)} stroke="var(--grid)" />
          <text x={area.left - 6} y={y(tick) + (y(tick) < em ? 0.8 : 0.35) * em} textAnchor="end" className="num">{trimZeros(formatAxisValue(price, tick))}</text>
        </g>
      ))}
      {across.ticks.map((tick) => (
        <g key={tick}>
          <line x1={x(tick)} x2={x(tick)} y1={area.top} y2={area.bottom} stroke="var(--grid)" />
          <text x={x(tick)} y={area.bottom + 1.2 * em} textAnchor={x(tick) > area.right - 1.5 * em ? 'end' : 'middle'} className="num">{trimZeros(formatAxisValue('turnaround', tick))}</text>
        </g>
      ))}
    </g>
  );
}

/** Beyond this ratio small values would lie on each other. */
const LINEAR_UP_TO = 8;
/** Who is dominated by whom, and where points, labels and the front are drawn. */
const PRICES = { cost: 'Cost', energy: 'Energy' } as const;
export type Price = keyof typeof PRICES;

export interface Point {
  name: string;
  time: number;
  price: number;
  saturated: boolean;
  /** Whether it split some of the tasks: only the front of all schedules holds for it. */
  splits: boolean;
  overBound: number | null;
  /** Who is at least as good in both and better in one; empty: it lies on the front. */
  dominatedBy: string[];
}

/** Who has figures, of the certified window or of the last tasks. The oracle is a reference: it dominates nobody, because nobody can use it instead. */
export function buildPoints(schedulers: readonly SchedulerFigures[], price: Price, certified = false): Point[] {
  const bare = schedulers.flatMap((each) => {
    const figures = certified ? each.certified : each.window;
    const [time, paid] = [figures?.mean_turnaround, figures?.[price]];
    const rest = { saturated: each.saturated, splits: certified && (each.certified?.splits ?? false), overBound: certified ? each.turnaround_over_bound : null };
    return isKnown(time) && isKnown(paid) && time > 0 && paid > 0 ? [{ name: each.name, time, price: paid, ...rest }] : [];
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

function formatAxisValue(measure: 'turnaround' | Price, value: number): string {
  const { number, unit } = MEASURES[measure].format(value);
  return `${number} ${unit}`;
}

/** Where a point stands, in words. */
function describeDominance(point: Point): string {
  if (isReference(point.name)) return 'a reference, not a choice';
  return point.dominatedBy.length ? `dominated by ${labelList(point.dominatedBy)}` : 'on the Pareto front';
}

const describePoint = (point: Point, price: Price): string =>
  `${schedulerStyle(point.name).label}: ${formatAxisValue('turnaround', point.time)}, ${formatAxisValue(price, point.price)}, ${describeDominance(point)}${point.saturated ? ', saturated' : ''}`;

export function describeFront(points: readonly Point[], price: Price): string {
  const beaten = points.filter((each) => each.dominatedBy.length).map((each) => each.name);
  const rest = beaten.length ? `dominated: ${labelList(beaten)}` : 'nobody is dominated';
  return `${PRICES[price]} against mean turnaround per task. On the Pareto front: ${labelList(paretoFront(points).map((each) => each.name)) || 'nobody'}; ${rest}`;
}

/** What is proved, in words. */
function describeFronts({ whole, all }: Fronts, price: Price): string {
  const limits = (front: Fronts['whole']) => `${formatAxisValue('turnaround', front.at(-1)?.time ?? NaN)} and ${formatAxisValue(price, front[0]?.price ?? NaN)} a task`;
  return `Nobody can need less than ${limits(whole)} without splitting tasks, or ${limits(all)} at all`;
}

/** What the picture is about where that is not plain: no front yet, or somebody who cannot be held against it. */
export function describeProof(schedulers: readonly SchedulerFigures[], window: CertifiedWindow | null): string {
  if (!window) return 'Where nobody can be is proved soon after the first 100 tasks.';
  const left = schedulers.filter((each) => !each.certified).map((each) => each.name);
  return left.length ? `Not shown, because they joined later or rejected a task of the window: ${labelList(left)}.` : '';
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
