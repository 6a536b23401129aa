/** What was asked of the server: a skeleton while it is awaited, one line and a button when it failed, else the answer. */
import type { ReactNode } from 'react';
import type { ApiError } from '@/api/client';
import type { FetchResult } from '@/api/useGet';
import { Button, ErrorMessage } from '@/look/parts';

export function AsyncContent<T>({ answer, skeleton, children }: { answer: FetchResult<T>; skeleton: ReactNode; children: (data: T) => ReactNode }) {
  const { data, problem, refetch } = answer;
  if (data === null) return problem ? <RequestError problem={problem} again={refetch} /> : skeleton;
  return (
    <>
      {problem && <RequestError problem={problem} again={refetch} />}
      {children(data)}
    </>
  );
}

export function RequestError({ problem, again }: { problem: ApiError; again: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="min-w-0 flex-1 basis-64 break-words"><ErrorMessage message={problem.message} hint={problem.hint} /></div>
      <Button onClick={again}>Try again</Button>
    </div>
  );
}

/** Grey boxes of the height of what is to come, so that nothing jumps. */
export function Skeleton({ heights, label }: { heights: string[]; label: string }) {
  return (
    <div role="status" className="space-y-3">
      {heights.map((height, i) => <div key={i} className={`skeleton ${height}`} />)}
      <span className="sr-only">{label}</span>
    </div>
  );
}
