/** Tasks by size and intensity: which belong on a GPU, which on the CPU, and the border between them. */
import { useId, useState } from 'react';
import { Map as Icon } from 'lucide-react';
import { useRace } from '@/live/store';
import type { Pictures } from '@/live/messages';
import { figure, known } from '@/look/format';
import { Empty, Select } from '@/look/parts';
import { useTheme, type Theme } from '@/look/theme';
import { Tile } from '@/look/Tile';
import { useHold } from '@/look/useHold';
import { useSize } from '@/look/useSize';
import { css, inkOn, linearAxis, logTicks, mixed, rgb, scaleOf, short, textSize, useRoving, type Range, type Rgb } from './draw';
import { Hatch, Ramp, Tip } from './drawParts';
import { border, cellWords, LAYERS, mapWords, reach, type Cells, type Layer, type LayerName } from './heatCells';

const STOPS: Record<Theme, Rgb[]> = {
  dark: [rgb('#f06fa8'), rgb('#38415a'), rgb('#5a9bff')],
  light: [rgb('#b01e68'), rgb('#e3e8f0'), rgb('#1d5fd6')],
};

export function HeatMap() {
  const [held, hold] = useHold();
  const [name, setName] = useState<LayerName>('speedup');
  const theme = useTheme((state) => state.theme);
  const pictures = useRace((race) => race.pictures, 'slow', held);
  const cells = pictures?.[name];
  return (
    <Tile
      title="Where the GPU wins"
      icon={<Icon size={15} />}
      subtitle={LAYERS[name].about}
      actions={
        <Select aria-label="Show" value={name} onChange={(event) => setName(event.target.value as LayerName)}>
          {Object.entries(LAYERS).map(([each, { label }]) => <option key={each} value={each}>{label}</option>)}
        </Select>
      }
    >
      {pictures && cells?.length && pictures.tasks > 0 ? (
        <div className="flex h-full flex-col" {...hold}>
          <Map pictures={pictures} cells={cells} layer={LAYERS[name]} theme={theme} />
          <p className="flex shrink-0 flex-wrap items-center justify-between gap-x-3 text-xs text-quiet">
            <span className="inline-flex items-center gap-1.5"><span className="w-4 border-t-2 border-ink" aria-hidden="true" />even</span>
            <span>task size{pictures.log_sizes ? ' (log)' : ''}</span>
            <LayerRamp name={name} cells={cells} theme={theme} />
          </p>
        </div>
      ) : (
        <Empty title="No tasks yet" />
      )}
    </Tile>
  );
}

function LayerRamp({ name, cells, theme }: { name: LayerName; cells: Cells; theme: Theme }) {
  const { even } = LAYERS[name];
  const end = (side: -1 | 1) => (name === 'speedup' ? ` ×${short(figure(2 ** reach(cells, even, side)))}` : '');
  return <Ramp from={`CPU${end(-1)}`} to={`GPU${end(1)}`} stops={STOPS[theme]} />;
}

interface MapProps {
  pictures: Pictures;
  cells: Cells;
  layer: Layer;
  theme: Theme;
}

function Map({ pictures, cells, layer, theme }: MapProps) {
  const [box, { width, height }] = useSize();
  const [pointed, setPointed] = useState<[number, number] | null>(null);
  const hatch = useId();
  const [columns, rows] = [cells.length, cells[0]?.length ?? 0];
  const roving = useRoving(rows, columns);
  const em = textSize();
  const [left, bottom] = [3.6 * em, 1.5 * em];
  const [wide, high] = [(width - left - 2) / columns, (height - bottom - 4) / rows];
  const paint = painter(cells, layer, STOPS[theme]);
  // The first row of the picture is the highest intensity.
  const corner = (i: number, row: number): [number, number] => [left + i * wide, 2 + row * high];
  const line = borderPath(border(cells, layer.even), rows, corner);
  const tip = pointed && cellWords(pictures, cells, layer, ...pointed);
  const leave = () => setPointed(null);
  if (width <= 80 || height <= 60) return <div ref={box} className="min-h-0 flex-1" />;
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <svg width={width} height={height} className="absolute inset-0" role="grid" aria-label={mapWords(pictures, cells, layer)} data-roving="" onMouseLeave={leave} onBlur={leave}>
        <defs><Hatch id={hatch} /></defs>
        <Axes pictures={pictures} left={left} width={width} height={height} bottom={bottom} em={em} />
        {Array.from({ length: rows }, (_, row) => (
          <g key={row} role="row">
            {cells.map((column, i) => {
              const j = rows - 1 - row;
              const { where, what } = cellWords(pictures, cells, layer, i, j);
              const point = () => setPointed([i, j]);
              return (
                <g key={i} role="gridcell" aria-label={`${where}: ${what}`} {...roving(row, i)} onFocus={point} onMouseEnter={point} className="focus-visible:outline-offset-0">
                  <HeatCell value={column[j] ?? null} paint={paint} text={layer.text} at={corner(i, row)} wide={wide} high={high} em={em} empty={`url(#${hatch})`} />
                </g>
              );
            })}
          </g>
        ))}
        <path d={line} stroke="var(--panel)" strokeWidth={4} fill="none" pointerEvents="none" />
        <path d={line} stroke="var(--ink)" strokeWidth={2} strokeLinecap="round" fill="none" pointerEvents="none" />
      </svg>
      {tip && pointed && (
        <Tip x={corner(pointed[0] + 0.5, 0)[0]} y={corner(0, rows - 1 - pointed[1] + 0.5)[1]} width={width} height={height}>
          <p className="text-quiet">{tip.where}</p>
          <p className="font-semibold">{tip.what}</p>
        </Tip>
      )}
    </div>
  );
}

