import { expect, test } from 'vitest';
import { auditResult, candidate, explanation } from '@/testing/audit';
import { record } from '@/testing/race';
import { buildAuditRows, computeRegret, describeStatus, dropRoundoff, findNewestExplained, humanizeSentence, listOptions, parseTaskNumber, predictionRatio, rankContributions } from './decisions';

test('one row for each scheduler, first to end on top, the last attempt counts, rejected ones last', () => {
  const rows = buildAuditRows([auditResult('greedy', 3), auditResult('random', 1), auditResult('random', 5, { attempt: 2 }), auditResult('oracle', 2), auditResult('rl_agent', null, { device: -1, status: 2 })], { oracle: explanation() });
  expect(rows.map((row) => [row.name, row.attempts, row.first])).toEqual([['oracle', 1, true], ['greedy', 1, false], ['random', 2, false], ['rl_agent', 1, false]]);
  expect(rows[2]!.result.turnaround_time).toBe(5);
  expect([rows[0]!.explanation?.rule, rows[1]!.explanation]).toEqual(['where it ends first', null]);
  expect(computeRegret(rows, 'greedy')).toBe(1.5);
  expect(computeRegret(rows, 'rl_agent')).toBeNull();
});

test('all who ended at the same moment were first', () => {
  expect(buildAuditRows([auditResult('greedy', 2), auditResult('oracle', 2), auditResult('random', 3)], {}).map((row) => row.first)).toEqual([true, true, false]);
});

test('a surprise is what it got over what it expected', () => {
  const result = auditResult('oracle', 2, { actual_time: 1.2 });
  expect(predictionRatio({ result, explanation: explanation({ expected_time: 1 }) })).toBeCloseTo(1.2);
  expect(predictionRatio({ result, explanation: explanation({ expected_time: null }) })).toBeNull();
  expect(predictionRatio({ result, explanation: null })).toBeNull();
});

test('a status is told in words', () => {
  expect(describeStatus({ status: 0, device: 1 })).toBe('');
  expect(describeStatus({ status: 1, device: 0 })).toMatch(/did not fit/);
  expect(describeStatus({ status: 5, device: -1 })).toBe('too many tasks were waiting');
  expect(describeStatus({ status: 9, device: -1 })).toBe('rejected');
});

test('devices: the chosen one first, the others by when they would be done; bars share one scale', () => {
  const { options, more } = listOptions(explanation({ candidates: [candidate(0, 3, 1), candidate(1, 0, 1.5), candidate(2, 1, 1, { chosen: true })] }));
  expect(options.map((each) => each.candidate.device)).toEqual([2, 1, 0]);
  expect(options.map((each) => [each.waitShare, each.workShare])).toEqual([[0.25, 0.25], [0, 0.375], [0.75, 0.25]]);
  expect(more).toBe(0);
  expect(options.every((each) => !each.rest)).toBe(true);
});

test('of a split task the only CPU takes the rest; tiny waits are none; long lists are cut', () => {
  const gpus = Array.from({ length: 20 }, (_, i) => candidate(i + 1, 1e-17, 1, { chosen: i === 0 }));
  const { options, more } = listOptions(explanation({ gpu_fraction: 0.7, candidates: [candidate(0, 0, null), ...gpus] }));
  expect(options.find((each) => each.candidate.device === 0)).toMatchObject({ rest: true, work: null, workShare: 0 });
  expect(options[0]).toMatchObject({ wait: 0, rest: false });
  expect([options.length, more]).toEqual([12, 9]);
});

test('pushes are sorted by strength, with their signs', () => {
  expect(rankContributions({ size: 0.1, compute_intensity: -0.4, memory_required: null })).toEqual([
    { feature: 'compute intensity', value: -0.4, share: 1 },
    { feature: 'size', value: 0.1, share: 0.25 },
  ]);
});

test('sentences of the server get the names of the page', () => {
  expect(humanizeSentence('whole on gpu12, 1 s before cpu; mostly because of memory_per_size')).toBe('whole on GPU 12, 1 s before CPU; mostly because of memory per size');
});

test('small helpers', () => {
  expect([dropRoundoff(3e-17), dropRoundoff(0.2), dropRoundoff(null)]).toEqual([0, 0.2, null]);
  expect(['12', ' #12 ', '1.5', 'x', ''].map(parseTaskNumber)).toEqual([12, 12, null, null, null]);
  expect(findNewestExplained([record(1, {}), record(2, {}), record(3, {}, { explained: false })])).toBe(2);
  expect(findNewestExplained([])).toBeNull();
});
