/** All runs that have been asked for: the newest page again and again, older pages once. */
import { useState } from 'react';
import { get, type Problem, type Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { toast } from '@/app/toasts';
import { joined, type Row, type Run } from './rows';

const PAGE = 100;
const EVERY = { active: 2, idle: 10 };

export interface Runs {
  rows: Row[] | null;
  problem: Problem | null;
  again: () => void;
  /** Ask for older runs; null if these are all. */
  older: (() => void) | null;
}

export function useRuns(): Runs {
  const [active, setActive] = useState(false);
  const every = active ? EVERY.active : EVERY.idle;
  const first = useGet<Schemas['RunPage']>(`/api/runs?limit=${PAGE}`, every);
  const experiments = useGet<Schemas['ExperimentPage']>('/api/experiments?limit=500', every);
  const [old, setOld] = useState<{ runs: Run[]; next: number | null } | null>(null);
  const working = (experiments.data?.waiting ?? 0) > 0;
  if (working !== active && experiments.data) setActive(working);
  const next = old ? old.next : (first.data?.next ?? null);
  const older = async () => {
    try {
      const page = await get<Schemas['RunPage']>(`/api/runs?limit=${PAGE}&after=${next}`);
      setOld((before) => ({ runs: [...(before?.runs ?? []), ...page.runs], next: page.next }));
    } catch (problem) {
      toast('bad', (problem as Problem).message, (problem as Problem).hint);
    }
  };
  // A server that cannot tell about experiments still has its live runs to show.
  const known = first.data && (experiments.data || experiments.problem);
  return {
    rows: known ? joined(once([...first.data!.runs, ...(old?.runs ?? [])]), experiments.data?.experiments ?? []) : null,
    problem: first.problem ?? experiments.problem,
    again: () => {
      first.again();
      experiments.again();
    },
    older: next === null ? null : () => void older(),
  };
}

/** New runs push older ones onto the next page, so that some come twice. */
function once(runs: Run[]): Run[] {
  const seen = new Set<number>();
  return runs.filter(({ id }) => !seen.has(id) && seen.add(id));
}
