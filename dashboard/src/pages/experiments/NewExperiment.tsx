/** A new experiment: who, on what, how often. */
import { useState } from 'react';
import { FlaskConical } from 'lucide-react';
import { post, type ApiError, type Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { navigate } from '@/app/router';
import { showToast } from '@/app/toasts';
import { Button, ErrorMessage, Field, INPUT_CLASS, Select } from '@/look/parts';
import { tryCommand } from '../parts/attempt';
import { Link } from '../parts/Link';
import { PageHeader, Panel } from '../parts/Panel';
import { parseForm, toRequest, describeSize, validateForm, type Form } from './form';
import { SchedulerPicker } from './SchedulerChoice';
import { WorkloadPicker } from './WorkloadChoice';
import type { Experiment } from './rows';

type SchedulerEntry = Schemas['SchedulerEntry'];

export function NewExperiment({ query }: { query: URLSearchParams }) {
  const schedulers = useFetch<SchedulerEntry[]>('/api/schedulers');
  const [form, setForm] = useState(() => parseForm(query));
  const [open, setOpen] = useState(!query.has('schedulers'));
  // Nobody was asked for: begin with those that race by default, once.
  if (open && schedulers.data) {
    setOpen(false);
    setForm({ ...form, schedulers: schedulers.data.filter((each) => each.featured).map((each) => each.name) });
  }
  const put = (change: Partial<Form>) => setForm((old) => ({ ...old, ...change }));
  return (
    <>
      <PageHeader
        before={<Link to="/experiments">← All experiments</Link>}
        title="New experiment"
        about="Every scheduler gets the same tasks, once for each seed. It runs beside the live race, in a process of its own."
      />
      <ExperimentForm form={form} put={put} schedulers={schedulers} />
    </>
  );
}

function ExperimentForm({ form, put, schedulers }: { form: Form; put: (change: Partial<Form>) => void; schedulers: ReturnType<typeof useFetch<SchedulerEntry[]>> }) {
  const [tried, setTried] = useState(false);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const wrong = validateForm(form);
  const faults = Object.values(wrong);
  const send = async () => {
    setTried(true);
    setProblem(null);
    if (faults.length) return;
    setSending(true);
    await tryCommand(() => post<Experiment>('/api/experiments', toRequest(form)), openExperiment, setProblem);
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
        <SchedulerPicker answer={schedulers} chosen={form.schedulers} onChange={(names) => put({ schedulers: names })} />
      </Panel>
      <div className="space-y-3">
        <Panel title="On what"><WorkloadFields form={form} put={put} /></Panel>
        <Panel title="How often"><SeedFields form={form} put={put} /></Panel>
        <div className="panel space-y-3 p-4">
          <Field label="Title" hint="optional"><input className={`${INPUT_CLASS} font-sans`} maxLength={200} placeholder="a night of long tails" value={form.title} onChange={(event) => put({ title: event.target.value })} /></Field>
          {tried && faults.length > 0 && <ErrorMessage message={faults.join(' ')} />}
          {problem && <ErrorMessage message={problem.message} hint={problem.hint} />}
          <div className="flex flex-wrap items-center gap-3">
            <Button kind="main" type="submit" disabled={sending}><FlaskConical size={15} aria-hidden="true" /> {sending ? 'Starting …' : 'Start the experiment'}</Button>
            <span className="num text-xs text-quiet">{describeSize(form)}</span>
          </div>
        </div>
      </div>
    </form>
  );
}

function openExperiment(experiment: Experiment): void {
  showToast('good', 'The experiment is under way', `run ${experiment.id}`);
  navigate(`/experiments?run=${experiment.id}`);
}

interface FieldsProps {
  form: Form;
  put: (change: Partial<Form>) => void;
}

function WorkloadFields({ form, put }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <div className="sm:col-span-2"><WorkloadPicker value={form.workload} onChange={(workload) => put({ workload })} /></div>
      <Field label="Arrivals">
        <Select className="w-full" value={form.arrivals} onChange={(event) => put({ arrivals: event.target.value as Form['arrivals'] })}>
          <option value="load">By offered load</option>
          <option value="rate">By rate</option>
          <option value="own">As the workload has them</option>
        </Select>
      </Field>
      {form.arrivals === 'load' && <Field label="Load" hint="1 is all the cluster can do"><NumberInput value={form.load} onChange={(load) => put({ load })} step="0.05" /></Field>}
      {form.arrivals === 'rate' && <Field label="Rate" hint="tasks a second"><NumberInput value={form.rate} onChange={(rate) => put({ rate })} step="any" /></Field>}
      {form.arrivals === 'own' && <p className="self-end pb-1 text-xs text-quiet">Tasks come when the file or the preset says.</p>}
      <Field label="GPUs" hint="beside one CPU"><NumberInput value={form.gpus} onChange={(gpus) => put({ gpus })} step="1" /></Field>
      <Field label="Mode">
        <Select className="w-full" value={form.mode} onChange={(event) => put({ mode: event.target.value as Form['mode'] })}>
          <option value="queued">Queued: devices have queues</option>
          <option value="isolated">Isolated: each task alone</option>
        </Select>
      </Field>
    </div>
  );
}

function SeedFields({ form, put }: FieldsProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Seeds" hint="how many, or 1, 5, 9"><input className={INPUT_CLASS} inputMode="numeric" value={form.seeds} onChange={(event) => put({ seeds: event.target.value })} /></Field>
      <Field label="Tasks of a seed" hint="empty: all"><NumberInput value={form.tasks} onChange={(tasks) => put({ tasks })} step="1" /></Field>
    </div>
  );
}

function NumberInput({ value, onChange, step }: { value: string; onChange: (value: string) => void; step: string }) {
  return <input className={INPUT_CLASS} type="number" min={0} step={step} value={value} onChange={(event) => onChange(event.target.value)} />;
}
