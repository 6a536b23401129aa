/** What speed costs: schedulers by mean turnaround and by cost or energy, and which of them are sensible choices. */
import { useState } from 'react';
import { ChartScatter } from 'lucide-react';
import { useRace } from '@/live/store';
import { EmptyState, Select } from '@/look/parts';
import { schedulerStyle } from '@/look/schedulers';
import { MARKER_PATHS } from '@/look/Shape';
import { useTheme } from '@/look/theme';
import { Tile } from '@/look/Tile';
import { usePauseOnHover } from '@/look/useHold';
import { useSize } from '@/look/useSize';
import { makeScale, trimZeros, smallTextSize, useRovingFocus, type Axis, type Box } from './draw';
import { Tooltip } from './drawParts';
import { chooseAxis, paretoFront, describeFront, placeLabels, buildPoints, describePoint, PRICES, describeDominance, stepPath, formatAxisValue, type Point, type Price } from './paretoFront';

export function Pareto() {
  const [held, hold] = usePauseOnHover();
  const [price, setPrice] = useState<Price>('cost');
  const schedulers = useRace((race) => race.frame?.schedulers ?? [], 'slow', held);
  const points = buildPoints(schedulers, price);
  return (
    <Tile
      title={`${PRICES[price]} against time`}
      icon={<ChartScatter size={15} />}
      subtitle="per task, lower left is better"
      actions={
        <Select aria-label="Against time" value={price} onChange={(event) => setPrice(event.target.value as Price)}>
          {Object.entries(PRICES).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
        </Select>
      }
    >
      {points.length ? <div className="flex h-full flex-col" {...hold}><Scatter points={points} price={price} /></div> : <EmptyState title="No tasks yet" />}
    </Tile>
  );
}

function Scatter({ points, price }: { points: Point[]; price: Price }) {
  const [box, { width, height }] = useSize();
  const [pointed, setPointed] = useState<string | null>(null);
  const roving = useRovingFocus(1, points.length);
  const em = smallTextSize();
  const area = { left: 5.4 * em, right: width - 8, top: 6, bottom: height - 1.7 * em };
  const across = chooseAxis(points.map((each) => each.time), Math.floor((area.right - area.left) / (6 * em)), true);
  const up = chooseAxis(points.map((each) => each.price), Math.max(2, Math.floor((area.bottom - area.top) / (2.6 * em))), false);
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
          <g role="img" aria-label={describeFront(points, price)}>
            <Axes across={across} up={up} x={x} y={y} area={area} price={price} em={em} />
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
            <p className={tip.dominatedBy.length ? 'text-warn' : 'text-good'}>{describeDominance(tip)}</p>
            {tip.saturated && <p className="text-warn">saturated: its backlog grows</p>}
          </Tooltip>
        )}
      </div>
      <p className="flex shrink-0 flex-wrap items-center justify-between gap-x-3 text-xs text-quiet">
        <span className="inline-flex items-center gap-1.5"><span className="w-5 border-t-2 border-dashed border-good" aria-hidden="true" />Pareto front</span>
        <span>mean turnaround{across.log ? ' (log)' : ''}{up.log ? `, ${price} (log)` : ''}</span>
        <span title="Another is at least as good in both and better in one">hollow: dominated</span>
      </p>
    </>
  );
}

/** Dominated points are hollow, so that it does not take the line to see it. */
function Mark({ point, x, y }: { point: Point; x: number; y: number }) {
  const theme = useTheme((state) => state.theme);
  const { shape, colour } = schedulerStyle(point.name);
  return (
    <g transform={`translate(${x} ${y})`}>
      <circle r={12} fill="transparent" />
      {point.dominatedBy.length ? (
        <path d={MARKER_PATHS[shape]} transform="scale(7)" fill="none" stroke={colour[theme]} strokeWidth={0.28} strokeLinejoin="round" />
      ) : (
        <path d={MARKER_PATHS[shape]} transform="scale(7.5)" fill={colour[theme]} fillRule="evenodd" stroke="var(--panel)" strokeWidth={0.15} />
      )}
    </g>
  );
}

/** The name with its shape again: where points lie on each other, only this tells which is which. */
function Label({ name, box, em }: { name: string; box: Box; em: number }) {
  const theme = useTheme((state) => state.theme);
  const { label, shape, colour } = schedulerStyle(name);
  return (
    <g>
      <path d={MARKER_PATHS[shape]} transform={`translate(${box.x + 0.45 * em} ${box.y + box.height / 2}) scale(${0.4 * em})`} fill={colour[theme]} fillRule="evenodd" />
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
