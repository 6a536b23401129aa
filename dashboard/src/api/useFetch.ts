/** Fetch a path and keep the answer; again every so often, or on demand. */
import { useCallback, useEffect, useState } from 'react';
import { get, type ApiError } from './client';

export interface FetchResult<T> {
  data: T | null;
  problem: ApiError | null;
  loading: boolean;
  refetch: () => void;
}

export function useFetch<T>(path: string | null, everySeconds: number | null = null): FetchResult<T> {
  const [answer, setAnswer] = useState<{ path: string | null; data: T | null; problem: ApiError | null }>({
    path: null,
    data: null,
    problem: null,
  });
  const [requestCount, setRequestCount] = useState(0);
  const refetch = useCallback(() => setRequestCount((number) => number + 1), []);
  useEffect(() => {
    if (path === null) return;
    let active = true;
    const load = () =>
      get<T>(path).then(
        (data) => active && setAnswer({ path, data, problem: null }),
        (problem: ApiError) => active && setAnswer((old) => ({ path, data: old.path === path ? old.data : null, problem })),
      );
    void load();
    const timer = everySeconds === null ? null : setInterval(() => void load(), everySeconds * 1000);
    return () => {
      active = false;
      if (timer) clearInterval(timer);
    };
  }, [path, everySeconds, requestCount]);
  const current = answer.path === path;
  return {
    data: current ? answer.data : null,
    problem: current ? answer.problem : null,
    loading: path !== null && !current,
    refetch,
  };
}
