/** All runs that have been asked for: the newest page again and again, older pages once. */
import { useState } from 'react';
import { get, type ApiError, type Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { showToast } from '@/app/toasts';
import { joinRuns, type Row, type Run } from './rows';

const PAGE_SIZE = 100;
const POLL_SECONDS = { active: 2, idle: 10 };

export interface Runs {
  rows: Row[] | null;
  problem: ApiError | null;
  refetch: () => void;
  /** Ask for older runs; null if these are all. */
  older: (() => void) | null;
}

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
