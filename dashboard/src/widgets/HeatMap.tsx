/** Tasks by size and intensity: which belong on a GPU, which on the CPU, and the border between them. */
import { useId, useState } from 'react';
import { Map as Icon } from 'lucide-react';
import { ColourRamp, HatchPattern, Tooltip } from '@/components/chartParts';
import { EmptyState, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import type { Analysis } from '@/live/messages';
import { useRace } from '@/live/store';
import { useTheme, type Theme } from '@/theme/theme';
import { formatNumber, formatPercent, isKnown } from '@/utils/format';
import { usePauseOnHover, useSize, useRovingFocus } from '@/utils/hooks';
import { linearAxis, logTicks, makeScale, smallTextSize, trimZeros, type Range } from '@/utils/scale';
import { mixColours, parseHex, textColourOn, toCss, type Rgb } from '@/utils/colour';

const STOPS: Record<Theme, Rgb[]> = {
  dark: [parseHex('#f06fa8'), parseHex('#38415a'), parseHex('#5a9bff')],
  light: [parseHex('#b01e68'), parseHex('#e3e8f0'), parseHex('#1d5fd6')],
};

export function HeatMap() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const [name, setName] = useState<LayerName>('speedup');
  const theme = useTheme((state) => state.theme);
  const analysis = useRace((race) => race.analysis, 'slow', paused);
  const cells = analysis?.[name];
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
      {analysis && cells?.length && analysis.tasks > 0 ? (
        <div className="flex h-full flex-col" {...pauseHandlers}>
          <HeatMapChart analysis={analysis} cells={cells} layer={LAYERS[name]} theme={theme} />
          <p className="flex shrink-0 flex-wrap items-center justify-between gap-x-3 text-xs text-quiet">
            <span className="inline-flex items-center gap-1.5"><span className="w-4 border-t-2 border-ink" aria-hidden="true" />even</span>
            <span>task size{analysis.log_sizes ? ' (log)' : ''}</span>
            <LayerRamp name={name} cells={cells} theme={theme} />
          </p>
        </div>
      ) : (
        <EmptyState title="No tasks yet" />
      )}
    </Tile>
  );
}

function LayerRamp({ name, cells, theme }: { name: LayerName; cells: Cells; theme: Theme }) {
  const { even } = LAYERS[name];
  const end = (side: -1 | 1) => (name === 'speedup' ? ` ×${trimZeros(formatNumber(2 ** valueReach(cells, even, side)))}` : '');
  return <ColourRamp from={`CPU${end(-1)}`} to={`GPU${end(1)}`} stops={STOPS[theme]} />;
}

interface HeatMapChartProps {
  analysis: Analysis;
  cells: Cells;
  layer: Layer;
  theme: Theme;
}

