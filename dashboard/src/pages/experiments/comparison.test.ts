import { expect, test } from 'vitest';
import { difference, MEASURES, runFigures } from '@/testing/runs';
import { formatDifferenceInterval, intervalRows, judgeDifference, listSchedulers, runLetter, sharedMeasures } from './comparison';
import { differingColumns } from './ComparisonPage';
import { formatSeeds } from './form';
import { formatInterval, formatMeasure, formatSigned, measureLabel, sortMeasures } from './measures';
import { figuresToCsv, findBest } from './RunFigures';

test('an interval that holds 0 allows no claim, whatever its mean', () => {
  for (const [low, high] of [[-1, 3], [0, 3], [-3, 0]] as const) expect(judgeDifference(difference('x', 1, low, high), true)).toEqual({ tone: 'quiet', text: 'no clear difference' });
});

test('lower is better or worse, as the measure has it', () => {
  expect(judgeDifference(difference('x', -0.12, -0.2, -0.05), true)).toEqual({ tone: 'good', text: '12 % lower, better' });
  expect(judgeDifference(difference('x', -0.12, -0.2, -0.05), false)).toEqual({ tone: 'bad', text: '12 % lower, worse' });
  expect(judgeDifference(difference('x', 0.034, 0.01, 0.05), true)).toEqual({ tone: 'bad', text: '3.4 % higher, worse' });
  expect(judgeDifference(difference('x', 19, 18, 20), true).text).toBe('20 times as much, worse');
});

test('without intervals or without a mean, it says so', () => {
  expect(judgeDifference(difference('x', 1, null, null), true).text).toMatch(/chance cannot be told apart/);
  expect(judgeDifference({ mean: null, low: null, high: null, relative: null }, true).text).toMatch(/not measured in both/);
  expect(judgeDifference({ mean: 2, low: 1, high: 3, relative: null }, true).text).toBe('higher, worse');
});

test('values, intervals and differences have units, the unit once if it is the same', () => {
  expect(formatMeasure(0.0266, 's')).toBe('26.6 ms');
  expect(formatMeasure(1.0124, '×')).toBe('1.012 ×');
  expect(formatMeasure(0.823, 'share')).toBe('82.3 %');
  expect(formatMeasure(null, 's')).toBe('–');
  expect(formatInterval(0.02, 0.03, 's')).toBe('20.0 – 30.0 ms');
  expect(formatInterval(0.9, 1.1, 's')).toBe('900 ms – 1.10 s');
  expect(formatInterval(null, 1, 's')).toBe('no interval');
  expect(formatSigned(-0.02, 's')).toBe('−20.0 ms');
  expect(formatDifferenceInterval({ low: -0.02, high: 0.03 }, 's')).toBe('−20.0 ms to +30.0 ms');
  expect(formatDifferenceInterval({ low: null, high: null }, 's')).toBe('no interval');
});

test('measures have names that people read, the main ones first', () => {
  expect(measureLabel('makespan_over_bound')).toBe('Makespan / bound');
  expect(measureLabel('load_balance')).toBe('Load balance');
  const odd = { ...MEASURES[0]!, name: 'load_balance' };
  expect(sortMeasures([odd, ...MEASURES.toReversed()]).map((each) => each.name)).toEqual(['mean_turnaround', 'makespan_over_bound', 'load_balance']);
});

test('the best is the least or the most as the measure has it; the oracle does not win, nor does anybody alone', () => {
  const three = runFigures(1, { oracle: 0.1, eft: 0.2, greedy: 0.3 });
  expect(findBest(three, MEASURES[0]!)).toBe('eft');
  expect(findBest(three, { ...MEASURES[0]!, less_is_better: false })).toBe('greedy');
  expect(findBest(runFigures(1, { oracle: 0.1, eft: 0.2 }), MEASURES[0]!)).toBeNull();
  expect(findBest(runFigures(1, { eft: 0.2, greedy: 0.2 }), MEASURES[0]!)).toBeNull();
});

test('runs side by side: a row for each scheduler and run, in the order of the first run', () => {
  const comparison = { baseline: 1, runs: [runFigures(1, { greedy: 1, eft: 2 }), runFigures(2, { eft: 3, oracle: 4 })], differences: [], notes: [] };
  expect(listSchedulers(comparison)).toEqual(['greedy', 'eft', 'oracle']);
  const rows = intervalRows(comparison, 'mean_turnaround');
  expect(rows.map((row) => [row.scheduler, row.run, row.estimate?.mean])).toEqual([
    ['greedy', 'A', 1], ['greedy', 'B', undefined], ['eft', 'A', 2], ['eft', 'B', 3], ['oracle', 'A', undefined], ['oracle', 'B', 4],
  ]);
  comparison.runs[1]!.measures = [MEASURES[1]!];
  expect(sharedMeasures(comparison).map((each) => each.name)).toEqual(['makespan_over_bound']);
});

test('tells in what runs differ, and nothing else', () => {
  expect(differingColumns([runFigures(1, {}), runFigures(2, {})])).toEqual([]);
  expect(differingColumns([runFigures(1, {}), runFigures(2, {}, { load: 1.2, seeds: [7] })])).toEqual(['Load', 'Seeds']);
});

test('figures as a table have a line for each number, in full', () => {
  const lines = figuresToCsv(runFigures(7, { greedy: 1 / 3 })).trim().split('\n');
  expect(lines[0]).toBe('run,scheduler,measure,unit,mean,low,high,n');
  expect(lines[1]).toBe(`7,greedy,mean_turnaround,s,${1 / 3},${1 / 3 - 1 / 30},${1 / 3 + 1 / 30},5`);
  expect(lines).toHaveLength(3);
  expect(figuresToCsv(runFigures(7, { 'ml:a=1,b="x"': 1 }))).toContain('7,"ml:a=1,b=""x""",');
});

test('seeds in a row are told by their ends, runs by letters', () => {
  expect([formatSeeds([0, 1, 2, 3]), formatSeeds([1, 5, 9]), formatSeeds([4])]).toEqual(['0 to 3', '1, 5, 9', '4']);
  expect([runLetter(0), runLetter(7)]).toEqual(['A', 'H']);
});
