/** Where the tiles stand: three grids for three screens, kept in this browser, changed by mouse or keyboard. */
import { create } from 'zustand';
import type { Layout, LayoutItem } from 'react-grid-layout';
import { WIDGETS } from '@/widgets';

export type Screen = 'wide' | 'laptop' | 'phone';
export const COLUMNS: Record<Screen, number> = { wide: 24, laptop: 12, phone: 1 };
export const ROW = 30;
export const GAP = 12;
const KEY = 'hms.layout.1';

export const screenForWidth = (width: number): Screen => (width >= 1500 ? 'wide' : width >= 720 ? 'laptop' : 'phone');

/** The grid as it comes: wide as designed, laptop two tiles a row, phone one below the other. */
export function defaultLayout(screen: Screen): LayoutItem[] {
  if (screen === 'wide') return WIDGETS.map(({ id, at: [x, y, w, h] }) => ({ i: id, x, y, w, h, minW: 4, minH: 5 }));
  const columns = COLUMNS[screen];
  let [x, y, row] = [0, 0, 0];
  return WIDGETS.map(({ id, at: [, , , h] }) => {
    const w = screen === 'phone' ? 1 : 6;
    if (x + w > columns) [x, y, row] = [0, y + row, 0];
    // On a phone titles and buttons take a line of their own, so tiles are higher.
    const item = { i: id, x, y, w, h: screen === 'phone' ? h + 2 : h, minW: screen === 'phone' ? 1 : 3, minH: 5 };
    x += w;
    row = Math.max(row, item.h);
    return item;
  });
}

type Layouts = Record<Screen, LayoutItem[]>;
const defaultLayouts = (): Layouts => ({ wide: defaultLayout('wide'), laptop: defaultLayout('laptop'), phone: defaultLayout('phone') });

/** Read a kept layout; widgets that are new since then take their designed place, unknown ones are dropped. */
export function parseLayouts(text: string | null): Layouts {
  const fresh = defaultLayouts();
  if (!text) return fresh;
  try {
    const kept = JSON.parse(text) as Partial<Record<Screen, unknown>>;
    for (const screen of Object.keys(fresh) as Screen[]) fresh[screen] = mergeLayout(fresh[screen], kept[screen]);
  } catch {
    return defaultLayouts(); // what somebody else has written there is no layout
  }
  return fresh;
}

function mergeLayout(fresh: LayoutItem[], kept: unknown): LayoutItem[] {
  const known = new Map((Array.isArray(kept) ? kept : []).filter(isItem).map((item) => [item.i, item]));
  return fresh.map((item) => {
    const old = known.get(item.i);
    return old ? { ...item, x: old.x, y: old.y, w: old.w, h: old.h } : item;
  });
}

function isItem(value: unknown): value is LayoutItem {
  if (typeof value !== 'object' || value === null) return false;
  const item = value as Record<string, unknown>;
  return typeof item.i === 'string' && [item.x, item.y, item.w, item.h].every((each) => Number.isInteger(each) && (each as number) >= 0);
}

interface LayoutState {
  layouts: Layouts;
  keep: (screen: Screen, layout: Layout) => void;
  nudge: (screen: Screen, id: string, dx: number, dy: number, resize: boolean) => void;
  reset: () => void;
}

function saveLayouts(layouts: Layouts): { layouts: Layouts } {
  const bare = Object.fromEntries(Object.entries(layouts).map(([screen, items]) => [screen, items.map(({ i, x, y, w, h }) => ({ i, x, y, w, h }))]));
  localStorage.setItem(KEY, JSON.stringify(bare));
  return { layouts };
}

export const useLayout = create<LayoutState>((set) => ({
  layouts: parseLayouts(localStorage.getItem(KEY)),
  keep: (screen, layout) => set(({ layouts }) => saveLayouts({ ...layouts, [screen]: mergeLayout(layouts[screen], layout) })),
  nudge: (screen, id, dx, dy, resize) =>
    set(({ layouts }) => saveLayouts({ ...layouts, [screen]: layouts[screen].map((item) => (item.i === id ? nudgeItem(item, COLUMNS[screen], dx, dy, resize) : item)) })),
  reset: () => {
    localStorage.removeItem(KEY);
    set({ layouts: defaultLayouts() });
  },
}));

export function nudgeItem(item: LayoutItem, columns: number, dx: number, dy: number, resize: boolean): LayoutItem {
  if (resize) return { ...item, w: Math.min(columns - item.x, Math.max(item.minW ?? 1, item.w + dx)), h: Math.max(item.minH ?? 1, item.h + dy) };
  return { ...item, x: Math.min(columns - item.w, Math.max(0, item.x + dx)), y: Math.max(0, item.y + dy) };
}
