import { expect, test } from 'vitest';
import type { Span } from '@/live/state';
import { device } from '@/testing/race';
import { axisTicks, buildLanes, describeBacklog, durationClass, durationLimits, findSpan, makeView, moveSelection, summarizeLanes, timeToPosition, type LaneInput } from './lanes';

const span = (deviceIndex: number, start: number, end: number, task = Math.round(start * 10) + 1, attempt = 1): Span => ({ device: deviceIndex, start, end, task, attempt });
const view = makeView(100, 10);
const lanes = (spans: Span[], change: Partial<LaneInput> = {}) => buildLanes({ devices: [device(0), device(1)], spans, busy: [0.4, 0.8], marks: [], view, ...change });

test('now stands at 80 % of the axis, so that a fifth of it is the future', () => {
  expect([view.from, view.to]).toEqual([90, 102.5]);
  expect(timeToPosition(view, 100)).toBeCloseTo(0.8);
});

test('a lane holds what overlaps the picture, in order of time', () => {
  const [cpu, gpu] = lanes([span(0, 95, 96), span(0, 91, 92), span(0, 85, 89), span(0, 103, 104), span(1, 89, 90.5)]);
  expect(cpu!.spans.map((each) => each.start)).toEqual([91, 95]);
  expect(gpu!.spans).toHaveLength(1);
});

test('gaps before the first kept span are not idle but unknown, unless everything is known or the device did nothing', () => {
  expect(lanes([span(0, 95, 96), span(0, 97, 98)])[0]!.knownFrom).toBe(95);
  expect(lanes([span(0, 95, 96, 0)])[0]!.knownFrom).toBe(-Infinity);
  expect(lanes([span(0, 95, 96)])[1]!.knownFrom).toBe(Infinity);
  expect(lanes([span(0, 95, 96)], { busy: [0.4, 0] })[1]!.knownFrom).toBe(-Infinity);
});

test('work that ends beyond the picture is told as backlog, work inside it is not', () => {
  const [cpu, gpu] = lanes([span(0, 170, 171), span(1, 100.5, 102)]);
  expect(describeBacklog(cpu!, view)).toBe('backlog 1.18 min');
  expect(cpu!.spans).toEqual([]);
  expect(describeBacklog(gpu!, view)).toBe('');
  expect(gpu!.backlog).toBe(2);
});

test('a failed device shows what it did before the failure and no backlog', () => {
  const devices = [device(0), device(1, true)];
  const mark = (at_time: number, failed_gpus: number[]) => ({ at_task: 1, at_time, change: { failed_gpus } });
  const spans = [span(1, 92, 93), span(1, 97, 110)];
  const [, told] = lanes(spans, { devices, marks: [mark(80, [0]), mark(85, []), mark(95, [0])] });
  expect(told).toMatchObject({ failedFrom: 95, backlog: 0 });
  expect(told!.spans.map((each) => each.start)).toEqual([92]);
  const [, old] = lanes(spans, { devices });
  expect(old).toMatchObject({ failedFrom: -Infinity, spans: [] });
});

test('limits are round numbers at the thirds', () => {
  const limits = durationLimits([0.011, 0.012, 0.019, 0.048, 0.052, 0.055, 0.3].map((length) => span(0, 0, length)));
  expect(limits).toEqual([0.02, 0.05]);
  expect(durationLimits([span(0, 0, 0.05), span(0, 0, 0.05)])).toEqual([0.05, 0.1]);
  expect([0.02, 0.021, 0.06].map((length) => durationClass(span(0, 0, length), limits))).toEqual([0, 1, 2]);
});

test('the nearest span within reach is meant, and none beyond it', () => {
  const row = lanes([span(0, 94, 94.01), span(0, 94.1, 95)]);
  const at = (time: number, slack: number) => findSpan(row, view, 0, timeToPosition(view, time), slack)?.span.start;
  expect(at(94.03, 0.01)).toBe(94);
  expect(at(94.08, 0.01)).toBe(94.1);
  expect(at(94.5, 0)).toBe(94.1);
  expect(at(92, 0.01)).toBeUndefined();
});

test('arrows walk along a lane and to the nearest span of the next one', () => {
  const rows = lanes([span(0, 94, 95), span(0, 96, 97), span(2, 91, 92), span(2, 96.2, 97)], { devices: [device(0), device(1), device(2)], busy: [] });
  const first = moveSelection(rows, null, 'ArrowRight', view)!;
  expect(first.span.start).toBe(96);
  expect(moveSelection(rows, first, 'ArrowLeft', view)!.span.start).toBe(94);
  expect(moveSelection(rows, first, 'ArrowRight', view)!.span.start).toBe(96);
  const below = moveSelection(rows, first, 'ArrowDown', view)!;
  expect([below.row, below.span.start]).toEqual([2, 96.2]);
  expect(moveSelection(rows, below, 'Home', view)!.span.start).toBe(91);
  expect(moveSelection(rows, below, 'ArrowUp', view)!.row).toBe(0);
  expect(moveSelection(lanes([]), null, 'ArrowRight', view)).toBeNull();
});

test('the axis counts back from now and tells how far ahead it looks', () => {
  expect(axisTicks(view).map((tick) => tick.label)).toEqual(['−10 s', '−8 s', '−6 s', '−4 s', '−2 s', 'now', '+2.5 s']);
});

test('the summary says what is to be seen', () => {
  const rows = lanes([span(0, 95, 96), span(0, 170, 171)], { devices: [device(0), device(1, true)] });
  expect(summarizeLanes(rows, view, 'Greedy')).toBe('Lanes of Greedy, last 10 s: CPU 40 % busy, 1 spans, backlog 1.18 min; GPU 0 failed.');
});
