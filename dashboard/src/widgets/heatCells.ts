/** What the cells of the heat map say, how far they go, and where the border between CPU and GPU runs. */
import type { Pictures } from '@/live/messages';
import { formatNumber, isKnown, formatPercent } from '@/look/format';
import { trimZeros } from './draw';

export type Cells = (number | null)[][];
export type LayerName = 'speedup' | 'gpu_wins' | 'heatmap';

export interface Layer {
  label: string;
  /** What is shown, in words. */
  about: string;
  /** The value where neither side wins. */
  even: number;
  words: (value: number) => string;
  /** What an empty cell means. */
  none: string;
  /** Short enough for a cell. */
  text: (value: number) => string;
}

const describeSpeedup = (log2: number): string => (Math.abs(log2) < 0.005 ? 'as fast on both' : `${log2 > 0 ? 'GPU' : 'CPU'} ×${formatNumber(2 ** Math.abs(log2))} faster`);

export const LAYERS: Record<LayerName, Layer> = {
  speedup: { label: 'speed-up', about: 'median speed-up of the GPU', even: 0, words: (value) => `${describeSpeedup(value)}, median`, none: 'no tasks that both can run', text: (value) => (value <= -0.05 ? '−' : '') + Math.abs(value).toFixed(1) },
  gpu_wins: { label: 'tasks won', about: 'share of tasks faster on a GPU', even: 0.5, words: (value) => `${formatPercent(value)} of the tasks are faster on a GPU`, none: 'no tasks', text: (value) => (value * 100).toFixed(0) },
  heatmap: { label: 'best share', about: 'best share on a GPU', even: 0.5, words: (value) => `best with ${formatPercent(value)} on a GPU`, none: 'no tasks', text: (value) => (value * 100).toFixed(0) },
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

export function describeMap(pictures: Pictures, cells: Cells, layer: Layer): string {
  const some = cells.flat().filter(isKnown);
  const gpu = some.filter((value) => value >= layer.even).length;
  return `Task size by intensity, ${layer.about}: the GPU's side has ${gpu} of ${some.length} cells with tasks, of ${cells.flat().length} in all; sizes ${formatNumber(pictures.size_edges[0])} to ${formatNumber(pictures.size_edges.at(-1))}`;
}

export function describeCell(pictures: Pictures, cells: Cells, layer: Layer, i: number, j: number): { where: string; what: string } {
  const value = cells[i]?.[j];
  const span = (edges: number[], at: number) => `${formatNumber(edges[at])} to ${formatNumber(edges[at + 1])}`;
  return {
    where: `size ${span(pictures.size_edges, i)}, intensity ${trimZeros((pictures.intensity_edges[j] ?? 0).toFixed(2))} to ${trimZeros((pictures.intensity_edges[j + 1] ?? 1).toFixed(2))}`,
    what: isKnown(value) ? layer.words(value) : layer.none,
  };
}
