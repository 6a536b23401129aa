/** Hooks that know nothing of the race: sizes, hovering, window width, focus. */
import { useCallback, useRef, useState, useSyncExternalStore, type KeyboardEvent } from 'react';

/** The size of a node that may mount late: a callback ref sees it whenever it comes. */
export function useSize(): [(node: HTMLElement | null) => void, { width: number; height: number }] {
  const [size, setSize] = useState({ width: 0, height: 0 });
  const watcher = useRef<ResizeObserver | null>(null);
  const ref = useCallback((node: HTMLElement | null) => {
    watcher.current?.disconnect();
    watcher.current = null;
    if (!node) return;
    watcher.current = new ResizeObserver(([entry]) => {
      if (!entry) return;
      const width = Math.floor(entry.contentRect.width);
      const height = Math.floor(entry.contentRect.height);
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    });
    watcher.current.observe(node);
  }, []);
  return [ref, size];
}

/** Hovering or focusing a picture holds it still, so that it can be read. */
export function usePauseOnHover(): [boolean, { onMouseEnter: () => void; onMouseLeave: () => void; onFocus: () => void; onBlur: () => void }] {
  const [paused, setPaused] = useState(false);
  const on = () => setPaused(true);
  const off = () => setPaused(false);
  return [paused, { onMouseEnter: on, onMouseLeave: off, onFocus: on, onBlur: off }];
}

/** Whether the window is at least so wide; for places where a phone needs another arrangement, not just other sizes. */
export function useMinWidth(pixels: number): boolean {
  const query = `(min-width: ${pixels}px)`;
  return useSyncExternalStore(
    (changed) => {
      const watched = window.matchMedia(query);
      watched.addEventListener('change', changed);
      return () => watched.removeEventListener('change', changed);
    },
    () => window.matchMedia(query).matches,
  );
}

const KEY_STEPS: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };

interface RovingProps {
  'data-cell': string;
  tabIndex: 0 | -1;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** One cell of many takes part in tabbing; arrows, Home and End go on from there. The holder needs `data-roving`. */
export function useRovingFocus(rows: number, columns: number): (row: number, column: number) => RovingProps {
  const [at, setAt] = useState<[number, number]>([0, 0]);
  const within = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  const [currentRow, currentColumn] = [within(at[0], rows), within(at[1], columns)];
  return (row, column) => ({
    'data-cell': `${row},${column}`,
    tabIndex: row === currentRow && column === currentColumn ? 0 : -1,
    onKeyDown: (event) => {
      const step = KEY_STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      const next: [number, number] = [within(row + step[0], rows), within(column + step[1], columns)];
      setAt(next);
      event.currentTarget.closest('[data-roving]')?.querySelector<HTMLElement>(`[data-cell="${next.join()}"]`)?.focus();
    },
  });
}
