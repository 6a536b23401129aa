/** Numbers as people read them: three digits that count, a unit that fits. */
const NONE = '–';
/** One formatter for each number of places: making one takes longer than all else on the page. */
const PLACES = Array.from({ length: 9 }, (_, places) => new Intl.NumberFormat('en-US', { minimumFractionDigits: places, maximumFractionDigits: places }));

export function isKnown(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

/** Three significant digits, without an exponent for everyday sizes. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (!isKnown(value)) return NONE;
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

const joinUnit = ({ number, unit }: Quantity): string => (unit ? `${number} ${unit}` : number);

function scaleToUnit(value: number | null | undefined, steps: readonly (readonly [number, string])[]): Quantity {
  if (!isKnown(value)) return { number: NONE, unit: '' };
  const size = Math.abs(value);
  // A value that would be rounded up to the next unit is written in that unit.
  const [step, unit] = steps.find(([each]) => size >= each * 0.9995) ?? steps[steps.length - 1]!;
  return { number: formatNumber(value / step), unit };
}

const TIME = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']] as const;
const ENERGY = [[3.6e6, 'kWh'], [1000, 'kJ'], [1, 'J'], [1e-3, 'mJ']] as const;
const MONEY = [[1, '$'], [1e-3, 'm$'], [1e-6, 'µ$']] as const;
const BYTES = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']] as const;

export const scaleSeconds = (value: number | null | undefined): Quantity => (value === 0 ? { number: '0', unit: 's' } : scaleToUnit(value, TIME));
export const scaleEnergy = (joules: number | null | undefined): Quantity => (joules === 0 ? { number: '0', unit: 'J' } : scaleToUnit(joules, ENERGY));
export const scaleCost = (dollars: number | null | undefined): Quantity => (dollars === 0 ? { number: '0', unit: '$' } : scaleToUnit(dollars, MONEY));

export const formatSeconds = (value: number | null | undefined): string => joinUnit(scaleSeconds(value));
/** Seconds at a tick of a logarithmic axis, which has powers of ten: 10 ms, 1 s, 100 s. */
export function formatSecondsTick(value: number): string {
  if (value >= 1) return `${Number(value.toPrecision(2)).toLocaleString('en-US')} s`;
  return value >= 1e-3 ? `${Number((value * 1e3).toPrecision(2))} ms` : `${Number((value * 1e6).toPrecision(2))} µs`;
}

export const formatEnergy = (joules: number | null | undefined): string => joinUnit(scaleEnergy(joules));
export const formatCost = (dollars: number | null | undefined): string => joinUnit(scaleCost(dollars));
export const formatBytes = (value: number | null | undefined): string => (value === 0 ? '0 B' : joinUnit(scaleToUnit(value, BYTES)));
export const formatMegabytes = (value: number | null | undefined): string => (isKnown(value) ? formatBytes(value * 1e6) : NONE);

export function formatPercent(share: number | null | undefined, places = 0): string {
  return isKnown(share) ? `${(share * 100).toFixed(places)} %` : NONE;
}

/** How far a ratio is above one, with its sign: +3.7 %, −2.0 %; large ones as a factor. */
export function formatRatio(ratio: number | null | undefined): string {
  if (!isKnown(ratio)) return NONE;
  if (ratio >= 10) return `×${formatNumber(ratio)}`;
  const above = (ratio - 1) * 100;
  const written = Math.abs(above).toFixed(Math.abs(above) < 9.95 ? 1 : 0);
  return `${above < 0 && Number(written) !== 0 ? '−' : '+'}${written} %`;
}

export function formatCount(value: number | null | undefined): string {
  return isKnown(value) ? PLACES[0]!.format(Math.round(value)) : NONE;
}

/** A clock of simulated time: 03:53, 1:02:03. */
export function formatClock(value: number | null | undefined): string {
  if (!isKnown(value)) return NONE;
  const whole = Math.max(0, Math.floor(value));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number) => String(part).padStart(2, '0');
  return h ? `${h}:${two(m)}:${two(s)}` : `${two(m)}:${two(s)}`;
}

/** Time of day of a moment since 1970. */
export function formatTimeOfDay(since1970: number): string {
  return new Date(since1970 * 1000).toLocaleTimeString('en-GB');
}

/** A date and time in the reader's zone, short. */
export function formatDate(iso: string | null): string {
  if (!iso) return NONE;
  return new Date(iso).toLocaleString('en-GB', { day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit' });
}

/** CPU, GPU 0, GPU 1, …; one that a CPU only plays is called emulated by the server. */
export const formatDevice = (device: { name: string }): string => device.name.replace(/^(cpu|gpu)(\d*)(?= |$)/, (_all, kind: string, number: string) => `${kind.toUpperCase()}${number ? ` ${number}` : ''}`);

export const pluralize = (number: number, one: string, many = `${one}s`): string => `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;

/** A name of a setting or feature as words: energy_weight, energy weight. */
export const humanize = (name: string): string => name.replaceAll('_', ' ');

/** A value of unknown kind in one line. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number') return Number.isInteger(value) ? value.toLocaleString('en-US') : formatNumber(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length ? value.map(formatValue).join(', ') : 'none';
  if (typeof value === 'object') return Object.entries(value).map(([name, each]) => `${humanize(name)} ${formatValue(each)}`).join(', ') || 'none';
  return String(value);
}
