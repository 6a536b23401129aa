import { useState, type ReactNode } from 'react';
import { Button } from '@/look/parts';

const COLLAPSED_COUNT = 6;

/** The first few lines of a list; the others when asked for. */
export function CollapsibleList<T>({ items, of, children }: { items: readonly T[]; of: (item: T) => string | number; children: (item: T) => ReactNode }) {
  const [all, setAll] = useState(false);
  return (
    <>
      <ul className="divide-y divide-edge/60">{(all ? items : items.slice(0, COLLAPSED_COUNT)).map((item) => <li key={of(item)}>{children(item)}</li>)}</ul>
      {items.length > COLLAPSED_COUNT && <Button className="mt-2" aria-expanded={all} onClick={() => setAll(!all)}>{all ? 'Show fewer' : `Show all ${items.length}`}</Button>}
    </>
  );
}
