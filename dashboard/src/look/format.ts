/** Numbers as people read them: three digits that count, a unit that fits. */

const NONE = '–';
/** One formatter for each number of places: making one takes longer than all else on the page. */
const PLACES = Array.from({ length: 9 }, (_, places) => new Intl.NumberFormat('en-US', { minimumFractionDigits: places, maximumFractionDigits: places }));

export function known(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** Three significant digits, without an exponent for everyday sizes. */
export function figure(value: number | null | undefined, digits = 3): string {
  if (!known(value)) return NONE;
  const size = Math.abs(Number(value.toPrecision(digits))); // rounded first: 0.9999 has as many places as 1
  if (size === 0) return '0';
  if (size >= 1e15 || size < 1e-4) return value.toExponential(digits - 1);
  const places = Math.max(0, Math.min(8, digits - 1 - Math.floor(Math.log10(size))));
  return PLACES[places]!.format(Number(value.toFixed(places)));
}

export interface Quantity {
  number: string;
  unit: string;
}

const text = ({ number, unit }: Quantity): string => (unit ? `${number} ${unit}` : number);

function scaled(value: number | null | undefined, steps: readonly (readonly [number, string])[]): Quantity {
  if (!known(value)) return { number: NONE, unit: '' };
  const size = Math.abs(value);
  // A value that would be rounded up to the next unit is written in that unit.
  const [step, unit] = steps.find(([each]) => size >= each * 0.9995) ?? steps[steps.length - 1]!;
  return { number: figure(value / step), unit };
}

const TIME = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']] as const;
const ENERGY = [[3.6e6, 'kWh'], [1000, 'kJ'], [1, 'J'], [1e-3, 'mJ']] as const;
const MONEY = [[1, '$'], [1e-3, 'm$'], [1e-6, 'µ$']] as const;
const BYTES = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']] as const;

export const secondsOf = (value: number | null | undefined): Quantity => (value === 0 ? { number: '0', unit: 's' } : scaled(value, TIME));
export const energyOf = (joules: number | null | undefined): Quantity => (joules === 0 ? { number: '0', unit: 'J' } : scaled(joules, ENERGY));
export const costOf = (dollars: number | null | undefined): Quantity => (dollars === 0 ? { number: '0', unit: '$' } : scaled(dollars, MONEY));

export const seconds = (value: number | null | undefined): string => text(secondsOf(value));
/** Seconds at a tick of a logarithmic axis, which has powers of ten: 10 ms, 1 s, 100 s. */
export function secondsTick(value: number): string {
  if (value >= 1) return `${Number(value.toPrecision(2)).toLocaleString('en-US')} s`;
  return value >= 1e-3 ? `${Number((value * 1e3).toPrecision(2))} ms` : `${Number((value * 1e6).toPrecision(2))} µs`;
}

export const energy = (joules: number | null | undefined): string => text(energyOf(joules));
export const cost = (dollars: number | null | undefined): string => text(costOf(dollars));
export const bytes = (value: number | null | undefined): string => (value === 0 ? '0 B' : text(scaled(value, BYTES)));
export const megabytes = (value: number | null | undefined): string => (known(value) ? bytes(value * 1e6) : NONE);

export function percent(share: number | null | undefined, places = 0): string {
  return known(share) ? `${(share * 100).toFixed(places)} %` : NONE;
}

/** How far a ratio is above one, with its sign: +3.7 %, −2.0 %; large ones as a factor. */
export function over(ratio: number | null | undefined): string {
  if (!known(ratio)) return NONE;
  if (ratio >= 10) return `×${figure(ratio)}`;
  const above = (ratio - 1) * 100;
  const written = Math.abs(above).toFixed(Math.abs(above) < 9.95 ? 1 : 0);
  return `${above < 0 && Number(written) !== 0 ? '−' : '+'}${written} %`;
}

export function count(value: number | null | undefined): string {
  return known(value) ? PLACES[0]!.format(Math.round(value)) : NONE;
}

/** A clock of simulated time: 03:53, 1:02:03. */
export function clock(value: number | null | undefined): string {
  if (!known(value)) return NONE;
  const whole = Math.max(0, Math.floor(value));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return h ? `${h}:${two(m)}:${two(s)}` : `${two(m)}:${two(s)}`;
}

/** Time of day of a moment since 1970. */
export function timeOfDay(since1970: number): string {
  return new Date(since1970 * 1000).toLocaleTimeString('en-GB');
}

/** A date and time in the reader's zone, short. */
export function moment(iso: string | null): string {
  if (!iso) return NONE;
  return new Date(iso).toLocaleString('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit' });
}
