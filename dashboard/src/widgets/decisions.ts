/** What an audit tells: one row for each scheduler, the best first, and the devices as it saw them. */
import type { Schemas } from '@/api/client';
import type { TaskRecord } from '@/live/messages';
import { WAITING } from '@/live/state';
import { formatDevice, isKnown } from '@/utils/format';

export type Audit = Schemas['TaskAudit'];
export type Result = Schemas['SchedulerResult'];
export type Explanation = Schemas['Explanation'];
export type Candidate = Schemas['Candidate'];

export interface AuditRow {
  name: string;
  result: Result;
  attempts: number;
  explanation: Explanation | null;
  /** Whether nobody ended it sooner. */
  first: boolean;
}

/** One row for each scheduler, who ended first on top; of several attempts the last one counts. */
export function buildAuditRows(results: readonly Result[], explanations: Readonly<Record<string, Explanation>>): AuditRow[] {
  const last = new Map<string, Result>();
  const attempts = new Map<string, number>();
  for (const each of results) {
    attempts.set(each.scheduler_name, (attempts.get(each.scheduler_name) ?? 0) + 1);
    if (each.attempt >= (last.get(each.scheduler_name)?.attempt ?? 0)) last.set(each.scheduler_name, each);
  }
  const end = (result: Result) => (isKnown(result.finish_time) ? result.finish_time : Infinity);
  const best = Math.min(...[...last.values()].map(end));
  return [...last]
    .map(([name, result]) => ({ name, result, attempts: attempts.get(name) ?? 1, explanation: explanations[name] ?? null, first: isKnown(result.finish_time) && result.finish_time === best }))
    .toSorted((a, b) => (end(a.result) === end(b.result) ? 0 : end(a.result) - end(b.result)));
}

/** Times below a nanosecond are left-overs of floating point. */
export const dropRoundoff = (value: number | null): number | null => (isKnown(value) && Math.abs(value) < 1e-9 ? 0 : value);

/** What it got over what it expected, both without waiting; null if it expects nothing. */
export function predictionRatio(row: Pick<AuditRow, 'result' | 'explanation'>): number | null {
  const [got, expected] = [row.result.actual_time, row.explanation?.expected_time ?? null];
  return isKnown(got) && isKnown(expected) && expected > 0 ? got / expected : null;
}

/** Its turnaround over the shortest; 1: nobody was faster. */
export function computeRegret(rows: readonly AuditRow[], name: string): number | null {
  const own = rows.find((row) => row.name === name)?.result.turnaround_time ?? null;
  const best = rows[0]?.result.turnaround_time ?? null;
  return isKnown(own) && isKnown(best) && best > 0 ? own / best : null;
}

const REJECTIONS: Record<number, string> = {
  2: 'it needs more memory than any device has',
  3: 'no device can run it',
  4: 'a task it depends on was rejected',
  5: 'too many tasks were waiting',
};

/** Why a task ran nowhere, not yet, or not where the scheduler said; empty: as it said. */
export function describeStatus({ status, device }: Pick<Result, 'status' | 'device'>): string {
  if (status === WAITING) return 'it waits to start';
  if (status === 1) return 'it did not fit where the scheduler said';
  return device < 0 ? (REJECTIONS[status] ?? 'rejected') : '';
}

/** The devices as the scheduler saw them: seconds of waiting, seconds of work, the one it took first. */
export interface Option {
  candidate: Candidate;
  wait: number;
  work: number | null;
  /** Length of both parts, from 0 to 1. */
  waitShare: number;
  workShare: number;
  /** Whether the rest of a split task goes there. */
  rest: boolean;
}

const MAX_OPTIONS = 12;

export function listOptions({ candidates, gpu_fraction }: Explanation): { options: Option[]; more: number } {
  const total = (each: Candidate) => (dropRoundoff(each.wait) ?? 0) + (each.predicted_time ?? 0);
  const longest = Math.max(...candidates.map(total), 1e-12);
  const split = isKnown(gpu_fraction) && gpu_fraction > 0 && gpu_fraction < 1;
  const cpus = candidates.filter((each) => each.kind === 'cpu').length;
  const order = candidates.toSorted((a, b) => Number(b.chosen) - Number(a.chosen) || total(a) - total(b));
  const options = order.slice(0, MAX_OPTIONS).map((candidate) => {
    const wait = dropRoundoff(candidate.wait) ?? 0;
    const rest = split && cpus === 1 && candidate.kind === 'cpu' && !candidate.chosen;
    return { candidate, wait, work: candidate.predicted_time, waitShare: wait / longest, workShare: (candidate.predicted_time ?? 0) / longest, rest };
  });
  return { options, more: candidates.length - options.length };
}

export interface Contribution {
  feature: string;
  value: number;
  /** Length of its bar, from 0 to 1. */
  share: number;
}

/** Features that moved a learner's decision, the strongest first. */
export function rankContributions(contributions: Explanation['contributions']): Contribution[] {
  const values = Object.entries(contributions).filter((entry): entry is [string, number] => isKnown(entry[1]));
  const most = Math.max(...values.map(([, value]) => Math.abs(value)), 1e-12);
  return values.map(([name, value]) => ({ feature: spaceOut(name), value, share: Math.abs(value) / most })).toSorted((a, b) => b.share - a.share);
}

const spaceOut = (name: string): string => name.replaceAll('_', ' ');

/** The server's sentence with names as the page writes them: gpu1 is GPU 1, compute_intensity has a space. */
export function humanizeSentence(sentence: string): string {
  return sentence.replace(/\b(cpu|gpu\d+)\b/g, (name) => formatDevice({ name })).replace(/\b[a-z]+(?:_[a-z]+)+\b/g, spaceOut);
}

export const findNewestExplained = (records: readonly TaskRecord[]): number | null => records.findLast((each) => each.explained)?.task_id ?? null;

/** A task's number as people write it: 12 or #12. */
export function parseTaskNumber(text: string): number | null {
  const [, digits] = /^\s*#?(\d{1,15})\s*$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits);
}
