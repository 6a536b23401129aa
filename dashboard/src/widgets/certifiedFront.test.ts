import { expect, test } from 'vitest';
import type { CertifiedWindow } from '@/live/messages';
import { invertScale, makeScale } from '@/utils/scale';
import { drawFront, priceAt, readFronts, type Vertex } from './certifiedFront';

/** Fewest joules first. */
const front: Vertex[] = [{ time: 8, price: 1 }, { time: 4, price: 2 }, { time: 2, price: 6 }];
const window: CertifiedWindow = { first_task: 0, tasks: 100, mean_turnaround: 3, mean_turnaround_split: 1, energy_front: [[8, 1], [4, 2], [2, 6]], cost_front: [], energy_front_split: [[6, 1], [1.5, 3]], cost_front_split: [] };

test('the least price falls along straight lines, then no further', () => {
  expect([1.9, 2, 3, 4, 6, 8, 100].map((time) => priceAt(front, time))).toEqual([Infinity, 6, 4, 2, 1.5, 1, 1]);
  expect(priceAt([], 1)).toBe(Infinity);
});

test('a sharper bound of turnaround alone cuts the end off, a weaker one changes nothing', () => {
  expect(readFronts(window, 'energy').whole).toEqual([{ time: 8, price: 1 }, { time: 4, price: 2 }, { time: 3, price: 4 }]);
  expect(readFronts(window, 'energy').all).toEqual([{ time: 6, price: 1 }, { time: 1.5, price: 3 }]);
  expect(readFronts({ ...window, mean_turnaround: 20 }, 'energy').whole).toEqual([{ time: 20, price: 1 }]);
  expect(readFronts(window, 'cost')).toEqual({ whole: [], all: [] });
});

test.each([false, true])('it is drawn from above its end to the right edge, and no vertex lies on its ground (log: %s)', (log) => {
  const area = { left: 10, right: 110, top: 0, bottom: 100 };
  const [x, y] = [makeScale([1, 10], [10, 110], log), makeScale([0.5, 10], [100, 0], log)];
  const { line, ground } = drawFront(front, { x, y, timeAt: invertScale([1, 10], [10, 110], log), area })!;
  const places = line.slice(1).split('L').map((each) => each.split(' ').map(Number) as [number, number]);
  expect(places[0]).toEqual([Number(x(2).toFixed(1)), 0]);
  expect(places[1]).toEqual([x(2), y(6)].map((each) => Number(each.toFixed(1))));
  expect(places.at(-1)).toEqual([110, Number(y(1).toFixed(1))]);
  const falls = places.slice(1).map(([, down]) => down);
  expect(falls).toEqual(falls.toSorted((a, b) => a - b)); // pixels grow downwards
  expect(ground.endsWith('V100H10V0Z')).toBe(true);
});

test('without a front nothing is drawn', () => {
  const area = { left: 0, right: 1, top: 0, bottom: 1 };
  expect(drawFront([], { x: Number, y: Number, timeAt: Number, area })).toBeNull();
});
