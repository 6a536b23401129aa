/** How far an experiment is; it can be cancelled while it waits or runs. */
import { remove } from '@/api/client';
import { runCommand } from '@/app/orders';
import { Button, ErrorMessage } from '@/look/parts';
import { ProgressBar } from '../parts/Progress';
import { pluralize } from '../parts/words';
import type { Experiment } from './rows';

export function ExperimentProgress({ experiment, again }: { experiment: Experiment; again: () => void }) {
  const { id, state, done, of, error } = experiment;
  if (state === 'failed') return <ErrorMessage message={error || 'the experiment has failed'} />;
  if (state === 'cancelled' || state === 'interrupted') {
    return <p role="status" className="panel px-4 py-3 text-sm">It was {state === 'cancelled' ? 'cancelled' : 'interrupted: the server ended'} after {done} of {pluralize(of, 'seed')}.</p>;
  }
  if (state === 'finished') return null;
  const cancel = async () => {
    await runCommand('Cancelled', () => remove(`/api/experiments/${id}`), () => `after ${pluralize(done, 'seed')}`);
    again();
  };
  return (
    <div className="panel flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p role="status" className="mb-1.5 text-sm">{describeProgress(experiment)}</p>
        <ProgressBar done={done} of={of} label="Seeds done" />
      </div>
      <Button kind="danger" onClick={() => void cancel()}>Cancel</Button>
    </div>
  );
}

function describeProgress({ state, done, of, ahead }: Experiment): string {
  if (state === 'queued') return ahead ? `It waits: ${pluralize(ahead, 'experiment')} before it.` : 'It starts in a moment.';
  return `${done} of ${pluralize(of, 'seed')} done. The figures appear when all are.`;
}
