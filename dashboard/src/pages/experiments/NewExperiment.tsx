/** A new experiment: who, on what, how often. */
import { useState } from 'react';
import { FlaskConical } from 'lucide-react';
import { post, type ApiError, type Schemas } from '@/api/client';
import { useFetch, type FetchResult } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { Button, ErrorMessage, Field, INPUT_CLASS, Link, Select } from '@/components/controls';
import { PageHeader, Panel } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import { pluralize } from '@/utils/format';
import { workloadName, workloadPath } from '@/pages/labels';
import { tryCommand } from '@/state/commands';
import { navigate } from '@/state/router';
import { showToast } from '@/state/toasts';
import { describeSize, parseForm, toRequest, validateForm, type Form } from './form';
import type { Experiment } from './runs';

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


/** Checkboxes of all schedulers of the server, with what each does. */
function SchedulerPicker({ answer, chosen, onChange }: { answer: FetchResult<SchedulerEntry[]>; chosen: string[]; onChange: (names: string[]) => void }) {
  return (
    <AsyncContent answer={answer} skeleton={<Skeleton heights={Array<string>(10).fill('h-9')} label="Loading the schedulers" />}>
      {(entries) => (
        <fieldset>
          <legend className="sr-only">Schedulers</legend>
          <p className="mb-2 flex gap-2">
            <Button onClick={() => onChange(entries.filter((each) => each.featured).map((each) => each.name))}>The usual ones</Button>
            <Button onClick={() => onChange(entries.map((each) => each.name))}>All</Button>
            <Button onClick={() => onChange([])}>None</Button>
          </p>
          <ul className="space-y-0.5">
            {entries.map((entry) => (
              <li key={entry.name}><SchedulerOption entry={entry} on={chosen.includes(entry.name)} onChange={(on) => onChange(entries.map(({ name }) => name).filter((name) => (name === entry.name ? on : chosen.includes(name))))} /></li>
            ))}
          </ul>
        </fieldset>
      )}
    </AsyncContent>
  );
}

function SchedulerOption({ entry, on, onChange }: { entry: SchedulerEntry; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="flex items-start gap-2.5 rounded-lg px-1.5 py-1.5 hover:bg-raised">
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-[var(--accent)]" checked={on} onChange={(event) => onChange(event.target.checked)} aria-describedby={`about-${entry.name}`} />
      <span className="min-w-0 text-sm">
        <SchedulerName name={entry.name} />
        <span id={`about-${entry.name}`} className="block text-xs text-quiet">{entry.summary}{entry.sighted === 'yes' ? '; knows the times beforehand' : ''}</span>
      </span>
    </label>
  );
}

type WorkloadLine = Schemas['WorkloadLine'];

/** Presets and uploaded files; one that came with the address is there even before the list is. */
function WorkloadPicker({ value, onChange }: { value: string; onChange: (spec: string) => void }) {
  const { data, problem } = useFetch<Schemas['Workloads']>('/api/workloads');
  const known = data?.workloads ?? [];
  const option = (each: WorkloadLine) => <option key={each.spec} value={each.spec}>{each.kind === 'upload' ? `${each.name} (${pluralize(each.tasks, 'task')})` : each.name}</option>;
  const files = known.filter((each) => each.kind === 'upload');
  return (
    <div>
      <Field label="Workload" hint={problem ? 'the list cannot be read' : ''}>
        <Select className="w-full" value={value} onChange={(event) => onChange(event.target.value)}>
          {!known.some((each) => each.spec === value) && <option value={value}>{workloadName(value)}</option>}
          {files.length > 0 && <optgroup label="Uploaded">{files.map(option)}</optgroup>}
          <optgroup label="Built in">{known.filter((each) => each.kind === 'preset').map(option)}</optgroup>
        </Select>
      </Field>
      <p className="mt-1 flex min-h-5 gap-3 text-xs text-quiet">
        <span className="min-w-0 flex-1">{known.find((each) => each.spec === value)?.summary}</span>
        <Link to={workloadPath(value)}>its shape</Link>
      </p>
    </div>
  );
}
