import { useCallback, useRef, useState } from 'react';

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
