/** Audits for tests: tasks arrive at 10 s. */
import type { Audit, Candidate, Explanation, Result } from '@/widgets/decisions';

export const auditResult = (scheduler_name: string, turnaround: number | null, change: Partial<Result> = {}): Result => ({
  task_id: 7, scheduler_name, attempt: 1, gpu_fraction: 1, device: 1, status: 0, start_time: 10, finish_time: turnaround === null ? null : 10 + turnaround, actual_time: turnaround === null ? null : turnaround / 2,
  waiting_time: turnaround === null ? null : turnaround / 2, turnaround_time: turnaround, energy_consumption: 2, execution_cost: 0.0001, measured: false, ...change,
});

export const candidate = (device: number, wait: number, predicted_time: number | null, change: Partial<Candidate> = {}): Candidate => ({
  device, device_name: device ? `gpu${device - 1}` : 'cpu', kind: device ? 'gpu' : 'cpu', predicted_time, wait, transfer: 0, finish: null, energy: null, cost: null, score: null, chosen: false, ...change,
});

export const explanation = (change: Partial<Explanation> = {}): Explanation => ({
  gpu_fraction: 1, device: 1, rule: 'where it ends first', why: 'whole on gpu0: mostly because of compute_intensity', expected_time: 1, expected_finish: 12,
  candidates: [candidate(0, 3, 1), candidate(1, 0.5, 1, { chosen: true })], contributions: {}, ...change,
});

export const audit = (change: Partial<Audit> = {}): Audit => ({
  run_id: 3,
  task: { task_id: 7, size: 2500, compute_intensity: 0.8, memory_required: 200, arrival_time: 10, dependencies: [] },
  results: [auditResult('hybrid_ml', 2.4), auditResult('greedy', 3, { gpu_fraction: 0.7 }), auditResult('oracle', 2)],
  attempts: {},
  fastest: 'oracle',
  explanations: { hybrid_ml: explanation({ contributions: { size: 0.3 } }), greedy: explanation({ why: 'half on gpu0', expected_time: null }), oracle: explanation() },
  ...change,
});

/** Answer every request with this, as the server would. */
export const respondWith = (body: unknown, status = 200) => () => Promise.resolve(new Response(JSON.stringify(body), { status }));
