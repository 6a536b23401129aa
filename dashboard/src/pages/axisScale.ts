/** Axes of the pages' drawings: from values to a place between 0 and 1, with round ticks. */

interface AxisScale {
  log: boolean;
  low: number;
  high: number;
  at: (value: number) => number;
  ticks: number[];
}

/** Beyond this ratio the smaller half of a linear axis would be crowded. */
const LINEAR_UP_TO = 8;
const PAD = 0.06;

/** An axis for these values; with a floor, nothing lies below it and it is always in sight. */
export function axisScale(values: readonly number[], floor: number | null = null, most = 6): AxisScale {
  const seen = values.filter(Number.isFinite);
  if (floor !== null) seen.push(floor);
  const least = seen.length ? Math.min(...seen) : 0;
  const top = seen.length ? Math.max(...seen) : 1;
  return least > 0 && top / least > LINEAR_UP_TO ? logScale(least, top, most) : linearScale(least, top, most);
}

function linearScale(least: number, top: number, most: number): AxisScale {
  const spread = top - least || Math.abs(top) * 0.2 || 1;
  // An axis of amounts never begins below nothing.
  const low = least >= 0 ? Math.max(0, least - spread * PAD) : least - spread * PAD;
  const high = top + spread * PAD;
  return { log: false, low, high, at: (value) => (value - low) / (high - low), ticks: roundTicks(low, high, most) };
}

function logScale(least: number, top: number, most: number): AxisScale {
  const pad = Math.log(top / least) * PAD;
  const [from, to] = [Math.log(least) - pad, Math.log(top) + pad];
  const [low, high] = [Math.exp(from), Math.exp(to)];
  return { log: true, low, high, at: (value) => (Math.log(Math.max(value, 1e-300)) - from) / (to - from), ticks: logTicks(low, high, most) };
}

/** Steps of 1, 2 or 5 times a power of ten, at most so many. */
export function roundTicks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** 1, 2 and 5 of each decade if they fit, else the decades, thinned out if need be. */
export function logTicks(low: number, high: number, most: number): number[] {
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = decadeTicks(low, high, digits);
    if (ticks.length <= most && ticks.length > 1) return ticks;
  }
  return thinTicks(decadeTicks(low, high, [1]), most);
}

function decadeTicks(low: number, high: number, digits: number[]): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of digits) {
      const value = Number((digit * 10 ** power).toPrecision(6));
      if (value >= low && value <= high) found.push(value);
    }
  }
  return found;
}

/** Moments at which people cut time: seconds by tens, then a minute, ten, an hour, ten, a day. */
const LONG_TIMES = [60, 600, 3600, 36_000, 86_400, 864_000];

/** Ticks of an axis in seconds: beyond two minutes they are whole minutes and hours rather than hundreds of seconds. */
export function timeTicks(scale: AxisScale, most = 6): number[] {
  const { log, low, high, ticks } = scale;
  if (high < 120) return ticks;
  if (log) {
    const moments = LONG_TIMES.filter((each) => each >= low && each <= high);
    return thinTicks([...decadeTicks(low, Math.min(high, 59), [1]), ...moments], most);
  }
  const unit = high >= 172_800 ? 86_400 : high >= 7200 ? 3600 : 60;
  return roundTicks(low / unit, high / unit, most).map((each) => each * unit);
}

function thinTicks(ticks: number[], most: number): number[] {
  const every = Math.ceil(ticks.length / most) || 1;
  return ticks.filter((_, i) => i % every === 0);
}
