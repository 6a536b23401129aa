/** For tests: runs, experiments and figures as the server tells them. */
import type { Schemas } from '@/api/client';

export function runLine(id: number, change: Partial<Schemas['RunLine']> = {}): Schemas['RunLine'] {
  return {
    id, kind: 'live', status: 'finished', seed: 0, version: '0.1.0', started_at: `2026-11-16T0${id % 10}:00:00Z`, ended_at: `2026-11-16T0${id % 10}:10:00Z`, current: false, measured: false,
    title: null, schedulers: ['greedy', 'oracle'], workload: 'mixed', load: 0.9, rate: null, num_gpus: 4, tasks: 1000 * id, duration: 60 * id, headline: { scheduler: 'greedy', mean_turnaround: 0.25, tied: [] },
    ...change,
  };
}

export function runDetail(id: number, change: Partial<Schemas['RunDetail']> = {}): Schemas['RunDetail'] {
  return { ...runLine(id), owner: null, heartbeat_at: '2026-11-16T01:00:00Z', cluster: {}, settings: { energy_weight: 0.5, pace: 20 }, changes: [], summary: null, last_task: 99, ...change };
}

export function experiment(id: number, change: Partial<Schemas['Experiment']> = {}): Schemas['Experiment'] {
  return {
    id, title: null, state: 'finished', done: 5, of: 5, ahead: null, error: '', schedulers: ['greedy', 'eft'], workload: 'long_tail', load: 0.8, rate: null, num_gpus: 4, tasks: 500, seeds: [0, 1, 2, 3, 4],
    mode: 'queued', asked_at: '2026-11-16T05:00:00Z', ended_at: null, headline: null, ...change,
  };
}

export const MEASURES: Schemas['MeasureInfo'][] = [
  { name: 'mean_turnaround', unit: 's', meaning: 'mean time from arrival to finish', less_is_better: true },
  { name: 'makespan_over_bound', unit: '×', meaning: 'makespan / certified lower bound', less_is_better: true },
];

export const estimate = (mean: number, spread: number | null = mean / 10): Schemas['Estimate'] => ({ mean, low: spread === null ? null : mean - spread, high: spread === null ? null : mean + spread, n: 5 });

/** Figures of a run by scheduler: its mean turnaround; makespan over bound is one more than that. */
export function runFigures(id: number, turnaround: Record<string, number>, change: Partial<Schemas['RunFigures']> = {}): Schemas['RunFigures'] {
  return {
    run_id: id, title: null, kind: 'comparison', status: 'finished', workload: 'mixed', load: 0.9, rate: null, num_gpus: 4, seeds: [0, 1, 2, 3, 4], tasks: 500, method: 'seeds', explanation: '95 % bootstrap intervals over 5 seeds',
    measures: MEASURES,
    schedulers: Object.entries(turnaround).map(([scheduler, mean]) => ({ scheduler, estimates: { mean_turnaround: estimate(mean), makespan_over_bound: estimate(1 + mean, 0.1) } })),
    ...change,
  };
}

export function difference(scheduler: string, mean: number, low: number | null, high: number | null, change: Partial<Schemas['Difference']> = {}): Schemas['Difference'] {
  return { scheduler, measure: 'mean_turnaround', run_id: 2, baseline: 1, mean, low, high, relative: mean, paired: true, differs: low !== null && high !== null && (low > 0 || high < 0), ...change };
}
