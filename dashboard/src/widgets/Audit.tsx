/** Everything about one task: what all schedulers made of it, and why. */
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { Maximize2, Route, Search } from 'lucide-react';
import type { ApiError } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { Button, EmptyState, ErrorMessage, INPUT_CLASS } from '@/components/controls';
import { Dialog } from '@/components/Dialog';
import { Tile } from '@/components/Panel';
import { PlacementText, SplitBar } from '@/components/Placement';
import { SchedulerName } from '@/components/Scheduler';
import { WAITING } from '@/live/state';
import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { setQuery, useRouter } from '@/state/router';
import { schedulerStyle } from '@/theme/schedulers';
import { formatMegabytes, formatNumber, formatRatio, formatSeconds } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';
import { DecisionTable, PredictionError, Reasons } from './DecisionDetail';
import { buildAuditRows, computeRegret, findNewestExplained, humanizeSentence, parseTaskNumber, predictionRatio, type Audit } from './decisions';

/** Opened by a link such as /?task=12. */
export function AuditDialog() {
  const query = useRouter((state) => state.route.query);
  const task = query.get('task');
  if (task === null) return null;
  const number = parseTaskNumber(task);
  return (
    <Dialog title={number === null ? 'Audit' : `Task #${number}`} side wide onClose={() => setQuery('task', null)}>
      {number === null ? <ErrorMessage message={`“${task}” is no number of a task.`} hint="Open one from the ledger." /> : <AuditPanel key={number} id={number} run={query.get('run')} />}
    </Dialog>
  );
}

const taskPath = (id: number, run: string | null = null): string => `/api/tasks/${id}${run ? `?run=${encodeURIComponent(run)}` : ''}`;

export function AuditPanel({ id, run = null }: { id: number; run?: string | null }) {
  const { data, problem, loading, refetch } = useFetch<Audit>(taskPath(id, run));
  if (loading) return <AuditSkeleton />;
  if (problem) return <AuditError id={id} problem={problem} retry={refetch} />;
  return data && <AuditDetail audit={data} />;
}

function AuditSkeleton() {
  return (
    <div role="status" className="space-y-3">
      <span className="sr-only">Loading the audit</span>
      <div className="skeleton h-14" />
      <div className="skeleton h-64" />
      <div className="skeleton h-40" />
    </div>
  );
}

function AuditError({ id, problem, retry }: { id: number; problem: ApiError; retry: () => void }) {
  const gone = problem.status === 404;
  return (
    <div className="space-y-3">
      <ErrorMessage message={gone ? `Task #${id} is not kept any more, or never was.` : `The audit cannot be read: ${problem.message}.`} hint={gone ? 'The newest tasks are in the ledger.' : problem.hint} />
      <Button onClick={retry}>Try again</Button>
    </div>
  );
}

function AuditDetail({ audit }: { audit: Audit }) {
  const preferred = usePreferences((state) => state.scheduler);
  const [picked, pick] = useState<string | null>(null);
  const rows = buildAuditRows(audit.results, audit.explanations);
  const selected = picked ?? resolveScheduler(preferred, rows.map((row) => row.name));
  const explanation = rows.find((row) => row.name === selected)?.explanation;
  return (
    <div className="space-y-5">
      <TaskFeatures audit={audit} />
      <DecisionTable rows={rows} selected={selected} select={pick} />
      <section aria-label="Reasons" className="space-y-3">
        <h3 className="font-semibold"><SchedulerName name={selected} /></h3>
        {explanation ? <Reasons explanation={explanation} /> : <NoReasons />}
      </section>
    </div>
  );
}

function NoReasons() {
  return <p className="text-sm text-quiet">Its reasons are not kept: that is done for the last 500 tasks that were asked about, all of them at 20 tasks a second and some at full speed. A lamp in the ledger marks those.</p>;
}

function TaskFeatures({ audit: { task, run_id } }: { audit: Audit }) {
  return (
    <dl className="grid grid-cols-3 gap-2 sm:grid-cols-5">
      <Fact name="size" value={formatNumber(task.size)} />
      <Fact name="intensity" value={task.compute_intensity.toFixed(2)} />
      <Fact name="memory" value={formatMegabytes(task.memory_required)} />
      <Fact name="arrived at" value={`${task.arrival_time.toFixed(2)} s`} />
      <Fact name={task.dependencies.length ? 'after tasks' : 'run'} value={task.dependencies.length ? task.dependencies.join(', ') : String(run_id)} />
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div className="min-w-0 rounded-lg bg-well px-2.5 py-1.5 ring-1 ring-edge">
      <dt className="text-xs text-quiet">{name}</dt>
      <dd className="num truncate text-sm font-semibold">{value}</dd>
    </div>
  );
}

/** How long a decision stays on the tile, so that it can be read. */
const STAY_MS = 4000;

