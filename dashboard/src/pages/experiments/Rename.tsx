import { useState } from 'react';
import { patch, type ApiError } from '@/api/client';
import { Button, ErrorMessage, INPUT_CLASS } from '@/look/parts';
import { tryCommand } from '../parts/attempt';
import type { RunDetail } from './RunView';

export const MAX_TITLE = 200;

/** A name for a run; an empty one takes the name away. */
export function RenameForm({ run, onDone }: { run: RunDetail; onDone: () => void }) {
  const [title, setTitle] = useState(run.title ?? '');
  const [problem, setProblem] = useState<ApiError | null>(null);
  const save = () => tryCommand(() => patch(`/api/runs/${run.id}`, { title: title.trim() || null }), onDone, setProblem);
  return (
    <form
      className="flex flex-wrap items-center gap-2 text-base font-normal"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => event.key === 'Escape' && onDone()}
    >
      <input className={`${INPUT_CLASS} w-72 max-w-full font-sans`} aria-label="Title of the run" autoFocus maxLength={MAX_TITLE} value={title} onChange={(event) => setTitle(event.target.value)} />
      <Button kind="main" type="submit">Save</Button>
      <Button onClick={onDone}>Cancel</Button>
      {problem && <ErrorMessage message={problem.message} hint={problem.hint} />}
    </form>
  );
}
