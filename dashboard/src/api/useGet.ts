/** Ask the server and keep the answer; again every so often, or when told to. */
import { useCallback, useEffect, useState } from 'react';
import { get, type Problem } from './client';

export interface Answer<T> {
  data: T | null;
  problem: Problem | null;
  loading: boolean;
  again: () => void;
}

export function useGet<T>(path: string | null, everySeconds: number | null = null): Answer<T> {
  const [answer, setAnswer] = useState<{ path: string | null; data: T | null; problem: Problem | null }>({
    path: null,
    data: null,
    problem: null,
  });
  const [asked, setAsked] = useState(0);
  const again = useCallback(() => setAsked((number) => number + 1), []);
  useEffect(() => {
    if (path === null) return;
    let wanted = true;
    const ask = () =>
      get<T>(path).then(
        (data) => wanted && setAnswer({ path, data, problem: null }),
        (problem: Problem) => wanted && setAnswer((old) => ({ path, data: old.path === path ? old.data : null, problem })),
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
    again,
  };
}
