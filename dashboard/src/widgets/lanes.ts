/** The maths of the device lanes: which spans are seen where, what is under the pointer, where an arrow key leads. */
import type { Device, Mark } from '@/live/messages';
import type { Span } from '@/live/state';
import { formatDevice, formatPercent, formatSeconds as written } from '@/utils/format';

/** Seconds to show; real kernels take milliseconds, so a measured race begins with one second. */
export const WINDOWS = [1, 5, 10, 15, 60] as const;
/** The right part of the axis that lies after now: queued work. */
const FUTURE = 0.2;

export interface View {
  from: number;
  now: number;
  to: number;
}

export function makeView(now: number, seconds: number): View {
  return { from: now - seconds, now, to: now + (seconds * FUTURE) / (1 - FUTURE) };
}

/** Place of a moment on the axis: 0 is its left end, 1 its right end. */
export const timeToPosition = (view: View, time: number): number => (time - view.from) / (view.to - view.from);

export interface Lane {
  device: Device;
  /** What is to be seen, in order of time. */
  spans: Span[];
  /** Busy share, last 60 simulated seconds. */
  busy: number | null;
  /** Seconds of work before it. */
  backlog: number;
  /** From when on a gap means idle: what was placed before this page looked is not known. */
  knownFrom: number;
  failedFrom: number | null;
}

export interface LaneInput {
  devices: readonly Device[];
  spans: readonly Span[];
  busy: readonly (number | null)[];
  marks: readonly Mark[];
  view: View;
}

export function buildLanes({ devices, spans, busy, marks, view }: LaneInput): Lane[] {
  const complete = spans.some((span) => span.task === 0);
  return devices.map((device) => {
    const all = spans.filter((span) => span.device === device.index);
    const failedFrom = device.failed ? findFailure(marks, device, devices) : null;
    const seen = all.filter((span) => span.end > view.from && span.start < view.to && (failedFrom === null || span.start < failedFrom));
    const share = busy[device.index] ?? null;
    return {
      device,
      spans: seen.toSorted((a, b) => a.start - b.start),
      busy: share,
      backlog: device.failed ? 0 : Math.max(0, ...all.map((span) => span.end - view.now)),
      knownFrom: complete || share === 0 ? -Infinity : Math.min(...all.map((span) => span.start)),
      failedFrom,
    };
  });
}

/** When a device failed, as the marks tell; a failure older than they are began before everything. */
function findFailure(marks: readonly Mark[], device: Device, devices: readonly Device[]): number {
  const gpu = devices.filter((each) => each.kind === 'gpu').findIndex((each) => each.index === device.index);
  let since: number | null = null;
  for (const { change, at_time } of marks) {
    if (!Array.isArray(change.failed_gpus)) continue;
    if (!change.failed_gpus.includes(gpu)) since = null;
    else since ??= at_time;
  }
  return since ?? -Infinity;
}

export type Limits = [number, number];

/** Lengths that part short, medium and long spans: thirds, rounded so that they stand still while the race moves. */
export function durationLimits(spans: readonly Span[]): Limits {
  const lengths = spans.map((span) => span.end - span.start).sort((a, b) => a - b);
  if (!lengths.length) return [0.02, 0.1];
  const at = (share: number) => roundTo125(lengths[Math.floor(share * (lengths.length - 1))]!);
  const [low, high] = [at(1 / 3), at(2 / 3)];
  return [low, high > low ? high : roundTo125(low * 2.2)];
}

/** The nearest of 1, 2, 5, 10, … */
function roundTo125(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  const step = [1, 2, 5, 10].reduce((best, each) => (Math.abs(Math.log(each * power) - Math.log(value)) < Math.abs(Math.log(best * power) - Math.log(value)) ? each : best));
  return Number((step * power).toPrecision(1));
}

