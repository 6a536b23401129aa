import { expect, test } from 'vitest';
import { axisScale, logTicks, roundTicks, timeTicks } from './axisScale';
import { formatLoad, formatShortLoad, workloadName } from './labels';
import { formatValue } from '@/utils/format';

test('values near one another stand on a linear axis, far apart on a logarithmic one', () => {
  expect(axisScale([1, 7]).log).toBe(false);
  const far = axisScale([0.1, 24]);
  expect(far.log).toBe(true);
  expect(far.at(Math.sqrt(0.1 * 24))).toBeCloseTo(0.5);
  expect(axisScale([-1, 100]).log).toBe(false);
});

test('all values lie within the axis, with room at both ends', () => {
  for (const values of [[1, 2, 3], [0.1, 50], [5], [-3, 4]]) {
    const { at } = axisScale(values);
    for (const value of values) {
      expect(at(value)).toBeGreaterThan(0);
      expect(at(value)).toBeLessThan(1);
    }
  }
});

test('the floor is always in sight, and an axis of amounts does not begin below nothing', () => {
  const scale = axisScale([1.5, 1.6], 1);
  expect(scale.at(1)).toBeGreaterThan(0);
  expect(scale.at(1)).toBeLessThan(0.1);
  expect(axisScale([0, 10]).low).toBe(0);
  expect(axisScale([]).ticks.length).toBeGreaterThan(0);
});

test('ticks are round and not too many', () => {
  expect(roundTicks(0, 103, 5)).toEqual([0, 50, 100]);
  expect(roundTicks(1, 1.2, 5)).toEqual([1, 1.05, 1.1, 1.15, 1.2]);
  expect(logTicks(0.09, 27, 6)).toEqual([0.1, 0.3, 1, 3, 10]);
  expect(logTicks(1e-6, 1e9, 4).length).toBeLessThanOrEqual(4);
});

test('long times are cut into minutes and hours', () => {
  expect(timeTicks(axisScale([0.1, 800]))).toEqual([0.1, 1, 10, 60, 600]);
  expect(timeTicks(axisScale([100, 300])).every((tick) => tick % 60 === 0)).toBe(true);
  expect(timeTicks(axisScale([1, 5]))).toEqual(axisScale([1, 5]).ticks);
});

test('workloads, loads and settings in words', () => {
  expect(workloadName('upload:a.csv@0123abcd')).toBe('a.csv');
  expect(workloadName('mixed')).toBe('mixed');
  expect([formatLoad({ load: 0.9, rate: null }), formatLoad({ load: null, rate: 20 }), formatLoad({ load: null, rate: null })]).toEqual(['0.9 × capacity', '20.0 tasks/s', 'as it comes']);
  expect([formatShortLoad({ load: 1.25, rate: null }), formatShortLoad({ load: null, rate: null })]).toEqual(['1.25', 'own']);
  expect([formatValue(null), formatValue([1, 2]), formatValue({ a_b: true }), formatValue(12345), formatValue('x')]).toEqual(['none', '1, 2', 'a b yes', '12,345', 'x']);
});
