/** A small race for tests: two devices or more, three schedulers, tasks that are easy to reckon with. */
import type { Device, TaskRecord, TaskResult, SchedulerFigures, SimulationUpdate } from '@/live/messages';
import { applyMessage, emptyRace, type Race } from '@/live/state';
import { useLiveStore } from '@/live/store';

export const device = (index: number, failed = false): Device => ({
  index,
  name: index ? `gpu${index - 1}` : 'cpu',
  kind: index ? 'gpu' : 'cpu',
  device_class: index ? 'gpu' : 'cpu',
  failed,
});

export const figures = (name: string, utilisation: number[] = [0.5, 0.9]): SchedulerFigures => ({
  name, tasks: 10, rejected: 0, restarts: 0, spilled: 0, wins: 3, avg_time: 0.1, mean_turnaround: 0.2, total_time: 1, energy: 5, cost: 0.001, makespan: 12,
  makespan_over_bound: 1.01, turnaround_over_bound: null, certified: null, backlog: 0.1, queue_length: 1, saturated: false, utilisation, turnaround_cdf: [], decision_microseconds: 20, insight: null,
  window: { tasks: 10, avg_time: 0.1, mean_turnaround: 0.2, p50_turnaround: 0.2, p95_turnaround: 0.4, p99_turnaround: 0.5, mean_waiting: 0.1, energy: 0.5, cost: 0.0001, gpu_share: 0.5 },
});

/** A result that arrived at 10 s and took `turnaround`. */
export const result = (deviceIndex: number, turnaround: number | null, change: Partial<TaskResult> = {}): TaskResult => ({
  device: deviceIndex, gpu_fraction: deviceIndex ? 1 : 0, time: turnaround === null ? null : turnaround / 2, turnaround, waiting: turnaround === null ? null : turnaround / 2,
  start: 10, finish: turnaround === null ? null : 10 + turnaround, energy: 2, cost: 0.0001, status: turnaround === null ? 2 : 0, attempt: 1, ...change,
});

export const record = (id: number, results: Record<string, TaskResult>, change: Partial<TaskRecord> = {}): TaskRecord => ({
  task_id: id, arrival_time: 10, size: 1000 + id, compute_intensity: 0.5, memory_required: 200, optimal_gpu_fraction: 1, optimal_time: 0.1, explained: true, measured: false, results, ...change,
});

export const frame = (change: Partial<SimulationUpdate> = {}): SimulationUpdate => ({
  type: 'simulation_update', seq: 1, time: 1000, state: 'running', measured: false, tasks_processed: 10, sim_time: 20, tasks_per_second: 20, arrival_rate: 45, bound: 11, settings: settings(),
  devices: [device(0), device(1)], schedulers: [figures('hybrid_ml'), figures('greedy'), figures('oracle')], certified_window: null, error: '', run_id: 1, task: null, comparison: [], latest_results: {}, marks: [],
  records: [], records_total: change.records?.length ?? 0, updates: [], spans: [], spans_total: change.spans?.length ?? 0, analysis: null, ...change,
});

function settings(): SimulationUpdate['settings'] {
  return { schedulers: ['hybrid_ml', 'greedy', 'oracle'], preset: 'mixed', load: 0.9, rate: null, energy_weight: 0.5, num_gpus: 1, failed_gpus: [], pace: 20, max_queue: null, seed: 0, repeatable: true, backend: 'simulated', devices: '' } as unknown as SimulationUpdate['settings'];
}

/** Let the page know these frames, from nothing. */
export function showFrames(...frames: SimulationUpdate[]): Race {
  const race = frames.reduce(applyMessage, emptyRace);
  useLiveStore.setState({ race, status: 'live', lastUpdateAt: Date.now() });
  return race;
}