/** 0 short, 1 medium, 2 long. */
export function durationClass(span: Span, [low, high]: Limits): 0 | 1 | 2 {
  const length = span.end - span.start;
  return length <= low ? 0 : length <= high ? 1 : 2;
}

/** A span in its lane. */
export interface SelectedSpan {
  row: number;
  span: Span;
}

/** The span of a row at a place of the axis, or the nearest one no further away than `slack`. */
export function findSpan(lanes: readonly Lane[], view: View, row: number, place: number, slack: number): SelectedSpan | null {
  const time = view.from + place * (view.to - view.from);
  const reach = slack * (view.to - view.from);
  let best: Span | null = null;
  let least = reach;
  for (const span of lanes[row]?.spans ?? []) {
    const away = Math.max(span.start - time, time - span.end, 0);
    if (away <= least && (best === null || away < least)) [best, least] = [span, away];
  }
  return best && { row, span: best };
}

/** Where an arrow key leads: along the lane, or to the nearest span of the next lane that has one. */
export function moveSelection(lanes: readonly Lane[], picked: SelectedSpan | null, key: string, view: View): SelectedSpan | null {
  if (!picked) return findNearest(lanes, lanes.findIndex((lane) => lane.spans.length), view.now);
  const { row, span } = picked;
  const line = lanes[row]?.spans ?? [];
  const at = line.indexOf(span);
  const along = (to: number): SelectedSpan => ({ row, span: line[Math.min(line.length - 1, Math.max(0, to))] ?? span });
  if (key === 'ArrowLeft') return along(at - 1);
  if (key === 'ArrowRight') return along(at + 1);
  if (key === 'Home') return along(0);
  if (key === 'End') return along(line.length - 1);
  const step = key === 'ArrowUp' ? -1 : key === 'ArrowDown' ? 1 : 0;
  for (let next = row + step; step && next >= 0 && next < lanes.length; next += step) {
    const found = findNearest(lanes, next, (span.start + span.end) / 2);
    if (found) return found;
  }
  return picked;
}

function findNearest(lanes: readonly Lane[], row: number, time: number): SelectedSpan | null {
  const away = (span: Span) => Math.abs((span.start + span.end) / 2 - time);
  const spans = lanes[row]?.spans ?? [];
  return spans.length ? { row, span: spans.reduce((best, each) => (away(each) < away(best) ? each : best)) } : null;
}

export interface Tick {
  place: number;
  label: string;
}

export function axisTicks(view: View): Tick[] {
  const past = view.now - view.from;
  const step = past <= 5 ? 1 : past <= 10 ? 2 : past <= 15 ? 5 : 15;
  const ticks: Tick[] = [];
  for (let back = Math.floor(past / step) * step; back > 0; back -= step) ticks.push({ place: timeToPosition(view, view.now - back), label: `−${back} s` });
  return [...ticks, { place: timeToPosition(view, view.now), label: 'now' }, { place: 1, label: `+${+(view.to - view.now).toFixed(1)} s` }];
}

/** Backlog that does not fit into the picture, in words; else nothing. */
export function describeBacklog(lane: Lane, view: View): string {
  return lane.backlog > view.to - view.now ? `backlog ${written(lane.backlog)}` : '';
}

/** Moments and lengths below a nanosecond are left-overs of floating point. */
export const dropRoundoff = (value: number): number => (Math.abs(value) < 1e-9 ? 0 : value);

/** What is to be seen, for people who do not see it. */
export function summarizeLanes(lanes: readonly Lane[], view: View, scheduler: string): string {
  const parts = lanes.map((lane) => {
    const name = formatDevice(lane.device);
    if (lane.device.failed) return `${name} failed`;
    const backlog = describeBacklog(lane, view);
    return `${name} ${formatPercent(lane.busy)} busy, ${lane.spans.length} spans${backlog ? `, ${backlog}` : ''}`;
  });
  return `Lanes of ${scheduler}, last ${+(view.now - view.from).toFixed(1)} s: ${parts.join('; ')}.`;
}
