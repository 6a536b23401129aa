/** Race on a workload, compare on it, take it home, or delete it. */
import { useState } from 'react';
import { Download, FlaskConical, Play, Trash2 } from 'lucide-react';
import { remove } from '@/api/client';
import { changeSettings, runCommand, start } from '@/app/orders';
import { navigate } from '@/app/router';
import { useRace } from '@/live/store';
import { Button } from '@/look/parts';
import { Confirm } from '../parts/Confirm';
import { buttonClass, Link } from '../parts/Link';
import type { WorkloadShape } from './useShape';

export function WorkloadActions({ shape }: { shape: WorkloadShape }) {
  const [asking, setAsking] = useState(false);
  const state = useRace((race) => race.frame?.state ?? null, 'slow');
  const goesOn = state === 'running' || state === 'paused' || state === 'ready';
  return (
    <>
      <Button kind="main" disabled={!shape.live} title={shape.live ? (goesOn ? 'The race that runs goes on with its tasks' : 'Start a race on it') : shape.obstacle} onClick={() => void raceOn(shape, goesOn)}>
        <Play size={15} aria-hidden="true" /> Race on it
      </Button>
      <Link to={`/experiments?new=1&workload=${encodeURIComponent(shape.spec)}`} className={buttonClass()}><FlaskConical size={15} aria-hidden="true" /> New experiment with it</Link>
      {shape.kind === 'upload' && (
        <>
          <a href={`/api/workloads/${encodeURIComponent(shape.name)}/file`} download={shape.name} className={buttonClass()}><Download size={15} aria-hidden="true" /> Download</a>
          <Button kind="danger" disabled={shape.in_use} title={shape.in_use ? 'The race or an experiment needs it now' : 'Delete the file'} onClick={() => setAsking(true)}><Trash2 size={15} aria-hidden="true" /> Delete</Button>
        </>
      )}
      {asking && (
        <Confirm title={`Delete ${shape.name}?`} text="The file is gone from the server then. Runs that used it keep their results, but cannot be resumed." doing="Delete it" onYes={() => void deleteWorkload(shape.name)} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

/** The race that goes on takes its next tasks from the workload; if there is none, one starts. */
async function raceOn({ name, spec }: WorkloadShape, goesOn: boolean): Promise<void> {
  const done = goesOn ? await changeSettings(`The race goes on with ${name}`, { preset: spec }) : await start({ preset: spec });
  if (done) navigate('/');
}

async function deleteWorkload(name: string): Promise<void> {
  const gone = await runCommand(`${name} is deleted`, async () => {
    await remove(`/api/workloads/${encodeURIComponent(name)}`);
    return true;
  });
  if (gone) navigate('/workloads');
}
