/** The form of a new experiment: what is filled in, what is wrong with it, and the order that it makes. */
import type { Schemas } from '@/api/client';
import { isUpload } from '@/pages/labels';
import { pluralize } from '@/utils/format';

/** 0 to 9 rather than ten numbers, where they follow one another. */
export function formatSeeds(seeds: readonly number[]): string {
  const inRow = seeds.length > 2 && seeds.every((seed, i) => i === 0 || seed === seeds[i - 1]! + 1);
  return inRow ? `${seeds[0]} to ${seeds.at(-1)}` : seeds.join(', ');
}

const MAX_SEEDS = 30;

/** `10`: so many seeds from 0 on; `3, 7` or `5,`: these. A string says what is wrong. */
export function parseSeeds(text: string): number | number[] | string {
  const given = text.trim();
  if (!/^\d+(\s*,\s*\d*)*$/.test(given)) return 'Seeds: write how many, like 10, or a list, like 1, 5, 9.';
  const list = given.split(',').map((part) => part.trim()).filter(Boolean).map(Number);
  if (!given.includes(',')) {
    const many = list[0]!;
    return many >= 1 && many <= MAX_SEEDS ? many : `Seeds: 1 to ${MAX_SEEDS} of them.`;
  }
  if (list.length > MAX_SEEDS) return `Seeds: ${MAX_SEEDS} at most.`;
  if (new Set(list).size < list.length) return 'Seeds: each number once.';
  if (list.some((seed) => !Number.isSafeInteger(seed))) return 'Seeds: these numbers are too large.';
  return list;
}

type ExperimentRequest = Schemas['ExperimentCreate'];

export interface Form {
  title: string;
  schedulers: string[];
  workload: string;
  /** How fast tasks come: as the workload has them, by load, or by rate. */
  arrivals: 'own' | 'load' | 'rate';
  load: string;
  rate: string;
  gpus: string;
  tasks: string;
  seeds: string;
  mode: 'queued' | 'isolated';
}

type FormErrors = Partial<Record<keyof Form, string>>;
export const LIMITS = { title: 200, load: 100, rate: 1e6, gpus: 64, tasks: 100_000, schedulers: 20, seeds: MAX_SEEDS } as const;

/** A form with what the address brings, so that other pages can fill it in. */
export function parseForm(query: URLSearchParams): Form {
  const [load, rate] = [query.get('load'), query.get('rate')];
  const workload = query.get('workload') ?? 'mixed';
  return {
    title: '',
    schedulers: (query.get('schedulers') ?? '').split(',').filter(Boolean),
    workload,
    arrivals: load ? 'load' : rate ? 'rate' : isUpload(workload) ? 'own' : 'load',
    load: load ?? '0.9',
    rate: rate ?? '20',
    gpus: query.get('gpus') ?? '4',
    tasks: query.get('tasks') ?? '',
    seeds: query.get('seeds') ?? '10',
    mode: query.get('mode') === 'isolated' ? 'isolated' : 'queued',
  };
}

/** The address of a form that is filled in like a run. */
export function newExperimentPath(run: Pick<Schemas['RunLine'], 'workload' | 'schedulers' | 'load' | 'rate' | 'num_gpus'>): string {
  const query = new URLSearchParams({ new: '1', workload: run.workload.replace(/@[0-9a-f]{8}$/, ''), schedulers: run.schedulers.join(',') });
  if (run.load !== null) query.set('load', String(run.load));
  else if (run.rate !== null) query.set('rate', String(run.rate));
  if (run.num_gpus !== null) query.set('gpus', String(run.num_gpus));
  return `/experiments?${query}`;
}

/** What has to be put right before the form can be sent, by field; empty: nothing. */
export function validateForm(form: Form): FormErrors {
  const errors: FormErrors = {};
  if (form.title.length > LIMITS.title) errors.title = `Title: ${LIMITS.title} characters at most.`;
  if (!form.schedulers.length) errors.schedulers = 'Schedulers: choose at least one.';
  if (form.schedulers.length > LIMITS.schedulers) errors.schedulers = `Schedulers: ${LIMITS.schedulers} at most.`;
  if (!form.workload) errors.workload = 'Workload: choose one.';
  if (form.arrivals === 'load' && !isInRange(form.load, 0, LIMITS.load)) errors.load = `Load: a number above 0, at most ${LIMITS.load}.`;
  if (form.arrivals === 'rate' && !isInRange(form.rate, 0, LIMITS.rate)) errors.rate = 'Rate: a number above 0, at most 1,000,000 tasks a second.';
  if (!isWhole(form.gpus, 0, LIMITS.gpus)) errors.gpus = `GPUs: a whole number from 0 to ${LIMITS.gpus}.`;
  if (form.tasks.trim() && !isWhole(form.tasks, 1, LIMITS.tasks)) errors.tasks = 'Tasks: a whole number from 1 to 100,000, or nothing.';
  const seeds = parseSeeds(form.seeds);
  if (typeof seeds === 'string') errors.seeds = seeds;
  return errors;
}

/** Above the least, at most the most. */
function isInRange(text: string, least: number, most: number): boolean {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value > least && value <= most;
}

function isWhole(text: string, least: number, most: number): boolean {
  const value = Number(text);
  return text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most;
}

/** The order of a form without faults. */
export function toRequest(form: Form): ExperimentRequest {
  const seeds = parseSeeds(form.seeds);
  return {
    title: form.title.trim() || null,
    schedulers: form.schedulers,
    workload: form.workload,
    load: form.arrivals === 'load' ? Number(form.load) : null,
    rate: form.arrivals === 'rate' ? Number(form.rate) : null,
    num_gpus: Number(form.gpus),
    tasks: form.tasks.trim() ? Number(form.tasks) : null,
    seeds: typeof seeds === 'string' ? 10 : seeds,
    mode: form.mode,
  };
}

/** How much work it will be: schedulers times seeds, times tasks if that is known. */
export function describeSize(form: Form): string {
  const seeds = parseSeeds(form.seeds);
  if (typeof seeds === 'string' || !form.schedulers.length) return '';
  const many = typeof seeds === 'number' ? seeds : seeds.length;
  const tasks = isWhole(form.tasks, 1, LIMITS.tasks) ? Number(form.tasks) : null;
  const runs = `${pluralize(form.schedulers.length, 'scheduler')} × ${pluralize(many, 'seed')}`;
  return tasks ? `${runs} × ${tasks.toLocaleString('en-US')} tasks = ${(form.schedulers.length * many * tasks).toLocaleString('en-US')} decisions` : `${runs} on all tasks of the workload`;
}
