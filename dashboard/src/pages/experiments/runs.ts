/** The list of runs: live runs and comparisons in one, filtered and sorted. */
import { useState } from 'react';
import { create } from 'zustand';
import { get, type ApiError, type Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { workloadName } from '@/pages/labels';
import { showToast } from '@/state/toasts';
import { schedulerStyle } from '@/theme/schedulers';

export type Run = Schemas['RunLine'];
export type RunDetail = Schemas['RunDetail'];
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

const PAGE_SIZE = 100;
const POLL_SECONDS = { active: 2, idle: 10 };

export interface Runs {
  rows: Row[] | null;
  problem: ApiError | null;
  refetch: () => void;
  /** Ask for older runs; null if these are all. */
  older: (() => void) | null;
}

/** All runs that have been asked for: the newest page again and again, older pages once. */
export function useRuns(): Runs {
  const [active, setActive] = useState(false);
  const every = active ? POLL_SECONDS.active : POLL_SECONDS.idle;
  const first = useFetch<Schemas['RunPage']>(`/api/runs?limit=${PAGE_SIZE}`, every);
  const experiments = useFetch<Schemas['ExperimentPage']>('/api/experiments?limit=500', every);
  const [old, setOld] = useState<{ runs: Run[]; next: number | null } | null>(null);
  const working = (experiments.data?.waiting ?? 0) > 0;
  if (working !== active && experiments.data) setActive(working);
  const next = old ? old.next : (first.data?.next ?? null);
  const older = async () => {
    try {
      const page = await get<Schemas['RunPage']>(`/api/runs?limit=${PAGE_SIZE}&after=${next}`);
      setOld((before) => ({ runs: [...(before?.runs ?? []), ...page.runs], next: page.next }));
    } catch (problem) {
      showToast('bad', (problem as ApiError).message, (problem as ApiError).hint);
    }
  };
  // A server that cannot tell about experiments still has its live runs to show.
  const known = first.data && (experiments.data || experiments.problem);
  return {
    rows: known ? joinRuns(uniqueRuns([...first.data!.runs, ...(old?.runs ?? [])]), experiments.data?.experiments ?? []) : null,
    problem: first.problem ?? experiments.problem,
    refetch: () => {
      first.refetch();
      experiments.refetch();
    },
    older: next === null ? null : () => void older(),
  };
}

/** New runs push older ones onto the next page, so that some come twice. */
function uniqueRuns(runs: Run[]): Run[] {
  const seen = new Set<number>();
  return runs.filter(({ id }) => !seen.has(id) && seen.add(id));
}
