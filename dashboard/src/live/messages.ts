// Made by `npm run types` from the schema folder; do not edit.

export type Message = SimulationUpdate | Notification | Log | Hello | History | Reset | Skipped;

/**
 * The state of the race, and what is new since the update before.
 *
 * Figures have six significant digits, times four decimals; REST has all digits.
 */
export interface SimulationUpdate {
  /**
   * Once a second at most, else null.
   */
  analysis: Analysis | null;
  /**
   * Tasks per simulated second.
   */
  arrival_rate: number | null;
  /**
   * Lower bound: no schedule ends all tasks so far before this time.
   */
  bound: number | null;
  /**
   * The certified window; null: too few tasks yet.
   */
  certified_window: CertifiedWindow | null;
  comparison: Compared[];
  devices: Device[];
  error: string;
  latest_results: {
    [k: string]: TaskResult | undefined;
  };
  marks: Mark[];
  /**
   * Whether tasks really run: execution times are measured then, and queues follow from them; else everything is simulated.
   */
  measured: boolean;
  /**
   * New tasks, the newest 50 at most.
   */
  records: TaskRecord[];
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
  settings: LiveSettings;
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
   * When it was sent, seconds since 1970.
   */
  time: number;
  type: 'simulation_update';
  /**
   * Tasks of earlier updates that waited in an ordered queue and have started since.
   */
  updates: TaskUpdate[];
}
/**
 * What changes slowly; about the last tasks (2000 at most).
 */
export interface Analysis {
  /**
   * [i][j]: Pearson's r of features i and j, -1 to 1.
   */
  correlation: (number | null)[][];
  /**
   * Features of tasks, then every scheduler by its name: its turnaround, s.
   *
   * size (problem size N), intensity (0 to 1), memory (MB), GPU share (the best one, were the cluster idle), best
   * time (shortest whole time on any device, s).
   */
  features: string[];
  /**
   * [size][intensity]: share of tasks that are faster whole on a GPU.
   */
  gpu_wins: (number | null)[][];
  /**
   * [size][intensity]: best GPU share of the mean task there; null: none seen.
   */
  heatmap: (number | null)[][];
  /**
   * The last training updates of every scheduler that learns.
   */
  histories: {
    [k: string]: ForestHistory | AgentHistory | undefined;
  };
  intensity_edges: number[];
  /**
   * Whether the edges of the sizes grow by factors, as they do if the largest is over 20 times the least.
   */
  log_sizes: boolean;
  schedulers: string[];
  size_counts: number[];
  size_edges: number[];
  size_quantiles: Quantiles;
  /**
   * [size][intensity]: median of log2(time on a CPU / time on a GPU) of the tasks there, whole.
   *
   * 1: the GPU takes half the time, below 0: the CPU is faster; null: none seen that both can run.
   */
  speedup: (number | null)[][];
  tasks: number;
  /**
   * [i][j]: tasks that i ended before j.
   */
  wins: number[][];
}
/**
 * The last fits of a forest.
 */
export interface ForestHistory {
  kind: 'forest';
  /**
   * Newest last, 30 at most.
   */
  points: Retrain[];
}
/**
 * A fit of the forest.
 */
export interface Retrain {
  /**
   * As share_mae: of the forest before, on tasks that it had not seen.
   */
  mae: number | null;
  /**
   * As share_r2.
   */
  r2: number | null;
  /**
   * first: there was none; interval: it was time and worth it; drift: the work had changed.
   */
  reason: 'first' | 'interval' | 'drift';
  /**
   * Tasks that it was fitted on.
   */
  samples: number;
  /**
   * Wall time of the fit.
   */
  seconds: number | null;
  /**
   * The newest task when the new forest began to decide.
   */
  task: number;
  /**
   * Tasks that both are about.
   */
  tested: number;
}
/**
 * The last updates of an agent.
 */
export interface AgentHistory {
  kind: 'agent';
  /**
   * Newest last, 60 at most.
   */
  points: AgentPoint[];
}
/**
 * The agent after an update.
 */
export interface AgentPoint {
  epsilon: number | null;
  loss: number | null;
  /**
   * Running mean, in typical tasks.
   */
  reward: number | null;
  /**
   * The newest task when the update took effect.
   */
  task: number;
}
/**
 * Of the sizes.
 */
