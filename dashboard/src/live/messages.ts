// Made by `npm run types` from the schema folder; do not edit.

export type Message = SimulationUpdate | Notification | Log | Hello | Reset | Skipped;

/**
 * The whole race at one moment, and what is new since the update before.
 */
export interface SimulationUpdate {
  /**
   * Once a second at most, else null.
   */
  analysis: Pictures | null;
  /**
   * Tasks per simulated second.
   */
  arrival_rate: number | null;
  /**
   * Nobody can have ended all tasks so far before this moment.
   */
  bound: number | null;
  comparison: Compared[];
  devices: Device[];
  error: string;
  latest_results: {
    [k: string]: LiveResult | undefined;
  };
  marks: Mark[];
  /**
   * New tasks, the newest 50 at most.
   */
  records: LiveRecord[];
  /**
   * New tasks, all of them.
   */
  records_total: number;
  run_id: number | null;
  schedulers: SchedulerFigures[];
  /**
   * Number of the message in its stream; a gap means skipped messages.
   */
  seq: number;
  settings: {
    [k: string]: unknown | undefined;
  };
  sim_time: number;
  /**
   * New shares of tasks on devices, the newest 300 at most: scheduler, device, start, end, task, attempt. An attempt above 1 replaces the shares of that task that had not ended when its device failed.
   */
  spans: [string, number, number, number, number, number][];
  /**
   * New shares, all of them.
   */
  spans_total: number;
  state: 'ready' | 'running' | 'paused' | 'stopped' | 'failed';
  task: LatestTask | null;
  /**
   * Of wall time, lately.
   */
  tasks_per_second: number | null;
  tasks_processed: number;
  /**
   * When it was made, seconds since 1970.
   */
  time: number;
  type: 'simulation_update';
}
/**
 * What changes slowly; about the last tasks (2000 at most).
 */
export interface Pictures {
  correlation: (number | null)[][];
  features: string[];
  /**
   * [size][intensity]: share of tasks faster whole on a GPU.
   */
  gpu_wins: (number | null)[][];
  /**
   * [size][intensity]: best GPU share of the mean task there.
   */
  heatmap: (number | null)[][];
  intensity_edges: number[];
  schedulers: string[];
  size_counts: number[];
  size_edges: number[];
  tasks: number;
  /**
   * [i][j]: tasks that i ended before j.
   */
  wins: number[][];
}
/**
 * A line of the comparison in short.
 */
export interface Compared {
  /**
   * Mean execution time, s.
   */
  avg_time: number | null;
  makespan: number | null;
  makespan_over_bound: number | null;
  mean_turnaround: number | null;
  name: string;
  saturated: boolean;
  wins: number;
}
/**
 * A device of the cluster.
 */
export interface Device {
  device_class: string;
  failed: boolean;
  index: number;
  /**
   * cpu or gpu
   */
  kind: string;
  name: string;
}
/**
 * What one scheduler made of one task; null where a task was rejected.
 */
export interface LiveResult {
  attempt: number;
  /**
   * USD
   */
  cost: number | null;
  /**
   * -1: rejected
   */
  device: number;
  /**
   * J
   */
  energy: number | null;
  finish: number | null;
  gpu_fraction: number | null;
  start: number | null;
  status: number;
  /**
   * Execution, s.
   */
  time: number | null;
  turnaround: number | null;
  waiting: number | null;
}
/**
 * Something that was done to the race.
 */
export interface Mark {
  at_task: number;
  /**
   * Simulated seconds.
   */
  at_time: number;
  /**
   * Changed settings, or a task by hand.
   */
  change: {
    [k: string]: unknown | undefined;
  };
}
/**
 * One task and what all schedulers made of it.
 */
export interface LiveRecord {
  arrival_time: number;
  compute_intensity: number;
  memory_required: number;
  optimal_gpu_fraction: number | null;
  optimal_time: number | null;
  results: {
    [k: string]: LiveResult | undefined;
  };
  size: number;
  task_id: number;
}
/**
 * One scheduler: totals since the start, averages of the last tasks, and what its queues look like.
 */
export interface SchedulerFigures {
  /**
   * Mean execution time, s.
   */
  avg_time: number | null;
  /**
   * Seconds of work before the mean device.
   */
  backlog: number | null;
  /**
   * USD in total
   */
  cost: number | null;
  /**
   * Wall time of a decision.
   */
  decision_microseconds: number | null;
  /**
   * J in total
   */
  energy: number | null;
  /**
   * What a learner tells about itself.
   */
  insight: {
    [k: string]: unknown | undefined;
  };
  /**
   * When its last task ends, simulated seconds.
   */
  makespan: number | null;
  /**
   * 1.0 cannot be beaten by anyone.
   */
  makespan_over_bound: number | null;
  /**
   * Mean time from arrival to finish, s.
   */
  mean_turnaround: number | null;
  name: string;
  /**
   * Shares of tasks that wait.
   */
  queue_length: number;
  rejected: number;
  /**
   * Tasks started again because their GPU failed.
   */
  restarts: number;
  /**
   * Whether its queue keeps growing.
   */
  saturated: boolean;
  /**
   * Tasks that ran elsewhere than it said, because they do not fit there.
   */
  spilled: number;
  tasks: number;
  /**
   * Execution times added up, s.
   */
  total_time: number | null;
  /**
   * Turnaround at 0 %, 5 %, … 100 % of the last tasks.
   */
  turnaround_cdf: (number | null)[];
  /**
   * Busy share of every device, last 60 simulated seconds.
   */
  utilisation: (number | null)[];
  window: WindowFigures;
  /**
   * Tasks that it ended first.
   */
  wins: number;
}
/**
 * Averages over the last tasks, 1000 at most.
 */
export interface WindowFigures {
  /**
   * Execution time, s.
   */
  avg_time: number | null;
  /**
   * USD per task
   */
  cost: number | null;
  /**
   * J per task
   */
  energy: number | null;
  /**
   * Mean share of a task on a GPU.
   */
  gpu_share: number | null;
  /**
   * From arrival to finish, s.
   */
  mean_turnaround: number | null;
  mean_waiting: number | null;
  p50_turnaround: number | null;
  p95_turnaround: number | null;
  p99_turnaround: number | null;
  tasks: number;
}
/**
 * The newest task.
 */
export interface LatestTask {
  arrival_time: number;
  id: number;
  intensity: number;
  /**
   * MB
   */
  memory: number;
  size: number;
}
/**
 * Something that people should notice.
 */
export interface Notification {
  level: 'info' | 'warning' | 'error';
  message: string;
  /**
   * Number of the message in its stream; a gap means skipped messages.
   */
  seq: number;
  /**
   * When it was made, seconds since 1970.
   */
  time: number;
  type: 'notification';
}
/**
 * A line of the log.
 */
export interface Log {
  level: string;
  message: string;
  /**
   * Number of the message in its stream; a gap means skipped messages.
   */
  seq: number;
  source: string;
  /**
   * When it was made, seconds since 1970.
   */
  time: number;
  type: 'log';
}
/**
 * The first message of a connection.
 */
export interface Hello {
  /**
   * What is wrong at the moment; empty: nothing.
   */
  notice: string;
  /**
   * Number of the newest message.
   */
  seq: number;
  /**
   * Which numbering this is; it changes when the server starts anew.
   */
  stream: string;
  type: 'hello';
}
/**
 * What came after the cursor is not known any more: begin with the next update.
 */
export interface Reset {
  seq: number;
  type: 'reset';
}
/**
 * The client was too slow: so many messages were left out here.
 */
export interface Skipped {
  count: number;
  type: 'skipped';
}
