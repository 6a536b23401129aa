import { useState } from 'react';
import { patch, type Problem } from '@/api/client';
import { Button, ErrorLine, INPUT } from '@/look/parts';
import { attempt } from '../parts/attempt';
import type { RunDetail } from './RunView';

export const MOST_TITLE = 200;

/** A name for a run; an empty one takes the name away. */
export function Rename({ run, onDone }: { run: RunDetail; onDone: () => void }) {
  const [title, setTitle] = useState(run.title ?? '');
  const [problem, setProblem] = useState<Problem | null>(null);
  const save = () => attempt(() => patch(`/api/runs/${run.id}`, { title: title.trim() || null }), onDone, setProblem);
  return (
    <form
      className="flex flex-wrap items-center gap-2 text-base font-normal"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => event.key === 'Escape' && onDone()}
    >
      <input className={`${INPUT} w-72 max-w-full font-sans`} aria-label="Title of the run" autoFocus maxLength={MOST_TITLE} value={title} onChange={(event) => setTitle(event.target.value)} />
      <Button kind="main" type="submit">Save</Button>
      <Button onClick={onDone}>Cancel</Button>
      {problem && <ErrorLine message={problem.message} hint={problem.hint} />}
    </form>
  );
}
