/** How the pages call workloads, loads and settings. */
import { figure, known } from '@/look/format';

const UPLOAD = 'upload:';
export const isUpload = (spec: string): boolean => spec.startsWith(UPLOAD);

/** The name in `upload:NAME@SHA8`, or the preset. */
export const workloadName = (spec: string): string => (isUpload(spec) ? spec.slice(UPLOAD.length).replace(/@[0-9a-f]{8}$/, '') : spec);

export const workloadPath = (spec: string): string => `/workloads?name=${encodeURIComponent(workloadName(spec))}`;

/** As people type it: 0.9, 1.25. */
const shortest = (value: number): string => String(Number(value.toPrecision(3)));

/** Offered load, or a rate, or whatever the workload brings. */
export function loadText({ load, rate }: { load: number | null; rate: number | null }): string {
  if (known(load)) return `${shortest(load)} × capacity`;
  if (known(rate)) return `${figure(rate)} tasks/s`;
  return 'as it comes';
}

/** The same in a narrow column that says Load above it. */
export function loadShort({ load, rate }: { load: number | null; rate: number | null }): string {
  return known(load) ? shortest(load) : known(rate) ? `${figure(rate)}/s` : 'own';
}

export const plural = (number: number, one: string, many = `${one}s`): string => `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`;

/** A name of a setting or feature as words: energy_weight, energy weight. */
export const spaced = (name: string): string => name.replaceAll('_', ' ');

/** A value of unknown kind in one line. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number') return Number.isInteger(value) ? value.toLocaleString('en-US') : figure(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length ? value.map(plain).join(', ') : 'none';
  if (typeof value === 'object') return Object.entries(value).map(([name, each]) => `${spaced(name)} ${plain(each)}`).join(', ') || 'none';
  return String(value);
}
