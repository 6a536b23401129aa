/** Messages as the server sends them, for tests. */
import type { TaskRecord, TaskResult, SchedulerFigures, SimulationUpdate } from '@/live/messages';

export function result(values: Partial<TaskResult> = {}): TaskResult {
  return { gpu_fraction: 1, device: 1, start: 1, finish: 1.5, time: 0.5, waiting: 0, turnaround: 0.5, energy: 20, cost: 1e-5, status: 0, attempt: 1, ...values };
}

export function record(task_id: number, values: Partial<TaskRecord> = {}): TaskRecord {
  return {
    task_id,
    size: 1000,
    compute_intensity: 0.5,
    memory_required: 100,
    arrival_time: task_id / 10,
    optimal_gpu_fraction: 0.8,
    optimal_time: 0.1,
    explained: true,
    measured: false,
    results: { hybrid_ml: result(), greedy: result({ turnaround: 1 }), oracle: result({ turnaround: 0.4 }) },
    ...values,
  };
}

export function scheduler(name: string, values: Partial<SchedulerFigures> = {}): SchedulerFigures {
  return {
    name,
    tasks: 100,
    rejected: 0,
    restarts: 0,
    spilled: 0,
    wins: 10,
    avg_time: 0.1,
    mean_turnaround: 0.3,
    total_time: 10,
    energy: 400,
    cost: 0.001,
    makespan: 21,
    makespan_over_bound: 1.05,
    turnaround_over_bound: 1.4,
    backlog: 0.2,
    queue_length: 3,
    saturated: false,
    utilisation: [0.5, 0.9],
    window: { tasks: 100, avg_time: 0.1, mean_turnaround: 0.3, p50_turnaround: 0.2, p95_turnaround: 1, p99_turnaround: 2, mean_waiting: 0.2, energy: 4, cost: 1e-5, gpu_share: 0.8 },
    turnaround_cdf: Array.from({ length: 21 }, (_, i) => 0.01 * (i + 1)),
    decision_microseconds: 80,
    insight: null,
    certified: { mean_turnaround: 0.28, energy: 4.2, cost: 1e-5, splits: false },
    ...values,
  };
}

export function update(seq: number, values: Partial<SimulationUpdate> = {}): SimulationUpdate {
  return {
    type: 'simulation_update',
    seq,
    time: 1_700_000_000 + seq,
    run_id: 1,
    state: 'running',
    measured: false,
    tasks_processed: seq * 10,
    sim_time: seq,
    tasks_per_second: 20,
    arrival_rate: 45,
    bound: seq * 0.9,
    settings: { schedulers: ['hybrid_ml', 'greedy', 'oracle'], preset: 'mixed', load: 0.9, rate: null, energy_weight: 0.5, num_gpus: 1, failed_gpus: [], pace: 20, max_queue: null, seed: 0, repeatable: true, backend: 'simulated', devices: '' },
    devices: [
      { index: 0, name: 'cpu', kind: 'cpu', device_class: 'cpu', failed: false },
      { index: 1, name: 'gpu0', kind: 'gpu', device_class: 'gpu', failed: false },
    ],
    schedulers: [scheduler('hybrid_ml'), scheduler('greedy'), scheduler('oracle')],
    certified_window: null,
    error: '',
    task: null,
    comparison: [],
    latest_results: {},
    records: [],
    records_total: 0,
    updates: [],
    spans: [],
    spans_total: 0,
    marks: [],
    analysis: null,
    ...values,
  };
}
