/** Shapes of workloads: each is asked for once, for it does not change while its file is the same. */
import { useEffect, useState } from 'react';
import { get, type ApiError, type Schemas } from '@/api/client';

export type WorkloadShape = Schemas['WorkloadShape'];
type WorkloadLine = Schemas['WorkloadLine'];
const cache = new Map<string, Promise<WorkloadShape>>();

export function useShape({ name, sha256 }: Pick<WorkloadLine, 'name' | 'sha256'>): { shape: WorkloadShape | null; problem: ApiError | null } {
  const [answer, setAnswer] = useState<{ shape: WorkloadShape | null; problem: ApiError | null }>({ shape: null, problem: null });
  const key = `${name} ${sha256 ?? ''}`;
  useEffect(() => {
    let current = true;
    const request = cache.get(key) ?? get<WorkloadShape>(`/api/workloads/${name}`);
    cache.set(key, request);
    request.then(
      (shape) => current && setAnswer({ shape, problem: null }),
      (problem: ApiError) => {
        cache.delete(key);
        if (current) setAnswer({ shape: null, problem });
      },
    );
    return () => {
      current = false;
    };
  }, [key, name]);
  return answer;
}

/** For tests: begin anew. */
export const clearShapeCache = () => cache.clear();
