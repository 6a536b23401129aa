import { expect, test } from 'vitest';
import { experiment, runLine } from '@/testing/runs';
import { filterRows, isComparable, joinRuns, parseIds, runTitle, useRunList, type View } from './runs';

const ALL: View = { kind: 'all', text: '', sort: 'when', down: true };
const ids = (rows: { id: number }[]) => rows.map((row) => row.id);

test('an experiment says the state of its run, and one without a run is a row of its own', () => {
  const rows = joinRuns([runLine(3, { kind: 'comparison', status: 'running' }), runLine(1)], [experiment(3, { state: 'queued' }), experiment(4, { state: 'queued', title: 'soon' })]);
  expect(ids(rows)).toEqual([4, 3, 1]);
  expect(rows.map((row) => row.state)).toEqual(['queued', 'queued', 'finished']);
  expect(rows[0]).toMatchObject({ kind: 'comparison', title: 'soon', workload: 'long_tail' });
});

test('filters by kind and by every word of the text, names of schedulers among them', () => {
  const rows = joinRuns([runLine(3, { kind: 'comparison', title: 'Night of tails' }), runLine(2, { workload: 'upload:trace.csv@12345678', schedulers: ['round_robin'] }), runLine(1)], []);
  expect(ids(filterRows(rows, { ...ALL, kind: 'comparison' }))).toEqual([3]);
  expect(ids(filterRows(rows, { ...ALL, text: 'TAILS night' }))).toEqual([3]);
  expect(ids(filterRows(rows, { ...ALL, text: 'round robin' }))).toEqual([2]);
  expect(ids(filterRows(rows, { ...ALL, text: 'trace.csv' }))).toEqual([2]);
  expect(filterRows(rows, { ...ALL, text: '12345678' })).toEqual([]);
  expect(filterRows(rows, { ...ALL, text: 'night live' })).toEqual([]);
});

test('sorts up and down; what is not known comes last when sorting down', () => {
  const rows = joinRuns([runLine(1, { tasks: 20 }), runLine(2, { tasks: null }), runLine(3, { tasks: 100 })], []);
  expect(ids(filterRows(rows, { ...ALL, sort: 'tasks' }))).toEqual([3, 1, 2]);
  expect(ids(filterRows(rows, { ...ALL, sort: 'tasks', down: false }))).toEqual([2, 1, 3]);
  expect(ids(filterRows(rows, ALL))).toEqual([3, 2, 1]);
});

test('only what has figures can be compared', () => {
  const rows = joinRuns([runLine(1), runLine(2, { status: 'running' }), runLine(3, { kind: 'comparison' }), runLine(4, { kind: 'comparison' })], [experiment(3, { state: 'running' }), experiment(4, { state: 'cancelled' })]);
  expect(rows.map(isComparable)).toEqual([true, true, false, false]);
});

test('reads lists of runs from an address, each once, and nothing else', () => {
  expect(parseIds('1,2,2,7')).toEqual([1, 2, 7]);
  for (const wrong of [null, '', '1,', 'a', '1;2', '-1', '1.5', '1'.repeat(16)]) expect(parseIds(wrong)).toBeNull();
});

test('a run without a name is called by its kind and number', () => {
  expect([runLine(1), runLine(2, { kind: 'comparison' }), runLine(3, { title: 'mine' })].map(runTitle)).toEqual(['Live race 1', 'Comparison 2', 'mine']);
});

test('ticks keep the order in which they were set, each once', () => {
  const { pick, clear } = useRunList.getState();
  pick(5, true);
  pick(2, true);
  pick(5, true);
  expect(useRunList.getState().picked).toEqual([5, 2]);
  pick(5, false);
  expect(useRunList.getState().picked).toEqual([2]);
  clear();
  expect(useRunList.getState().picked).toEqual([]);
});
