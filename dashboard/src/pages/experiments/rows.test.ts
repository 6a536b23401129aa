import { expect, test } from 'vitest';
import { experiment, run } from '../testRuns';
import { comparable, joined, numbersOf, titleOf, useListing, viewed, type View } from './rows';

const ALL: View = { kind: 'all', text: '', sort: 'when', down: true };
const ids = (rows: { id: number }[]) => rows.map((row) => row.id);

test('an experiment says the state of its run, and one without a run is a row of its own', () => {
  const rows = joined([run(3, { kind: 'comparison', status: 'running' }), run(1)], [experiment(3, { state: 'queued' }), experiment(4, { state: 'queued', title: 'soon' })]);
  expect(ids(rows)).toEqual([4, 3, 1]);
  expect(rows.map((row) => row.state)).toEqual(['queued', 'queued', 'finished']);
  expect(rows[0]).toMatchObject({ kind: 'comparison', title: 'soon', workload: 'long_tail' });
});

test('filters by kind and by every word of the text, names of schedulers among them', () => {
  const rows = joined([run(3, { kind: 'comparison', title: 'Night of tails' }), run(2, { workload: 'upload:trace.csv@12345678', schedulers: ['round_robin'] }), run(1)], []);
  expect(ids(viewed(rows, { ...ALL, kind: 'comparison' }))).toEqual([3]);
  expect(ids(viewed(rows, { ...ALL, text: 'TAILS night' }))).toEqual([3]);
  expect(ids(viewed(rows, { ...ALL, text: 'round robin' }))).toEqual([2]);
  expect(ids(viewed(rows, { ...ALL, text: 'trace.csv' }))).toEqual([2]);
  expect(viewed(rows, { ...ALL, text: '12345678' })).toEqual([]);
  expect(viewed(rows, { ...ALL, text: 'night live' })).toEqual([]);
});

test('sorts up and down; what is not known comes last when sorting down', () => {
  const rows = joined([run(1, { tasks: 20 }), run(2, { tasks: null }), run(3, { tasks: 100 })], []);
  expect(ids(viewed(rows, { ...ALL, sort: 'tasks' }))).toEqual([3, 1, 2]);
  expect(ids(viewed(rows, { ...ALL, sort: 'tasks', down: false }))).toEqual([2, 1, 3]);
  expect(ids(viewed(rows, ALL))).toEqual([3, 2, 1]);
});

test('only what has figures can be compared', () => {
  const rows = joined([run(1), run(2, { status: 'running' }), run(3, { kind: 'comparison' }), run(4, { kind: 'comparison' })], [experiment(3, { state: 'running' }), experiment(4, { state: 'cancelled' })]);
  expect(rows.map(comparable)).toEqual([true, true, false, false]);
});

test('reads lists of runs from an address, each once, and nothing else', () => {
  expect(numbersOf('1,2,2,7')).toEqual([1, 2, 7]);
  for (const wrong of [null, '', '1,', 'a', '1;2', '-1', '1.5', '1'.repeat(16)]) expect(numbersOf(wrong)).toBeNull();
});

test('a run without a name is called by its kind and number', () => {
  expect([run(1), run(2, { kind: 'comparison' }), run(3, { title: 'mine' })].map(titleOf)).toEqual(['Live race 1', 'Comparison 2', 'mine']);
});

test('ticks keep the order in which they were set, each once', () => {
  const { pick, clear } = useListing.getState();
  pick(5, true);
  pick(2, true);
  pick(5, true);
  expect(useListing.getState().picked).toEqual([5, 2]);
  pick(5, false);
  expect(useListing.getState().picked).toEqual([2]);
  clear();
  expect(useListing.getState().picked).toEqual([]);
});
