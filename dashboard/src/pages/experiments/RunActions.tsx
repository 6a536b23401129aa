/** What can be done with a run. */
import { useState } from 'react';
import { Copy, Download, Pencil, RotateCcw, Trash2 } from 'lucide-react';
import { patch, post, remove, type ApiError, type Schemas } from '@/api/client';
import { Button, buttonClass, ErrorMessage, INPUT_CLASS, Link } from '@/components/controls';
import { ConfirmDialog } from '@/components/Dialog';
import { runCommand, tryCommand } from '@/state/commands';
import { navigate } from '@/state/router';
import { newExperimentPath } from './form';
import { runTitle, useRunList, type RunDetail } from './runs';

export function RunActions({ run, state, onRename }: { run: RunDetail; state: string; onRename: () => void }) {
  const [confirming, setConfirming] = useState<'delete' | 'resume' | null>(null);
  const busy = run.current || state === 'running' || state === 'queued';
  const again = run.kind === 'live' && !run.measured && !run.current && (state === 'interrupted' || state === 'finished');
  return (
    <>
      {again && <Button kind="main" onClick={() => setConfirming('resume')}><RotateCcw size={15} aria-hidden="true" /> Resume</Button>}
      {/* Of a comparison only the figures are kept, no single tasks: those are offered beside the table. */}
      {run.kind === 'live' && <ExportLink id={run.id} form="csv" label="CSV" />}
      {run.kind === 'live' && <ExportLink id={run.id} form="parquet" label="Parquet" />}
      <Link to={newExperimentPath(run)} className={buttonClass()}><Copy size={15} aria-hidden="true" /> New one like it</Link>
      <Button onClick={onRename}><Pencil size={15} aria-hidden="true" /> Rename</Button>
      <Button kind="danger" disabled={busy} title={busy ? 'It goes on: stop or cancel it first' : 'Delete the run'} onClick={() => setConfirming('delete')}><Trash2 size={15} aria-hidden="true" /> Delete</Button>
      {confirming === 'delete' && (
        <ConfirmDialog title={`Delete ${runTitle(run)}?`} text="Its tasks, results and figures are gone then, and cannot be brought back." confirmLabel="Delete it" onConfirm={() => void deleteRun(run)} onClose={() => setConfirming(null)} />
      )}
      {confirming === 'resume' && (
        <ConfirmDialog title={`Resume ${runTitle(run)}?`} text="It is played again up to its last task, then goes on live. A race that runs now is stopped and kept." confirmLabel="Resume it" onConfirm={() => void resumeRun(run.id)} onClose={() => setConfirming(null)} />
      )}
    </>
  );
}

function ExportLink({ id, form, label }: { id: number; form: 'csv' | 'parquet'; label: string }) {
  return (
    <a href={`/api/runs/${id}/export?format=${form}`} download className={buttonClass()} aria-label={`Download the results as ${label}`}>
      <Download size={15} aria-hidden="true" /> {label}
    </a>
  );
}

async function deleteRun(run: RunDetail): Promise<void> {
  const gone = await runCommand(`${runTitle(run)} is deleted`, async () => {
    await remove(`/api/runs/${run.id}`);
    return true;
  });
  if (!gone) return;
  useRunList.getState().pick(run.id, false);
  navigate('/experiments');
}

async function resumeRun(id: number): Promise<void> {
  const answer = await runCommand('The run goes on', () => post<Schemas['Resumed']>(`/api/runs/${id}/resume`), (said) => `run ${said.run_id}`);
  if (answer) navigate('/');
}

const MAX_TITLE = 200;

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
