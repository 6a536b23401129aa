import { beforeEach, describe, expect, it } from 'vitest';
import { COLUMNS, defaultLayout, nudgeItem, parseLayouts, screenForWidth, useLayout, type Screen } from './layout';

describe('designed', () => {
  it.each(['wide', 'laptop', 'phone'] as Screen[])('puts no tile over another or beyond the edge: %s', (screen) => {
    const items = defaultLayout(screen);
    for (const a of items) {
      expect(a.x + a.w).toBeLessThanOrEqual(COLUMNS[screen]);
      for (const b of items) {
        const apart = a === b || a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect(apart, `${a.i} and ${b.i}`).toBe(true);
      }
    }
  });
});

describe('restored', () => {
  const first = defaultLayout('wide')[0]!;
  it('takes what was kept', () => {
    const kept = JSON.stringify({ wide: [{ ...first, x: 3, y: 40 }] });
    expect(parseLayouts(kept).wide.find((item) => item.i === first.i)).toMatchObject({ x: 3, y: 40 });
  });
  it.each(['nonsense', '[]', '{"wide": 3}', '{"wide": [null, {"i": 5}, {"i": "comparison", "x": -1, "y": 0, "w": 2, "h": 2}]}'])('falls back on the design: %s', (text) => {
    expect(parseLayouts(text).wide).toEqual(defaultLayout('wide'));
  });
});

describe('nudged', () => {
  const item = { i: 'a', x: 1, y: 0, w: 4, h: 5, minW: 3, minH: 5 };
  it('moves within the grid', () => {
    expect(nudgeItem(item, 24, -1, 0, false).x).toBe(0);
    expect(nudgeItem({ ...item, x: 20 }, 24, 1, 0, false).x).toBe(20);
    expect(nudgeItem(item, 24, 0, -1, false).y).toBe(0);
  });
  it('resizes down to the least size and up to the edge', () => {
    expect(nudgeItem(item, 24, -5, 0, true).w).toBe(3);
    expect(nudgeItem(item, 24, 0, -1, true).h).toBe(5);
    expect(nudgeItem({ ...item, x: 20 }, 24, 9, 1, true)).toMatchObject({ w: 4, h: 6 });
  });
});

describe('the kept layout', () => {
  beforeEach(() => useLayout.getState().reset());
  it('is written when a tile is moved, and gone after a reset', () => {
    useLayout.getState().nudge('wide', 'comparison', 0, 3, false);
    expect(parseLayouts(localStorage.getItem('hms.layout.1')).wide.find((item) => item.i === 'comparison')?.y).toBe(3);
    useLayout.getState().reset();
    expect(localStorage.getItem('hms.layout.1')).toBeNull();
  });
});

it('chooses the screen by width', () => {
  expect([390, 1366, 1920].map(screenForWidth)).toEqual(['phone', 'laptop', 'wide']);
});