function HeatMapChart({ analysis, cells, layer, theme }: HeatMapChartProps) {
  const [box, { width, height }] = useSize();
  const [pointed, setPointed] = useState<[number, number] | null>(null);
  const hatch = useId();
  const [columns, rows] = [cells.length, cells[0]?.length ?? 0];
  const roving = useRovingFocus(rows, columns);
  const em = smallTextSize();
  const [left, bottom] = [3.6 * em, 1.5 * em];
  const [wide, high] = [(width - left - 2) / columns, (height - bottom - 4) / rows];
  const paint = colourScale(cells, layer, STOPS[theme]);
  // The first row of the picture is the highest intensity.
  const corner = (i: number, row: number): [number, number] => [left + i * wide, 2 + row * high];
  const line = borderPath(findBorder(cells, layer.even), rows, corner);
  const tip = pointed && describeCell(analysis, cells, layer, ...pointed);
  const leave = () => setPointed(null);
  if (width <= 80 || height <= 60) return <div ref={box} className="min-h-0 flex-1" />;
  return (
    <div ref={box} className="relative min-h-0 flex-1">
      <svg width={width} height={height} className="absolute inset-0" role="grid" aria-label={describeMap(analysis, cells, layer)} data-roving="" onMouseLeave={leave} onBlur={leave}>
        <defs><HatchPattern id={hatch} /></defs>
        <Axes analysis={analysis} left={left} width={width} height={height} bottom={bottom} em={em} />
        {Array.from({ length: rows }, (_, row) => (
          <g key={row} role="row">
            {cells.map((column, i) => {
              const j = rows - 1 - row;
              const { where, what } = describeCell(analysis, cells, layer, i, j);
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
        <Tooltip x={corner(pointed[0] + 0.5, 0)[0]} y={corner(0, rows - 1 - pointed[1] + 0.5)[1]} width={width} height={height}>
          <p className="text-quiet">{tip.where}</p>
          <p className="font-semibold">{tip.what}</p>
        </Tooltip>
      )}
    </div>
  );
}

function colourScale(cells: Cells, { even }: Layer, stops: readonly Rgb[]): (value: number) => Rgb {
  const [cpu, gpu] = [valueReach(cells, even, -1), valueReach(cells, even, 1)];
  return (value) => mixColours(stops, 0.5 + (value - even) / (value < even ? cpu : gpu) / 2);
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
  const colour = isKnown(value) ? paint(value) : null;
  return (
    <>
      <rect x={x + 0.75} y={y + 0.75} width={Math.max(1, wide - 1.5)} height={Math.max(1, high - 1.5)} rx={2} fill={colour ? toCss(colour) : empty} />
      {roomy && colour && isKnown(value) && <text x={x + wide / 2} y={y + high / 2 + em * 0.35} fontSize={em} textAnchor="middle" className="num" fill={textColourOn(colour)}>{text(value)}</text>}
    </>
  );
}

function borderPath(edges: [number, number, number, number][], rows: number, corner: (i: number, row: number) => [number, number]): string {
  const point = (i: number, j: number) => corner(i, rows - j).map((each) => each.toFixed(1)).join(' ');
  return edges.map(([i, j, k, l]) => `M${point(i, j)}L${point(k, l)}`).join('');
}

function Axes({ analysis, left, width, height, bottom, em }: { analysis: Analysis; left: number; width: number; height: number; bottom: number; em: number }) {
  const log = analysis.log_sizes;
  const sizes: Range = [analysis.size_edges[0] ?? 0, analysis.size_edges.at(-1) ?? 1];
  const most = Math.max(2, Math.floor((width - left) / (5 * em)));
  const across = makeScale(sizes, [left, width - 2], log);
  const ticks = (log ? logTicks(sizes, most) : linearAxis(sizes[0], sizes[1], most).ticks).filter((each) => each >= sizes[0] && each <= sizes[1]);
  const up = makeScale([0, 1], [height - bottom - 2, 2]);
  const middle = (height - bottom) / 2;
  return (
    <g aria-hidden="true" fontSize={em} fill="var(--quiet)">
      {ticks.map((tick) => <text key={tick} x={across(tick)} y={height - 0.35 * em} textAnchor={across(tick) > width - 2 * em ? 'end' : 'middle'} className="num">{trimZeros(formatNumber(tick))}</text>)}
      {[0, 0.5, 1].map((tick) => <text key={tick} x={left - 5} y={up(tick) + (tick === 1 ? 0.8 : tick === 0 ? 0 : 0.35) * em} textAnchor="end" className="num">{tick}</text>)}
      <text x={em} y={middle} textAnchor="middle" transform={`rotate(-90 ${em} ${middle})`}>intensity</text>
    </g>
  );
}

type Cells = (number | null)[][];
type LayerName = 'speedup' | 'gpu_wins' | 'heatmap';

interface Layer {
  label: string;
  /** What is shown, in words. */
  about: string;
  /** The value where neither side wins. */
  even: number;
  describe: (value: number) => string;
  /** What an empty cell means. */
  none: string;
  /** Short enough for a cell. */
  text: (value: number) => string;
}

const describeSpeedup = (log2: number): string => (Math.abs(log2) < 0.005 ? 'as fast on both' : `${log2 > 0 ? 'GPU' : 'CPU'} ×${formatNumber(2 ** Math.abs(log2))} faster`);

/** What the cells of the heat map say, how far they go, and where the border between CPU and GPU runs. */
export const LAYERS: Record<LayerName, Layer> = {
  speedup: { label: 'speed-up', about: 'median speed-up of the GPU', even: 0, describe: (value) => `${describeSpeedup(value)}, median`, none: 'no tasks that both can run', text: (value) => (value <= -0.05 ? '−' : '') + Math.abs(value).toFixed(1) },
  gpu_wins: { label: 'tasks won', about: 'share of tasks faster on a GPU', even: 0.5, describe: (value) => `${formatPercent(value)} of the tasks are faster on a GPU`, none: 'no tasks', text: (value) => (value * 100).toFixed(0) },
  heatmap: { label: 'best share', about: 'best share on a GPU', even: 0.5, describe: (value) => `best with ${formatPercent(value)} on a GPU`, none: 'no tasks', text: (value) => (value * 100).toFixed(0) },
};

/** How far values go from the even one on a side: so far as shares can, in whole steps for speed-ups. Each side has its own, or the weaker would stay grey. */
export function valueReach(cells: Cells, even: number, side: -1 | 1): number {
  if (even !== 0) return even;
  const most = Math.max(0, ...cells.flat().filter(isKnown).map((value) => value * side));
  return Math.max(1, Math.ceil(most - 1e-9));
}

/** Edges between cells of which one is on the CPU's side and one on the GPU's: [column, row, column, row] in cells. */
export function findBorder(cells: Cells, even: number): [number, number, number, number][] {
  const side = (i: number, j: number) => {
    const value = cells[i]?.[j];
    return isKnown(value) ? value >= even : null;
  };
  const differs = (a: boolean | null, b: boolean | null) => a !== null && b !== null && a !== b;
  return cells.flatMap((column, i) =>
    column.flatMap((_, j) => {
      const found: [number, number, number, number][] = [];
      if (differs(side(i, j), side(i + 1, j))) found.push([i + 1, j, i + 1, j + 1]);
      if (differs(side(i, j), side(i, j + 1))) found.push([i, j + 1, i + 1, j + 1]);
      return found;
    }),
  );
}

export function describeMap(analysis: Analysis, cells: Cells, layer: Layer): string {
  const some = cells.flat().filter(isKnown);
  const gpu = some.filter((value) => value >= layer.even).length;
  return `Task size by intensity, ${layer.about}: the GPU's side has ${gpu} of ${some.length} cells with tasks, of ${cells.flat().length} in all; sizes ${formatNumber(analysis.size_edges[0])} to ${formatNumber(analysis.size_edges.at(-1))}`;
}

export function describeCell(analysis: Analysis, cells: Cells, layer: Layer, i: number, j: number): { where: string; what: string } {
  const value = cells[i]?.[j];
  const span = (edges: number[], at: number) => `${formatNumber(edges[at])} to ${formatNumber(edges[at + 1])}`;
  return {
    where: `size ${span(analysis.size_edges, i)}, intensity ${trimZeros((analysis.intensity_edges[j] ?? 0).toFixed(2))} to ${trimZeros((analysis.intensity_edges[j + 1] ?? 1).toFixed(2))}`,
    what: isKnown(value) ? layer.describe(value) : layer.none,
  };
}
