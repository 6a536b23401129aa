/** What was asked of the server: a skeleton while it is awaited, one line and a button when it failed, else the answer. */
import { useEffect, useState, type ReactNode } from 'react';
import type { ApiError } from '@/api/client';
import type { FetchResult } from '@/api/useFetch';
import { Button, ErrorMessage } from './controls';

export function AsyncContent<T>({ answer, skeleton, children }: { answer: FetchResult<T>; skeleton: ReactNode; children: (data: T) => ReactNode }) {
  const { data, problem, refetch } = answer;
  if (data === null) return problem ? <RequestError problem={problem} retry={refetch} /> : skeleton;
  return (
    <>
      {problem && <RequestError problem={problem} retry={refetch} />}
      {children(data)}
    </>
  );
}

export function RequestError({ problem, retry }: { problem: ApiError; retry: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="min-w-0 flex-1 basis-64 break-words"><ErrorMessage message={problem.message} hint={problem.hint} /></div>
      <Button onClick={retry}>Try again</Button>
    </div>
  );
}

/** Milliseconds after which people ask themselves what takes so long. */
const LATE = 2000;

/** Grey boxes of the height of what is to come, so that nothing jumps; `late` says why it may take long. */
export function Skeleton({ heights, label, late }: { heights: string[]; label: string; late?: string }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" className="space-y-3">
      {late && isLate ? <p className="text-sm text-quiet">{label}: {late}</p> : <span className="sr-only">{label}</span>}
      {heights.map((height, i) => <div key={i} className={`skeleton ${height}`} />)}
    </div>
  );
}

/** How much is done; `label` says of what, for people who do not see the bar. */
export function ProgressBar({ done, total, label }: { done: number; total: number; label: string }) {
  const share = total > 0 ? Math.min(1, done / total) : 0;
  return (
    <div role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done} className="h-2 overflow-hidden rounded-full bg-well ring-1 ring-edge">
      <div className="h-full origin-left rounded-full bg-accent transition-transform" style={{ transform: `scaleX(${share})` }} />
    </div>
  );
}
