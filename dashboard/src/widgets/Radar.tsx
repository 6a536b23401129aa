/** The chosen scheduler against the oracle in time, energy and cost: the smaller its triangle, the better. */
import { useState } from 'react';
import { AlertTriangle, Radar as Icon } from 'lucide-react';
import { Chip, EmptyState, ToggleButton } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { SchedulerMarker, SchedulerSelect } from '@/components/Scheduler';
import type { SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { isReference, schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatNumber, isKnown } from '@/utils/format';
import { usePauseOnHover, useSize } from '@/utils/hooks';
import { keepPositive, smallTextSize, trimZeros } from '@/utils/scale';
import { MEASURES, type Measure } from './ranking';

export function Radar() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const [execution, setExecution] = useState(false);
  const wanted = usePreferences((state) => state.scheduler);
  const schedulers = useRace((race) => race.frame?.schedulers ?? [], 'slow', paused);
  const name = resolveScheduler(wanted, schedulers.map((each) => each.name));
  const found = compareToReference(schedulers, name, [execution ? 'execution' : 'turnaround', 'energy', 'cost']);
  const saturated = schedulers.some((each) => each.name === name && each.saturated);
  return (
    <Tile
      title="Trade-off"
      icon={<Icon size={15} />}
      subtitle={`against ${found?.against ?? 'the oracle'}, smaller is better`}
      actions={
        <>
          <ToggleButton on={execution} set={setExecution} title="Time on the device, without waiting for it">Execution time</ToggleButton>
          <SchedulerSelect />
        </>
      }
    >
      {found ? (
        <div className="relative h-full" {...pauseHandlers}>
          <Triangle name={name} {...found} />
          <Legend name={name} against={found.against} log={radarScale(found.corners).log} saturated={saturated} />
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

function Legend({ name, against, log, saturated }: { name: string; against: string; log: boolean; saturated: boolean }) {
  return (
    <ul className="absolute top-0 left-0 space-y-1 text-xs">
      <li className="flex items-center gap-1.5"><SchedulerMarker name={name} /> {schedulerStyle(name).label}</li>
      <li className="flex items-center gap-1.5"><span className="w-3 border-t-2 border-dotted border-ink" aria-hidden="true" /> {against}, ×1</li>
      {log && <li><Chip title="Beyond ×1 each ring is ten times the one before, because a ratio is very large">log beyond ×1</Chip></li>}
      {saturated && <li><Chip tone="warn" title="Its backlog keeps growing, and its turnaround with it"><AlertTriangle size={11} aria-hidden="true" /> saturated</Chip></li>}
    </ul>
  );
}

const SIN = Math.sin(Math.PI / 3);
/** Time above, energy to the right, cost to the left. */
const DIRECTIONS = [[0, -1], [SIN, 0.5], [-SIN, 0.5]] as const;
function Triangle({ name, corners, against }: { name: string; corners: Corner[]; against: string }) {
  const [box, { width, height }] = useSize();
  const theme = useTheme((state) => state.theme);
  const em = smallTextSize();
  const { rings, at } = radarScale(corners);
  // A triangle around its centre reaches 1 up and half down; below it stand two lines of text, above it two more.
  const radius = Math.max(10, Math.min((height - 5.4 * em) / 1.5, (width - 2 * em) / 2 / SIN));
  const [x, y] = [width / 2, 2.6 * em + radius];
  const place = (corner: number, share: number): [number, number] => [x + DIRECTIONS[corner]![0] * share * radius, y + DIRECTIONS[corner]![1] * share * radius];
  const outline = (shares: number[]) => `M${shares.map((share, i) => place(i, share).map((each) => each.toFixed(1)).join(' ')).join('L')}Z`;
  const colour = schedulerStyle(name).colour[theme];
  const same = (share: number) => outline([share, share, share]);
  return (
    <div ref={box} className="h-full w-full">
      {width > 60 && height > 60 && (
        <svg width={width} height={height} className="absolute inset-0" role="img" aria-label={describeRadar(name, corners, against)}>
          {rings.map((ring) => <path key={ring} d={same(at(ring))} fill="none" stroke="var(--edge-strong)" strokeDasharray="4 4" opacity={0.75} />)}
          {corners.map((corner, i) => <line key={corner.measure} x1={x} y1={y} x2={place(i, 1)[0]} y2={place(i, 1)[1]} stroke="var(--edge)" />)}
          <path d={outline(corners.map((corner) => at(corner.ratio)))} fill={colour} fillOpacity={0.3} stroke={colour} strokeWidth={2} strokeLinejoin="round" />
          <path d={same(at(1))} fill="none" stroke="var(--ink)" strokeWidth={2} strokeDasharray="1.5 4" strokeLinecap="round" />
          <RingLabels rings={rings} place={(ring) => place(0, at(ring))} em={em} />
          {corners.map((corner, i) => <CornerDot key={corner.measure} at={place(i, at(corner.ratio))} colour={colour} />)}
          {corners.map((corner, i) => <CornerText key={corner.measure} corner={corner} at={place(i, 1)} top={i === 0} em={em} width={width} />)}
        </svg>
      )}
    </div>
  );
}

function RingLabels({ rings, place, em }: { rings: number[]; place: (ring: number) => [number, number]; em: number }) {
  const apart = rings.filter((ring, i) => ring === 1 || i === rings.length - 1 || Math.abs(place(ring)[1] - place(rings.at(-1)!)[1]) > 1.4 * em);
  return apart.map((ring) => {
    const [x, y] = place(ring);
    return <text key={ring} x={x + 6} y={y + 0.9 * em} fontSize={em * 0.95} className="num" fill="var(--quiet)" stroke="var(--panel)" strokeWidth={3} paintOrder="stroke">×{trimZeros(formatNumber(ring))}</text>;
  });
}

function CornerDot({ at: [x, y], colour }: { at: [number, number]; colour: string }) {
  return <circle cx={x} cy={y} r={3.5} fill={colour} stroke="var(--panel)" strokeWidth={1.5} />;
}

/** The name of a corner and its value, kept inside the picture. */
function CornerText({ corner, at: [x, y], top, em, width }: { corner: Corner; at: [number, number]; top: boolean; em: number; width: number }) {
  const half = 5.4 * em;
  const middle = top ? x : Math.min(width - half, Math.max(half, x));
  const first = top ? y - 1.5 * em : y + 1.2 * em;
  return (
    <g textAnchor="middle" fontSize={em}>
      <text x={middle} y={first} fontWeight={600} fill="var(--ink)">{CORNER_NAMES[corner.measure]}</text>
      <text x={middle} y={first + 1.2 * em} className="num" fill="var(--ink)">{formatAmount(corner)} · {formatFactor(corner.ratio)}</text>
    </g>
  );
}

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

const CORNER_NAMES: Record<Measure, string> = { turnaround: 'Turnaround', execution: 'Execution', makespan: 'Makespan', turnaroundOverBound: 'Turnaround / bound', energy: 'Energy', cost: 'Cost' };

export const formatAmount = (corner: Corner): string => {
  const { number, unit } = MEASURES[corner.measure].format(corner.value);
  return `${number} ${unit}`;
};
const formatFactor = (ratio: number): string => `×${formatNumber(ratio)}`;

/** What the picture says, for who does not see it. */
function describeRadar(name: string, corners: readonly Corner[], against: string): string {
  const parts = corners.map((corner) => `${CORNER_NAMES[corner.measure].toLowerCase()} ${formatAmount(corner)} (${formatFactor(corner.ratio)})`);
  return `${schedulerStyle(name).label} per task against ${against}: ${parts.join(', ')}; below ×1 is better`;
}
