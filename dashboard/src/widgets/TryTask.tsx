/** A task by hand: what would you do with it, and what do the schedulers? */
import { useState, type FormEvent, type ReactNode } from 'react';
import { Crown, Send } from 'lucide-react';
import { post, type Schemas } from '@/api/client';
import { Button, Field, INPUT_CLASS } from '@/components/controls';
import { PlacementText, SplitBar } from '@/components/Placement';
import { SchedulerName } from '@/components/Scheduler';
import { runCommand, useCommands } from '@/state/commands';
import { setQuery } from '@/state/router';
import { formatCount, formatPercent, formatSeconds } from '@/utils/format';
import { buildAuditRows, describeStatus, dropRoundoff, humanizeSentence, type AuditRow } from './decisions';

type Outcome = Schemas['TaskOutcome'];
/** What the server takes; more is refused there too. */
const MAXIMA = { size: 1e6, memory: 1e9 };

export function TryTaskForm() {
  const [size, setSize] = useState('2500');
  const [intensity, setIntensity] = useState(0.8);
  const [memory, setMemory] = useState('200');
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const busy = useCommands((state) => state.pending > 0);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void submitTask({ size: Number(size), compute_intensity: intensity, memory_required: Number(memory) }, setOutcome);
  };
  return (
    <div className="space-y-3">
      <form onSubmit={onSubmit} className="space-y-2.5">
        <div className="grid grid-cols-2 gap-2">
          <Field label="Size" hint="N"><NumberInput value={size} set={setSize} most={MAXIMA.size} least={1} /></Field>
          <Field label="Memory" hint="MB"><NumberInput value={memory} set={setMemory} most={MAXIMA.memory} least={0} /></Field>
        </div>
        <Field label="Intensity" hint="what it gains from a GPU">
          <span className="flex items-center gap-2">
            <input type="range" className="min-w-0 flex-1 accent-[var(--accent)]" min={0} max={1} step={0.01} value={intensity} onChange={(event) => setIntensity(Number(event.target.value))} />
            <output className="num w-10 text-right font-semibold">{intensity.toFixed(2)}</output>
          </span>
        </Field>
        <Button kind="main" type="submit" className="w-full" disabled={busy}><Send size={14} aria-hidden="true" />{busy ? 'It is under way …' : 'Let it arrive now'}</Button>
      </form>
      <div aria-live="polite">{outcome && <Decisions outcome={outcome} />}</div>
    </div>
  );
}

/** The outcome is kept inside the order, so that it also comes when the order had to wait for the token. */
function submitTask(task: Schemas['TaskCreate'], done: (outcome: Outcome) => void): Promise<Outcome | null> {
  const act = async () => {
    const outcome = await post<Outcome>('/api/tasks', task);
    done(outcome);
    return outcome;
  };
  return runCommand('A task by hand', act, (outcome) => `it is task ${formatCount(outcome.task.task_id)}`);
}

function NumberInput({ value, set, least, most }: { value: string; set: (value: string) => void; least: number; most: number }) {
  return <input type="number" required step="any" min={least} max={most} className={INPUT_CLASS} value={value} onChange={(event) => set(event.target.value)} />;
}

function Decisions({ outcome }: { outcome: Outcome }) {
  const results = Object.values(outcome.decisions).map((each) => each.result);
  const explanations = Object.fromEntries(Object.entries(outcome.decisions).map(([name, each]) => [name, each.explanation]));
  const { task_id } = outcome.task;
  return (
    <section aria-label={`Decisions about task ${task_id}`} className="space-y-2">
      <p className="text-xs text-quiet">
        Task #{task_id}. Were the cluster idle, {describeBest(outcome)} would be best: <span className="num">{formatSeconds(outcome.optimal_time)}</span>.
      </p>
      <ol className="space-y-1.5">{buildAuditRows(results, explanations).map((row) => <Decision key={row.name} row={row} />)}</ol>
      <Button className="w-full" onClick={() => setQuery('task', String(task_id))}>All its figures</Button>
    </section>
  );
}

function describeBest({ optimal_gpu_fraction }: Outcome): ReactNode {
  if (optimal_gpu_fraction === 0) return 'the CPU alone';
  return optimal_gpu_fraction === 1 ? 'a GPU alone' : <><span className="num">{formatPercent(optimal_gpu_fraction)}</span> on a GPU</>;
}

function Decision({ row: { name, result, explanation, first } }: { row: AuditRow }) {
  const note = describeStatus(result);
  return (
    <li className="space-y-1 rounded-lg bg-well px-2.5 py-1.5 text-xs ring-1 ring-edge">
      <p className="flex items-center gap-2 text-sm font-semibold">
        <SchedulerName name={name} />
        {first && <span className="flex items-center gap-1 text-xs font-normal text-good"><Crown size={11} aria-hidden="true" />first</span>}
        <span className="num ml-auto">{formatSeconds(dropRoundoff(result.turnaround_time))}</span>
      </p>
      <p><PlacementText place={result} />{note && <span className="text-warn">: {note}</span>}</p>
      <SplitBar place={result} />
      {explanation && <p className="text-quiet">{humanizeSentence(explanation.why)}.</p>}
    </li>
  );
}