/** The newest decision whose reasons are known, or one that the person has picked. */
export function DecisionAudit() {
  const [hovered, { onMouseEnter, onMouseLeave }] = usePauseOnHover();
  const [picked, pick] = useState<number | null>(null);
  const [picking, setPicking] = useState(false);
  const newest = useThrottledValue(useRace((race) => findNewestExplained(race.records), 'slow', hovered));
  const id = picked ?? newest;
  const { data, problem, refetch } = useFetch<Audit>(id === null ? null : taskPath(id));
  const audit = useLastValue(data);
  const submit = (number: number | null) => {
    pick(number);
    setPicking(false);
  };
  return (
    <Tile
      title="Decision audit"
      icon={<Route size={15} />}
      subtitle={id === null ? '' : `#${id}, ${picked === null ? 'newest' : 'picked'}${hovered ? ', paused' : ''}`}
      actions={
        <>
          <Button className="px-2 text-xs" aria-expanded={picking} onClick={() => setPicking(!picking)}><Search size={12} aria-hidden="true" />Pick a task</Button>
          {id !== null && <Button className="px-2" aria-label="Open the whole audit" title="Open the whole audit" onClick={() => setQuery('task', String(id))}><Maximize2 size={12} aria-hidden="true" /></Button>}
        </>
      }
    >
      <div className="flex h-full flex-col gap-2 overflow-y-auto p-px" onMouseEnter={onMouseEnter} onMouseLeave={onMouseLeave}>
        {picking && <TaskPicker submit={submit} />}
        {problem && id !== null ? <AuditError id={id} problem={problem} retry={refetch} /> : audit ? <AuditSummary audit={audit} /> : id === null ? <EmptyState title="No decision with reasons yet" /> : <AuditSkeleton />}
      </div>
    </Tile>
  );
}

function TaskPicker({ submit }: { submit: (number: number | null) => void }) {
  const [text, setText] = useState('');
  const number = parseTaskNumber(text);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (number !== null) submit(number);
  };
  return (
    <form onSubmit={onSubmit} className="flex items-center gap-1.5">
      <input aria-label="Number of the task" inputMode="numeric" autoFocus placeholder="number" className={`${INPUT_CLASS} max-w-28`} value={text} onChange={(event) => setText(event.target.value)} />
      <Button type="submit" disabled={number === null}>Show</Button>
      <Button kind="bare" onClick={() => submit(null)}>Newest</Button>
    </form>
  );
}

function AuditSummary({ audit }: { audit: Audit }) {
  const preferred = usePreferences((state) => state.scheduler);
  const rows = buildAuditRows(audit.results, audit.explanations);
  const name = resolveScheduler(preferred, rows.map((each) => each.name));
  const row = rows.find((each) => each.name === name);
  if (!row) return <EmptyState title="No scheduler has placed it" />;
  const error = predictionRatio(row);
  const expected = row.explanation?.expected_time;
  return (
    <>
      <dl className="grid grid-cols-4 gap-2">
        <Fact name="size" value={formatNumber(audit.task.size)} />
        <Fact name="intensity" value={audit.task.compute_intensity.toFixed(2)} />
        <Fact name="memory" value={formatMegabytes(audit.task.memory_required)} />
        <Fact name="regret" value={formatRatio(computeRegret(rows, name))} />
      </dl>
      <div>
        <p className="mb-1 flex justify-between gap-2 text-sm"><SchedulerName name={name} /><span><PlacementText place={row.result} /></span></p>
        <SplitBar place={row.result} className="h-2.5" />
      </div>
      <p className="text-sm">
        {row.explanation ? <><strong className="text-accent">Why:</strong> {humanizeSentence(row.explanation.why)}.</> : <span className="text-quiet">Its reasons are not kept.</span>}
      </p>
      <p className="text-sm text-quiet">
        {error !== null && <>Expected <span className="num">{formatSeconds(expected)}</span>, </>}
        {row.result.status === WAITING ? 'It waits to start' : <>{error === null ? 'Took' : 'took'} <strong className="num text-ink">{formatSeconds(row.result.actual_time)}</strong></>}
        {error !== null && <> (<PredictionError ratio={error} />)</>}
        {rows[0] && !row.first && <>; first was {schedulerStyle(rows[0].name).label} after <span className="num">{formatSeconds(rows[0].result.turnaround_time)}</span></>}.
      </p>
    </>
  );
}

/** Follow a value that changes quickly, but let each one stay for a while. */
function useThrottledValue(value: number | null): number | null {
  const [shown, setShown] = useState(value);
  const since = useRef(performance.now());
  useEffect(() => {
    if (value === shown) return;
    const rest = shown === null ? 0 : Math.max(0, since.current + STAY_MS - performance.now());
    const timer = setTimeout(() => {
      since.current = performance.now();
      setShown(value);
    }, rest);
    return () => clearTimeout(timer);
  }, [value, shown]);
  return shown;
}

/** The answer before, while the next one is on its way. */
function useLastValue<T>(value: T | null): T | null {
  const last = useRef(value);
  if (value !== null) last.current = value;
  return last.current;
}
