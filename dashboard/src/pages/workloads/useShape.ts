/** Shapes of workloads: each is asked for once, for it does not change while its file is the same. */
import { useEffect, useState } from 'react';
import { get, type Problem, type Schemas } from '@/api/client';

export type Shape = Schemas['WorkloadShape'];
type Line = Schemas['WorkloadLine'];
const kept = new Map<string, Promise<Shape>>();

export function useShape({ name, sha256 }: Pick<Line, 'name' | 'sha256'>): { shape: Shape | null; problem: Problem | null } {
  const [answer, setAnswer] = useState<{ shape: Shape | null; problem: Problem | null }>({ shape: null, problem: null });
  const key = `${name} ${sha256 ?? ''}`;
  useEffect(() => {
    let wanted = true;
    const asked = kept.get(key) ?? get<Shape>(`/api/workloads/${name}`);
    kept.set(key, asked);
    asked.then(
      (shape) => wanted && setAnswer({ shape, problem: null }),
      (problem: Problem) => {
        kept.delete(key);
        if (wanted) setAnswer({ shape: null, problem });
      },
    );
    return () => {
      wanted = false;
    };
  }, [key, name]);
  return answer;
}

/** For tests: begin anew. */
export const forget = () => kept.clear();
