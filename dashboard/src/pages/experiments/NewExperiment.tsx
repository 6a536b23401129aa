/** A new experiment: who, on what, how often. */
import { useState } from 'react';
import { FlaskConical } from 'lucide-react';
import { post, type Problem, type Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { go } from '@/app/router';
import { toast } from '@/app/toasts';
import { Button, ErrorLine, Field, INPUT, Select } from '@/look/parts';
import { attempt } from '../parts/attempt';
import { Link } from '../parts/Link';
import { PageHead, Panel } from '../parts/Panel';
import { formOf, orderOf, size, wrongs, type Form } from './form';
import { SchedulerChoice } from './SchedulerChoice';
import { WorkloadChoice } from './WorkloadChoice';
import type { Experiment } from './rows';

type Entry = Schemas['SchedulerEntry'];

export function NewExperiment({ query }: { query: URLSearchParams }) {
  const schedulers = useGet<Entry[]>('/api/schedulers');
  const [form, setForm] = useState(() => formOf(query));
  const [open, setOpen] = useState(!query.has('schedulers'));
  // Nobody was asked for: begin with those that race by default, once.
  if (open && schedulers.data) {
    setOpen(false);
    setForm({ ...form, schedulers: schedulers.data.filter((each) => each.featured).map((each) => each.name) });
  }
  const put = (change: Partial<Form>) => setForm((old) => ({ ...old, ...change }));
  return (
    <>
      <PageHead
        before={<Link to="/experiments">← All experiments</Link>}
        title="New experiment"
        about="Every scheduler gets the same tasks, once for each seed. It runs beside the live race, in a process of its own."
      />
      <Sheet form={form} put={put} schedulers={schedulers} />
    </>
  );
}

function Sheet({ form, put, schedulers }: { form: Form; put: (change: Partial<Form>) => void; schedulers: ReturnType<typeof useGet<Entry[]>> }) {
  const [tried, setTried] = useState(false);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const wrong = wrongs(form);
  const faults = Object.values(wrong);
  const send = async () => {
    setTried(true);
    setProblem(null);
    if (faults.length) return;
    setSending(true);
    await attempt(() => post<Experiment>('/api/experiments', orderOf(form)), started, setProblem);
    setSending(false);
  };
  return (
    <form
      noValidate
      className="grid items-start gap-3 lg:grid-cols-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Panel title="Who is compared" subtitle={`${form.schedulers.length} chosen`}>
        <SchedulerChoice answer={schedulers} chosen={form.schedulers} onChange={(names) => put({ schedulers: names })} />
      </Panel>
      <div className="space-y-3">
        <Panel title="On what"><Work form={form} put={put} /></Panel>
        <Panel title="How often"><Times form={form} put={put} /></Panel>
        <div className="panel space-y-3 p-4">
          <Field label="Title" hint="optional"><input className={`${INPUT} font-sans`} maxLength={200} placeholder="a night of long tails" value={form.title} onChange={(event) => put({ title: event.target.value })} /></Field>
          {tried && faults.length > 0 && <ErrorLine message={faults.join(' ')} />}
          {problem && <ErrorLine message={problem.message} hint={problem.hint} />}
          <div className="flex flex-wrap items-center gap-3">
            <Button kind="main" type="submit" disabled={sending}><FlaskConical size={15} aria-hidden="true" /> {sending ? 'Starting …' : 'Start the experiment'}</Button>
            <span className="num text-xs text-quiet">{size(form)}</span>
          </div>
        </div>
      </div>
    </form>
  );
}

function started(experiment: Experiment): void {
  toast('good', 'The experiment is under way', `run ${experiment.id}`);
  go(`/experiments?run=${experiment.id}`);
}

interface PartProps {
  form: Form;
  put: (change: Partial<Form>) => void;
}

function Work({ form, put }: PartProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <div className="sm:col-span-2"><WorkloadChoice value={form.workload} onChange={(workload) => put({ workload })} /></div>
      <Field label="Arrivals">
        <Select className="w-full" value={form.arrivals} onChange={(event) => put({ arrivals: event.target.value as Form['arrivals'] })}>
          <option value="load">By offered load</option>
          <option value="rate">By rate</option>
          <option value="own">As the workload has them</option>
        </Select>
      </Field>
      {form.arrivals === 'load' && <Field label="Load" hint="1 is all the cluster can do"><Figure value={form.load} onChange={(load) => put({ load })} step="0.05" /></Field>}
      {form.arrivals === 'rate' && <Field label="Rate" hint="tasks a second"><Figure value={form.rate} onChange={(rate) => put({ rate })} step="any" /></Field>}
      {form.arrivals === 'own' && <p className="self-end pb-1 text-xs text-quiet">Tasks come when the file or the preset says.</p>}
      <Field label="GPUs" hint="beside one CPU"><Figure value={form.gpus} onChange={(gpus) => put({ gpus })} step="1" /></Field>
      <Field label="Mode">
        <Select className="w-full" value={form.mode} onChange={(event) => put({ mode: event.target.value as Form['mode'] })}>
          <option value="queued">Queued: devices have queues</option>
          <option value="isolated">Isolated: each task alone</option>
        </Select>
      </Field>
    </div>
  );
}

function Times({ form, put }: PartProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Seeds" hint="how many, or 1, 5, 9"><input className={INPUT} inputMode="numeric" value={form.seeds} onChange={(event) => put({ seeds: event.target.value })} /></Field>
      <Field label="Tasks of a seed" hint="empty: all"><Figure value={form.tasks} onChange={(tasks) => put({ tasks })} step="1" /></Field>
    </div>
  );
}

function Figure({ value, onChange, step }: { value: string; onChange: (value: string) => void; step: string }) {
  return <input className={INPUT} type="number" min={0} step={step} value={value} onChange={(event) => onChange(event.target.value)} />;
}
