/** How the pages call workloads, loads and settings. */
import { formatNumber, isKnown } from '@/utils/format';

const UPLOAD = 'upload:';
export const isUpload = (spec: string): boolean => spec.startsWith(UPLOAD);

/** The name in `upload:NAME@SHA8`, or the preset. */
export const workloadName = (spec: string): string => (isUpload(spec) ? spec.slice(UPLOAD.length).replace(/@[0-9a-f]{8}$/, '') : spec);

export const workloadPath = (spec: string): string => `/workloads?name=${encodeURIComponent(workloadName(spec))}`;

/** As people type it: 0.9, 1.25. */
const formatShortest = (value: number): string => String(Number(value.toPrecision(3)));

/** Offered load, or a rate, or whatever the workload brings. */
export function formatLoad({ load, rate }: { load: number | null; rate: number | null }): string {
  if (isKnown(load)) return `${formatShortest(load)} × capacity`;
  if (isKnown(rate)) return `${formatNumber(rate)} tasks/s`;
  return 'as it comes';
}

/** The same in a narrow column that says Load above it. */
export function formatShortLoad({ load, rate }: { load: number | null; rate: number | null }): string {
  return isKnown(load) ? formatShortest(load) : isKnown(rate) ? `${formatNumber(rate)}/s` : 'own';
}
