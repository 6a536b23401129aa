import { describe, expect, test } from 'vitest';
import { contrastRatio, mixColours, parseHex, textColourOn } from '@/utils/colour';
import { invertScale, linearAxis, logAxis, logTicks, makeScale, overlapArea, timeUnit, trimZeros } from './scale';

describe('scales', () => {
  test('go from values to pixels and back', () => {
    expect(makeScale([0, 10], [100, 200])(5)).toBe(150);
    expect(makeScale([1, 100], [0, 200], true)(10)).toBeCloseTo(100);
    for (const log of [false, true]) {
      expect(invertScale([2, 50], [300, 20], log)(makeScale([2, 50], [300, 20], log)(17))).toBeCloseTo(17);
    }
  });

  test('put what lies outside on the border, even nought on a logarithmic one', () => {
    expect(makeScale([1, 100], [0, 200], true)(0)).toBe(0);
    expect(makeScale([0, 10], [0, 200])(11)).toBe(200);
    expect(invertScale([0, 10], [0, 200])(-5)).toBe(0);
  });
});

describe('axes', () => {
  test('linear ones have round ticks around the values', () => {
    expect(linearAxis(0, 380, 4)).toEqual({ range: [0, 400], ticks: [0, 100, 200, 300, 400], log: false });
    expect(linearAxis(4.23e-6, 4.71e-6, 3).ticks).toEqual([4.2e-6, 4.4e-6, 4.6e-6, 4.8e-6]);
  });

  test('times above a minute are round in minutes', () => {
    expect(linearAxis(50, 280, 3, 60).ticks).toEqual([0, 120, 240, 360]);
    expect(linearAxis(0, 7200, 5, 60).ticks).toEqual([0, 1800, 3600, 5400, 7200]);
  });

  test('times of hours and days are cut as clocks cut them', () => {
    const hours = (high: number) => linearAxis(0, high * 3600, 8, timeUnit(high * 900)).ticks.map((tick) => tick / 3600);
    expect(hours(45)).toEqual([0, 6, 12, 18, 24, 30, 36, 42, 48]);
    expect(hours(90)).toEqual([0, 12, 24, 36, 48, 60, 72, 84, 96]);
    expect(hours(24 * 12)).toEqual([0, 48, 96, 144, 192, 240, 288]);
  });

  test('logarithmic ones have decades, finer ticks where these are few, and minutes for long times', () => {
    expect(logTicks([0.9, 2000], 9)).toEqual([1, 10, 100, 1000]);
    expect(logTicks([100, 1100], 9)).toEqual([100, 200, 500, 1000]);
    expect(logTicks([0.5, 4000], 9, true)).toEqual([1, 10, 60, 600, 3600]);
    expect(logTicks([1, 1e8], 5)).toHaveLength(5);
  });

  test('a logarithmic axis does not move with small changes and is never empty', () => {
    expect(logAxis(0.011, 0.9, 5).range).toEqual(logAxis(0.012, 0.95, 5).range);
    const [low, high] = logAxis(10, 10, 5).range;
    expect(high).toBeGreaterThan(low);
  });

  test('ticks lose noughts that say nothing, and only these', () => {
    expect(['1.00 s', '2.50 ms', '100 ms', '1,000', '0.50'].map(trimZeros)).toEqual(['1 s', '2.5 ms', '100 ms', '1,000', '0.5']);
  });
});

describe('colours', () => {
  const stops = [parseHex('#000000'), parseHex('#808080'), parseHex('#ff0000')];

  test('are mixed between the nearest stops and end at the last', () => {
    expect(mixColours(stops, 0.25)).toEqual([64, 64, 64]);
    expect(mixColours(stops, 1)).toEqual([255, 0, 0]);
    expect(mixColours(stops, 7)).toEqual([255, 0, 0]);
  });

  test('letters can be read on every colour', () => {
    for (let r = 0; r <= 255; r += 15) for (let g = 0; g <= 255; g += 15) for (let b = 0; b <= 255; b += 51) {
      const ink = textColourOn([r, g, b]) === '#000' ? parseHex('#000000') : parseHex('#ffffff');
      expect(contrastRatio([r, g, b], ink)).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrastRatio(parseHex('#ffffff'), parseHex('#000000'))).toBeCloseTo(21);
  });
});

test('boxes that only touch do not overlap', () => {
  const box = { x: 0, y: 0, width: 10, height: 10 };
  expect(overlapArea(box, { ...box, x: 10 })).toBe(0);
  expect(overlapArea(box, { ...box, x: 8, y: 5 })).toBe(10);
});
