/** Scales and ticks that the drawn widgets share. */
import { isKnown } from './format';

export type Range = [number, number];

/** Small text in pixels: pages on very wide screens have larger letters, and drawings must leave room for them. */
export function smallTextSize(): number {
  const root = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return (root > 0 ? root : 15) * 0.75;
}

/** From values to pixels; what lies outside is put on the border. */
export function makeScale(range: Range, pixels: Range, log = false): (value: number) => number {
  const warp = log ? (value: number) => Math.log(Math.max(value, Number.MIN_VALUE)) : (value: number) => value;
  const [low, high] = [warp(range[0]), warp(range[1])];
  const step = (pixels[1] - pixels[0]) / (high - low || 1);
  return (value) => pixels[0] + (Math.min(high, Math.max(low, warp(value))) - low) * step;
}

/** From pixels back to values. */
export function invertScale(range: Range, pixels: Range, log = false): (pixel: number) => number {
  const share = (pixel: number) => Math.min(1, Math.max(0, (pixel - pixels[0]) / (pixels[1] - pixels[0] || 1)));
  if (!log) return (pixel) => range[0] + (range[1] - range[0]) * share(pixel);
  return (pixel) => range[0] * (range[1] / range[0]) ** share(pixel);
}

export interface Axis {
  range: Range;
  ticks: number[];
  log: boolean;
}

/** Round steps of 1, 2 or 5 around the values. `unit`: what the steps are round in, as 60 for minutes and all beyond. */
export function linearAxis(low: number, high: number, most: number, unit = 1): Axis {
  const least = (high - low || Math.abs(high) || 1) / Math.max(1, most);
  const step = unit < 60 ? roundStep(least / unit) * unit : roundTimeStep(least);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return { range: [ticks[0]!, ticks.at(-1)!], ticks, log: false };
}

const MINUTE = 60, HOUR = 3600, DAY = 86400;
const TIME_STEPS = [...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE), ...[1, 2, 3, 6, 12].map((each) => each * HOUR), DAY];

/** Parts of an hour and of a day as clocks have them, then days. */
function roundTimeStep(least: number): number {
  return TIME_STEPS.find((each) => each >= least * (1 - 1e-9)) ?? roundStep(least / DAY) * DAY;
}

function roundStep(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least));
  return (([1, 2, 5].find((each) => each * decade >= least * (1 - 1e-9)) ?? 10) * decade);
}

const DECADES = Array.from({ length: 25 }, (_, i) => Number(`1e${i - 10}`));
const FINE = DECADES.flatMap((each) => [each, 2 * each, 5 * each]);
/** Nobody reads 100 s or 1000 s at ease, but 1 min, 10 min and 1 h. */
const LONG = [60, 600, 3600, 36000, 86400, 864000];
const LONG_FINE = [60, 120, 300, 600, 1200, 3600, 7200, 18000, 36000, 86400, 172800, 432000, 864000];
const TIMES = [...DECADES.filter((each) => each <= 10), ...LONG];
const TIMES_FINE = [...FINE.filter((each) => each <= 20), ...LONG_FINE];

/** Ticks of a logarithmic axis: decades, or finer where these are less than three. */
export function logTicks([low, high]: Range, most: number, time = false): number[] {
  const inside = (each: number) => each >= low * (1 - 1e-9) && each <= high * (1 + 1e-9);
  const coarse = (time ? TIMES : DECADES).filter(inside);
  const ticks = coarse.length >= 3 ? coarse : (time ? TIMES_FINE : FINE).filter(inside);
  const every = Math.ceil(ticks.length / Math.max(1, most));
  return ticks.filter((_, i) => i % every === 0);
}

/** A logarithmic axis around positive values. Its ends lie on quarters of a decade, so that it does not move with every update. */
export function logAxis(low: number, high: number, most: number, time = false): Axis {
  const quarter = (value: number, round: (x: number) => number) => 10 ** (round(Math.log10(value) * 4) / 4);
  const from = quarter(low, (x) => Math.floor(x + 1e-9));
  const to = quarter(high, (x) => Math.ceil(x - 1e-9));
  const range: Range = [from, to > from ? to : from * 10 ** 0.25];
  return { range, ticks: logTicks(range, most, time), log: true };
}

/** What a round number of seconds is round in. */
export const timeUnit = (high: number): number => [86400, 3600, 60].find((unit) => high >= unit) ?? 1;

/** The text of a tick: "1.00 s" is more than it needs. */
export const trimZeros = (text: string): string => text.replace(/(\.\d*?)0+(?= |$)/, '$1').replace(/\.(?= |$)/, '');

export const keepPositive = (values: readonly (number | null | undefined)[]): number[] => values.filter((value): value is number => isKnown(value) && value > 0);

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The area that two boxes share. */
export function overlapArea(a: Box, b: Box): number {
  const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return wide > 0 && high > 0 ? wide * high : 0;
}
