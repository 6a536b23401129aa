/** Means as dots, 95 % intervals as whiskers, one row each; where there is a bound, it is the line that nobody crosses. */
import { useId } from 'react';
import { MARKER_PATHS } from '@/components/Scheduler';
import { axisScale, timeTicks } from '@/pages/axisScale';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme, type Theme } from '@/theme/theme';
import { isKnown } from '@/utils/format';
import { useSize } from '@/utils/hooks';
import { formatInterval, formatMeasure, toQuantity, type Estimate } from './measures';

export interface IntervalRow {
  scheduler: string;
  /** Which run, where there are several; null: there is only one. */
  run: string | null;
  estimate: Estimate | undefined;
}

interface IntervalPlotProps {
  rows: IntervalRow[];
  unit: string;
  label: string;
  /** The value that nobody can get below. */
  bound?: number | null;
}

const ROW_HEIGHT = 26;
const TOP = 20;
const AXIS_HEIGHT = 26;

export function IntervalPlot({ rows, unit, label, bound = null }: IntervalPlotProps) {
  const [ref, size] = useSize();
  const width = size.width || 640;
  const narrow = width < 520;
  const shown = rows.filter((row) => isKnown(row.estimate?.mean));
  const scale = axisScale(shown.flatMap(rowValues), bound, narrow ? 4 : 6);
  const place = rowOffsets(shown);
  const body = (place.at(-1) ?? 0) + ROW_HEIGHT;
  const [left, right] = [narrow ? 64 : 130, width - (narrow ? 62 : 92)];
  const x = (value: number) => left + scale.at(value) * (right - left);
  return (
    <div ref={ref} className="w-full">
      <svg width={width} height={TOP + body + AXIS_HEIGHT} role="img" aria-label={describePlot(label, shown, unit)} className="block max-w-full">
        <Axis ticks={unit === 's' ? timeTicks(scale, narrow ? 4 : 6) : scale.ticks} x={x} top={TOP} bottom={TOP + body} unit={unit} />
        {bound !== null && <Bound x={x(bound)} left={left} top={TOP} bottom={TOP + body} />}
        {shown.map((row, i) => (
          <PlotRow key={`${row.scheduler} ${row.run}`} row={row} unit={unit} y={TOP + place[i]! + ROW_HEIGHT / 2} x={x} right={right} narrow={narrow} left={left} first={shown[i - 1]?.scheduler !== row.scheduler} />
        ))}
        {scale.log && <text x={right} y={12} textAnchor="end" fontSize="0.73rem" fill="var(--quiet)">log axis</text>}
      </svg>
    </div>
  );
}

/** Where each row begins; a gap parts one scheduler from the next where a scheduler has several rows. */
function rowOffsets(rows: IntervalRow[]): number[] {
  let y = 0;
  return rows.map((row, i) => {
    if (i > 0) y += ROW_HEIGHT;
    if (i > 0 && row.run !== null && rows[i - 1]!.scheduler !== row.scheduler) y += 8;
    return y;
  });
}

function rowValues({ estimate }: IntervalRow): number[] {
  return [estimate?.mean, estimate?.low, estimate?.high].filter(isKnown);
}

function describePlot(label: string, rows: IntervalRow[], unit: string): string {
  const each = rows.map((row) => `${schedulerStyle(row.scheduler).label}${row.run ? ` in ${row.run}` : ''} ${formatMeasure(row.estimate?.mean, unit)}`);
  return `${label}: ${each.join(', ')}`;
}

function Axis({ ticks, x, top, bottom, unit }: { ticks: number[]; x: (value: number) => number; top: number; bottom: number; unit: string }) {
  return (
    <g aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={x(tick)} x2={x(tick)} y1={top} y2={bottom} stroke="var(--grid)" />
          <text x={x(tick)} y={bottom + 16} textAnchor="middle" fontSize="0.73rem" fill="var(--quiet)" className="num">{formatTick(tick, unit)}</text>
        </g>
      ))}
    </g>
  );
}

/** A tick without digits that say nothing: 1 s rather than 1.00 s. */
function formatTick(value: number, unit: string): string {
  const { number, unit: written } = toQuantity(value, unit);
  const short = number.includes('.') ? number.replace(/\.?0+$/, '') : number;
  return written && written !== '×' ? `${short} ${written}` : short;
}

function Bound({ x, left, top, bottom }: { x: number; left: number; top: number; bottom: number }) {
  const id = useId();
  return (
    <g aria-hidden="true">
      <pattern id={id} width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line x1={0} x2={0} y1={0} y2={6} stroke="var(--edge-strong)" strokeWidth={2} />
      </pattern>
      <rect x={left} y={top} width={Math.max(0, x - left)} height={bottom - top} fill={`url(#${id})`} opacity={0.6} />
      <line x1={x} x2={x} y1={top - 4} y2={bottom} stroke="var(--ink)" strokeWidth={2} />
      <text x={x + 4} y={12} fontSize="0.73rem" fill="var(--ink)">certified bound, 1.0: nobody crosses it</text>
    </g>
  );
}

interface PlotRowProps {
  row: IntervalRow;
  unit: string;
  y: number;
  x: (value: number) => number;
  left: number;
  right: number;
  narrow: boolean;
  first: boolean;
}

function PlotRow({ row, unit, y, x, left, right, narrow, first }: PlotRowProps) {
  const theme = useTheme((state) => state.theme);
  const { label, short } = schedulerStyle(row.scheduler);
  const { mean, low, high } = row.estimate!;
  return (
    <g>
      <title>{`${label}${row.run ? `, run ${row.run}` : ''}: ${formatMeasure(mean, unit)}, 95 % ${formatInterval(low, high, unit)}`}</title>
      <rect x={0} y={y - ROW_HEIGHT / 2} width={right + 62} height={ROW_HEIGHT} fill="transparent" />
      {first && <text x={0} y={y + 4} fontSize="0.87rem" fill="var(--ink)">{narrow ? short : label}</text>}
      {row.run && <text x={left - 12} y={y + 4} fontSize="0.8rem" fontWeight={600} textAnchor="end" fill="var(--quiet)" className="num">{row.run}</text>}
      <IntervalMarker scheduler={row.scheduler} theme={theme} x={x(mean!)} y={y} low={isKnown(low) ? x(low) : null} high={isKnown(high) ? x(high) : null} hollow={row.run !== null && row.run !== 'A'} />
      <text x={right + 8} y={y + 4} fontSize="0.8rem" fill="var(--ink)" className="num">{formatMeasure(mean, unit)}</text>
    </g>
  );
}

function IntervalMarker({ scheduler, theme, x, y, low, high, hollow }: { scheduler: string; theme: Theme; x: number; y: number; low: number | null; high: number | null; hollow: boolean }) {
  const { marker, colour } = schedulerStyle(scheduler);
  const paint = colour[theme];
  return (
    <>
      {low !== null && high !== null && (
        <path d={`M${low} ${y}H${high}M${low} ${y - 5}v10M${high} ${y - 5}v10`} stroke={paint} strokeWidth={2} fill="none" />
      )}
      <path d={MARKER_PATHS[marker]} transform={`translate(${x} ${y}) scale(6.5)`} fill={hollow ? 'var(--panel)' : paint} fillRule="evenodd" stroke={hollow ? paint : 'var(--panel)'} strokeWidth={hollow ? 0.3 : 0.15} />
    </>
  );
}
