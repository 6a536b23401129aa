import { useSyncExternalStore } from 'react';

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