export interface Quantiles {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}
/**
 * Consecutive tasks, 500 at most, and what is proved about every schedule of them.
 *
 * A front is a list of points (mean turnaround, measure per task), fewest joules or dollars first: no schedule lies
 * below the line through them, which goes straight up from the first and straight right from the last one.
 */
export interface CertifiedWindow {
  /**
   * (s, USD) of schedules that split no task.
   */
  cost_front: number[][];
  /**
   * (s, USD) of all schedules.
   */
  cost_front_split: number[][];
  /**
   * (s, J) of schedules that split no task.
   */
  energy_front: number[][];
  /**
   * (s, J) of all schedules.
   */
  energy_front_split: number[][];
  first_task: number;
  /**
   * Bound of schedules that split no task, s.
   */
  mean_turnaround: number | null;
  /**
   * Bound of all schedules, s.
   */
  mean_turnaround_split: number | null;
  tasks: number;
}
/**
 * Key figures of a scheduler.
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
  turnaround_over_bound: number | null;
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
  /**
   * A GPU that a CPU stands in for is called (emulated).
   */
  name: string;
}
/**
 * The placement of one task by one scheduler; null where the task was rejected or still waits.
 */
export interface TaskResult {
  attempt?: number;
  /**
   * USD
   */
  cost: number | null;
  /**
   * Where it runs, or waits in an ordered queue; -1: rejected, or it waits for whichever device takes it.
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
 * A command that changed the race.
 */
export interface Mark {
  at_task: number;
  /**
   * Simulated seconds.
   */
  at_time: number;
  /**
   * Changed settings, or a submitted task.
   */
  change: {
    [k: string]: unknown | undefined;
  };
}
/**
 * One task and its placements by all schedulers.
 */
export interface TaskRecord {
  arrival_time: number;
  compute_intensity: number;
  /**
   * Whether GET /api/tasks/{task_id} explains the decisions; the last 500 of them are kept.
   */
  explained: boolean;
  /**
   * Whether it really ran.
   */
  measured: boolean;
  memory_required: number;
  optimal_gpu_fraction: number | null;
  optimal_time: number | null;
  results: {
    [k: string]: TaskResult | undefined;
  };
  size: number;
  task_id: number;
}
/**
 * One scheduler: totals since the start, averages of the last tasks, and the state of its queues.
 */
export interface SchedulerFigures {
  /**
   * Mean execution time, s.
   */
  avg_time: number | null;
  /**
   * Seconds of work queued on the mean device.
   */
  backlog: number | null;
  /**
   * What `turnaround_over_bound` is made of; null as that is.
   */
  certified: CertifiedFigures | null;
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
   * What a learner reports about itself; null: it does not learn.
   */
  insight: ForestInsight | AgentInsight | OtherInsight | null;
  /**
   * When its last task ends, simulated seconds.
   */
  makespan: number | null;
  /**
   * 1.0 is optimal: no schedule can do better.
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
   * The same of the mean turnaround on the certified window; null: it did not take all tasks of it.
   */
  turnaround_over_bound: number | null;
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
 * One scheduler on the certified window.
 */
export interface CertifiedFigures {
  /**
   * USD per task
   */
  cost: number | null;
  /**
   * J per task
   */
  energy: number | null;
  /**
   * s
   */
  mean_turnaround: number | null;
  /**
   * Whether it split some of the tasks: then only the bounds of all schedules cover it.
   */
  splits: boolean;
}
/**
 * State of a forest (hybrid_ml).
 */
export interface ForestInsight {
  /**
   * Whether it trains in a process of its own; then a new model counts 50 tasks later.
   */
  beside: boolean;
  /**
   * How much each feature matters to the predicted GPU share; they add up to 1.
   */
  feature_importance: {
    [k: string]: number | null | undefined;
  };
  kind: 'forest';
  /**
   * The newest task when the last forest began to decide; null: none in this race yet.
   */
  last_retrain: number | null;
  /**
   * Fits of this model, pretraining included.
   */
  retrains: number;
  /**
   * Mean absolute error, in seconds, of the predicted execution times on all classes that can run the task.
   */
  seconds_mae: number | null;
  /**
   * R² of the same predictions.
   */
  seconds_r2: number | null;
  /**
   * Tasks that these two are about: the last ones, 1000 at most.
   */
  seconds_tested: number;
  /**
   * Mean absolute error of the predicted GPU share (0 to 1) against the share that was best in retrospect.
   *
   * On the tasks between the last two fits, which the forest of that time had not seen; null: only one fit yet.
   */
  share_mae: number | null;
  /**
   * R² of the same predictions; null also where the best shares were all equal.
   */
  share_r2: number | null;
  /**
   * Tasks that these two are about.
   */
  share_tested: number;
  /**
   * Models that have replaced one another in this race; 0: the one it started with.
   */
  version: number;
}
/**
 * State of a reinforcement learning agent (rl_agent).
 */
export interface AgentInsight {
  /**
   * Whether it trains in a process of its own; then a new model counts 50 tasks later.
   */
  beside: boolean;
  /**
   * Share of random decisions, 0 to 1.
   */
  epsilon: number | null;
  kind: 'agent';
  /**
   * Of the last update; null before the first one.
   */
  loss: number | null;
  /**
   * What a decision earns lately: a running mean, in typical tasks; 0 would cost nothing.
   */
  reward: number | null;
  /**
   * Gradient steps, pretraining not included.
   */
  steps: number;
  /**
   * Updates of this race that have changed its weights.
   */
  updates: number;
  /**
   * Models that have replaced one another in this race; 0: the one it started with.
   */
  version: number;
}
/**
 * What a third-party policy reports about itself.
 */
export interface OtherInsight {
  kind: 'other';
  values: {
    [k: string]: unknown | undefined;
  };
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
 * The current settings.
 */
export interface LiveSettings {
  /**
   * simulated, or what really runs the tasks
   */
  backend: string;
  /**
   * Devices of the backend; empty if simulated.
   */
  devices: string;
  energy_weight: number;
  failed_gpus: number[];
  load: number | null;
  max_queue: number | null;
  num_gpus: number;
  /**
   * null: as fast as possible
   */
  pace: number | null;
  preset: string;
  rate: number | null;
  /**
   * Whether the same seed and commands give the same run.
   */
  repeatable: boolean;
  schedulers: string[];
  seed: number;
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
 * What has become known of a task that was shown while it waited in ordered queues.
 */
export interface TaskUpdate {
  /**
   * By scheduler; the others stay as they were.
   */
  results: {
    [k: string]: TaskResult | undefined;
  };
  task_id: number;
}
/**
 * A message for people.
 */
export interface Notification {
  level: 'info' | 'warning' | 'error';
  message: string;
  /**
   * Number of the message in its stream; a gap means skipped messages.
   */
  seq: number;
  /**
   * When it was sent, seconds since 1970.
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
   * When it was sent, seconds since 1970.
   */
  time: number;
  type: 'log';
}
/**
 * The first message of a connection.
 */
export interface Hello {
  /**
   * Present problem of the service; empty: none.
   */
  notice: string;
  /**
   * Number of the newest message.
   */
  seq: number;
  /**
   * Id of the numbering; it changes when the server restarts.
   */
  stream: string;
  type: 'hello';
}
/**
 * The last five minutes before the next update, for clients that join; about a moment every two seconds.
 */
export interface History {
  bound: (number | null)[];
  /**
   * Moments, seconds since 1970.
   */
  clock: number[];
  /**
   * The last lines, 200 at most.
   */
  log: Log[];
  marks: Mark[];
  /**
   * The last ones, 20 at most.
   */
  notifications: Notification[];
  /**
   * Tasks per second of wall time.
   */
  rate: (number | null)[];
  run_id: number | null;
  schedulers: {
    [k: string]: SchedulerHistory | undefined;
  };
  /**
   * Number of the newest message.
   */
  seq: number;
  /**
   * The same, simulated seconds.
   */
  time: number[];
  type: 'history';
}
/**
 * Figures of a scheduler at the moments of a history; null before it joined.
 */
export interface SchedulerHistory {
  backlog: (number | null)[];
  /**
   * Mean of the last tasks, s.
   */
  execution: (number | null)[];
  /**
   * Makespan over its bound.
   */
  over_bound: (number | null)[];
  /**
   * Turnaround, s.
   */
  p95: (number | null)[];
  /**
   * Mean of the last tasks, s.
   */
  turnaround: (number | null)[];
  turnaround_over_bound: (number | null)[];
  /**
   * [device][moment]: busy share.
   */
  utilisation: (number | null)[][];
}
/**
 * The messages after the cursor are gone: start with the next update.
 */
export interface Reset {
  seq: number;
  type: 'reset';
}
/**
 * The client was too slow: so many messages were dropped here.
 */
export interface Skipped {
  count: number;
  type: 'skipped';
}
