/** The list of runs: live runs and comparisons in one, filtered and sorted. */
import { create } from 'zustand';
import type { Schemas } from '@/api/client';
import { schedulerStyle } from '@/look/schedulers';
import { workloadName } from '../parts/words';

export type Run = Schemas['RunLine'];
export type Experiment = Schemas['Experiment'];

export interface Row extends Run {
  /** What an experiment says about itself, where a run is one. */
  experiment: Experiment | null;
  /** The state as people call it. */
  state: string;
}

export const MAX_COMPARED = 8;

/** Join runs with their experiments by number; an experiment that has no run yet is a row too. */
export function joinRuns(runs: readonly Run[], experiments: readonly Experiment[]): Row[] {
  const known = new Map(experiments.map((each) => [each.id, each]));
  const rows = runs.map((run) => {
    const experiment = known.get(run.id) ?? null;
    known.delete(run.id);
    return { ...run, experiment, state: experiment?.state ?? run.status };
  });
  return [...[...known.values()].map(toRow), ...rows];
}

function toRow(experiment: Experiment): Row {
  const { id, state, title, schedulers, workload, load, rate, num_gpus, tasks, asked_at, ended_at, headline } = experiment;
  return {
    id, kind: 'comparison', status: state, state, experiment, title, schedulers, workload, load, rate, num_gpus, tasks, ended_at, headline,
    seed: experiment.seeds[0] ?? 0, version: '', started_at: asked_at, current: false, duration: null, measured: false,
  };
}

export const runTitle = ({ id, kind, title }: Pick<Run, 'id' | 'kind' | 'title'>): string => title ?? `${kind === 'live' ? 'Live race' : kind === 'comparison' ? 'Comparison' : kind} ${id}`;

export type SortKey = 'when' | 'title' | 'duration' | 'tasks' | 'load' | 'gpus';
export const SORTS: Record<SortKey, string> = { when: 'When', title: 'Title', duration: 'Duration', tasks: 'Tasks', load: 'Load', gpus: 'GPUs' };

export interface View {
  kind: 'all' | 'live' | 'comparison';
  text: string;
  sort: SortKey;
  down: boolean;
}

const SORT_VALUES: Record<SortKey, (row: Row) => number | string> = {
  when: (row) => row.started_at,
  title: (row) => runTitle(row).toLowerCase(),
  duration: (row) => row.duration ?? -1,
  tasks: (row) => row.tasks ?? -1,
  load: (row) => row.load ?? row.rate ?? -1,
  gpus: (row) => row.num_gpus ?? -1,
};

/** Rows that match, in order; every word of the text must occur somewhere. */
export function filterRows(rows: readonly Row[], { kind, text, sort, down }: View): Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => (kind === 'all' || row.kind === kind) && words.every((word) => searchText(row).includes(word)));
  const value = SORT_VALUES[sort];
  const side = down ? -1 : 1;
  return found.toSorted((a, b) => {
    const [first, second] = [value(a), value(b)];
    return first < second ? -side : first > second ? side : b.id - a.id;
  });
}

function searchText(row: Row): string {
  const names = row.schedulers.flatMap((name) => [name, schedulerStyle(name).label]);
  return [runTitle(row), `#${row.id}`, row.kind, row.state, workloadName(row.workload), ...names].join(' ').toLowerCase();
}

/** Whether a run has figures that can stand beside others. */
export const isComparable = (row: Row): boolean => !['queued', 'failed', 'cancelled'].includes(row.state) && !(row.kind === 'comparison' && row.state === 'running');

/** Numbers in `1,2,3`, each once; null if that is no list of runs. */
export function parseIds(text: string | null): number[] | null {
  if (!text || !/^\d{1,15}(,\d{1,15})*$/.test(text)) return null;
  return [...new Set(text.split(',').map(Number))];
}

interface RunListState extends View {
  picked: number[];
  set: (view: Partial<View>) => void;
  pick: (id: number, on: boolean) => void;
  clear: () => void;
}

/** Filter, order and ticks outlive a look at one run. */
export const useRunList = create<RunListState>((set) => ({
  kind: 'all',
  text: '',
  sort: 'when',
  down: true,
  picked: [],
  set: (view) => set(view),
  pick: (id, on) => set(({ picked }) => ({ picked: on ? (picked.includes(id) ? picked : [...picked, id]) : picked.filter((each) => each !== id) })),
  clear: () => set({ picked: [] }),
}));