function painter(cells: Cells, { even }: Layer, stops: readonly Rgb[]): (value: number) => Rgb {
  const [cpu, gpu] = [reach(cells, even, -1), reach(cells, even, 1)];
  return (value) => mixed(stops, 0.5 + (value - even) / (value < even ? cpu : gpu) / 2);
}

interface HeatCellProps {
  value: number | null;
  paint: (value: number) => Rgb;
  text: (value: number) => string;
  at: [number, number];
  wide: number;
  high: number;
  em: number;
  empty: string;
}

/** A cell shows its number where there is room for it. */
function HeatCell({ value, paint, text, at: [x, y], wide, high, em, empty }: HeatCellProps) {
  const roomy = wide >= 2.5 * em && high >= 1.3 * em;
  const colour = known(value) ? paint(value) : null;
  return (
    <>
      <rect x={x + 0.75} y={y + 0.75} width={Math.max(1, wide - 1.5)} height={Math.max(1, high - 1.5)} rx={2} fill={colour ? css(colour) : empty} />
      {roomy && colour && known(value) && <text x={x + wide / 2} y={y + high / 2 + em * 0.35} fontSize={em} textAnchor="middle" className="num" fill={inkOn(colour)}>{text(value)}</text>}
    </>
  );
}

function borderPath(edges: [number, number, number, number][], rows: number, corner: (i: number, row: number) => [number, number]): string {
  const point = (i: number, j: number) => corner(i, rows - j).map((each) => each.toFixed(1)).join(' ');
  return edges.map(([i, j, k, l]) => `M${point(i, j)}L${point(k, l)}`).join('');
}

function Axes({ pictures, left, width, height, bottom, em }: { pictures: Pictures; left: number; width: number; height: number; bottom: number; em: number }) {
  const log = pictures.log_sizes;
  const sizes: Range = [pictures.size_edges[0] ?? 0, pictures.size_edges.at(-1) ?? 1];
  const most = Math.max(2, Math.floor((width - left) / (5 * em)));
  const across = scaleOf(sizes, [left, width - 2], log);
  const ticks = (log ? logTicks(sizes, most) : linearAxis(sizes[0], sizes[1], most).ticks).filter((each) => each >= sizes[0] && each <= sizes[1]);
  const up = scaleOf([0, 1], [height - bottom - 2, 2]);
  const middle = (height - bottom) / 2;
  return (
    <g aria-hidden="true" fontSize={em} fill="var(--quiet)">
      {ticks.map((tick) => <text key={tick} x={across(tick)} y={height - 0.35 * em} textAnchor={across(tick) > width - 2 * em ? 'end' : 'middle'} className="num">{short(figure(tick))}</text>)}
      {[0, 0.5, 1].map((tick) => <text key={tick} x={left - 5} y={up(tick) + (tick === 1 ? 0.8 : tick === 0 ? 0 : 0.35) * em} textAnchor="end" className="num">{tick}</text>)}
      <text x={em} y={middle} textAnchor="middle" transform={`rotate(-90 ${em} ${middle})`}>intensity</text>
    </g>
  );
}
