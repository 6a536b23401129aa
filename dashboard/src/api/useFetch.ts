/** Ask the server and keep the answer; again every so often, or when told to. */
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
  const [asked, setAsked] = useState(0);
  const refetch = useCallback(() => setAsked((number) => number + 1), []);
  useEffect(() => {
    if (path === null) return;
    let wanted = true;
    const ask = () =>
      get<T>(path).then(
        (data) => wanted && setAnswer({ path, data, problem: null }),
        (problem: ApiError) => wanted && setAnswer((old) => ({ path, data: old.path === path ? old.data : null, problem })),
      );
    void ask();
    const timer = everySeconds === null ? null : setInterval(() => void ask(), everySeconds * 1000);
    return () => {
      wanted = false;
      if (timer) clearInterval(timer);
    };
  }, [path, everySeconds, asked]);
  const current = answer.path === path;
  return {
    data: current ? answer.data : null,
    problem: current ? answer.problem : null,
    loading: path !== null && !current,
    refetch,
  };
}
