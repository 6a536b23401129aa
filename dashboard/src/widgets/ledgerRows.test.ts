import { expect, test } from 'vitest';
import { WAITING } from '@/live/state';
import { device, record, result } from '@/testing/race';
import { describeCounts, isSampled, parseFilter, toCsv, toJson, toLedgerRow, type LedgerRow } from './ledgerRows';

const devices = [device(0), device(1), device(2)];
const row = (change: Partial<LedgerRow> = {}): LedgerRow => ({
  ...toLedgerRow(record(42, { hybrid_ml: result(2, 0.3, { gpu_fraction: 0.7 }), greedy: result(0, 0.2) }), 'hybrid_ml', devices),
  ...change,
});

test('a row tells where a task went and how much slower that was than the fastest', () => {
  expect(row()).toMatchObject({ task: 42, scheduler: 'hybrid_ml', energy: 2, cost: 0.0001, placed: 'GPU 1', gpuShare: 0.7, winner: 'greedy', ties: 0, rejected: false });
  expect(row().regret).toBeCloseTo(1.5);
});

test('of several that ended together the first counts, and the others are told', () => {
  const tied = toLedgerRow(record(1, { greedy: result(1, 0.2), oracle: result(1, 0.2), hybrid_ml: result(1, 0.2) }), 'hybrid_ml', devices);
  expect(tied).toMatchObject({ winner: 'greedy', ties: 2, regret: 1 });
});

test('a rejected task has no device, no regret, and others may still win it', () => {
  const lost = toLedgerRow(record(1, { greedy: result(-1, null), oracle: result(1, 0.2) }), 'greedy', devices);
  expect(lost).toMatchObject({ placed: 'rejected', rejected: true, regret: null, gpuShare: null, winner: 'oracle' });
  expect(toLedgerRow(record(1, { greedy: result(-1, null) }), 'greedy', devices).winner).toBeNull();
});

test('a task that waits is not rejected, and the filter finds it', () => {
  const waits = (index: number) => toLedgerRow(record(1, { spt: result(index, null, { status: WAITING }) }), 'spt', devices);
  expect(waits(2)).toMatchObject({ placed: 'GPU 1', waiting: true, rejected: false, turnaround: null, winner: null });
  expect(waits(-1)).toMatchObject({ placed: 'any', waiting: true, rejected: false });
  expect(parseFilter('waits').test(waits(2))).toBe(true);
  expect(parseFilter('waits').test(row())).toBe(false);
});

test('a scheduler that joined later has nothing to tell of an older task', () => {
  expect(toLedgerRow(record(1, { greedy: result(1, 0.2) }), 'hybrid_ml', devices)).toMatchObject({ placed: '–', rejected: false, turnaround: null });
});

test.each([
  ['', true],
  ['42', true],
  ['#43', false],
  ['gpu 1', true],
  ['GPU1', true],
  ['gpu 2', false],
  ['cpu', false],
  ['greedy', true],
  ['grd gpu', true],
  ['oracle', false],
  ['size>1000', true],
  ['size > 2000', false],
  ['size>=1042', true],
  ['size<1042', false],
  ['share=70', true],
  ['energy>=2 cost=100', true],
  ['energy<2', false],
  ['regret>40 regret<60', true],
  ['regret>60', false],
  ['gpu size<2000', true],
  ['cpu size<2000', false],
])('filter %j', (text, expected) => {
  expect(parseFilter(text)).toMatchObject({ problem: '' });
  expect(parseFilter(text).test(row())).toBe(expected);
});

test('a comparison leaves out what is not known', () => {
  expect(parseFilter('time<1').test(row({ time: null }))).toBe(false);
});

test('a filter that cannot be used says so and hides nothing', () => {
  expect(parseFilter('speed>2')).toMatchObject({ problem: 'no column is called speed' });
  expect(parseFilter('size>big')).toMatchObject({ problem: 'size is compared with a number' });
  expect(parseFilter('size>').problem).not.toBe('');
  expect(parseFilter('speed>2').test(row())).toBe(true);
});

test('counts say how much of everything is shown', () => {
  const counts = { shown: 90, matching: 90, kept: 90, total: 90_000, sampled: false };
  expect(describeCounts(counts)).toBe('newest 90 of 90,000 tasks');
  expect(describeCounts({ ...counts, sampled: true })).toBe('newest 90 of 90,000 tasks, sampled');
  expect(describeCounts({ ...counts, shown: 200, matching: 500, kept: 500 })).toBe('200 of 90,000 tasks');
  expect(describeCounts({ ...counts, shown: 200, matching: 300, kept: 500 })).toBe('300 of the newest 500 match, 200 shown, of 90,000 tasks');
});

test('holes in the numbers mean that tasks were left out', () => {
  const some = (...ids: number[]) => ids.map((id) => record(id, {}));
  expect(isSampled(some(5, 6, 7))).toBe(false);
  expect(isSampled(some(5, 6, 9))).toBe(true);
  expect(isSampled([])).toBe(false);
});

test('exports hold the plain numbers, and names stay names', () => {
  const [head, line, end] = toCsv([row({ winner: '=cmd,"x"' })]).split('\n');
  expect(head).toBe('task,scheduler,arrival_s,size,compute_intensity,memory_mb,placed_on,gpu_share,time_s,turnaround_s,energy_j,cost_usd,regret_ratio,winner,explained');
  expect(line).toBe(`42,hybrid_ml,10,1042,0.5,200,GPU 1,0.7,0.15,0.3,2,0.0001,${0.3 / 0.2},"'=cmd,""x""",true`);
  expect(end).toBe('');
  expect(toCsv([row({ time: null })])).toContain(',0.7,,0.3,');
  expect(JSON.parse(toJson([row()], 'greedy'))).toMatchObject({ scheduler: 'greedy', tasks: [{ task: 42, placed_on: 'GPU 1' }] });
});
