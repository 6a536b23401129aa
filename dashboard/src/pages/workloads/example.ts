/** A small trace to begin with, made here so that it is there even without a server. */

export const CSV_COLUMNS: [name: string, needed: string, meaning: string][] = [
  ['size', 'required', 'problem size N, above 0'],
  ['compute_intensity', 'required', 'how much it gains from a GPU, from 0 to 1'],
  ['memory_required', 'required', 'MB, 0 or more'],
  ['arrival_time', 'optional', 'seconds, 0 or more; 0 if absent'],
  ['task_id', 'optional', 'whole number, unique; the row number if absent'],
  ['dependencies', 'optional', 'ids of parents, like 1;2'],
  ['duration_estimate', 'optional', 'base duration in seconds; the formula if absent or empty'],
  ['time_<class>', 'optional', 'measured seconds on that class, like time_cpu; inf: cannot run there; empty: the formula'],
];

const EXAMPLE_ROWS = [
  [0, 4000, 0.58, 260, 0.03], [1, 1300, 0.53, 395, 0.06], [2, 2100, 0.8, 416, 0.07], [3, 3200, 0.45, 306, 0.1], [4, 4100, 0.81, 438, 0.11],
  [5, 2900, 0.7, 427, 0.12], [6, 3900, 0.17, 381, 0.14], [7, 4200, 0.85, 152, 0.15], [8, 2200, 0.67, 312, 0.23], [9, 3800, 0.2, 251, 0.24],
];

export const exampleCsv = (): string => ['task_id,size,compute_intensity,memory_required,arrival_time', ...EXAMPLE_ROWS.map((row) => row.join(','))].join('\n') + '\n';
