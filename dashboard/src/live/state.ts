/** What the page knows of the race, folded from messages. `fold` is pure: the same messages give the same picture. */
import { detectEvents, type LogLine } from './events';
import type { TaskRecord, TaskUpdate, Mark, Message, Analysis, History, SchedulerHistory, SimulationUpdate } from './messages';

export const LIMITS = { points: 600, records: 500, spans: 3000, marks: 60, lines: 500, notes: 50 } as const;

/** The status of a task that has not started yet: its scheduler orders the queues. */
export const WAITING = 7;

/** A share of a task on a device. */
export interface Span {
  device: number;
  start: number;
  end: number;
  task: number;
  attempt: number;
}

/** Figures of one scheduler over time, one column each; all columns of a picture have the length of `times`. */
export interface Series {
  turnaround: number[];
  execution: number[];
  overBound: number[];
  turnaroundOverBound: number[];
  backlog: number[];
  p95: number[];
}

export interface Race {
  stream: string;
  seq: number;
  /** Increases with each message that changes something; cheap to watch. */
  version: number;
  frame: SimulationUpdate | null;
  /** Simulated seconds of the points below. */
  times: number[];
  /** Wall clock of the points, seconds since 1970. */
  clock: number[];
  rate: number[];
  bound: number[];
  series: Record<string, Series>;
  /** Busy share by scheduler, then device, then point. */
  utilisation: Record<string, number[][]>;
  records: TaskRecord[];
  spans: Record<string, Span[]>;
  marks: Mark[];
  analysis: Analysis | null;
  log: LogLine[];
  notices: LogLine[];
  notice: string;
  skipped: number;
}

export const emptyRace: Race = {
  stream: '',
  seq: -1,
  version: 0,
  frame: null,
  times: [],
  clock: [],
  rate: [],
  bound: [],
  series: {},
  utilisation: {},
  records: [],
  spans: {},
  marks: [],
  analysis: null,
  log: [],
  notices: [],
  notice: '',
  skipped: 0,
};

/** Return the race after one more message. */
export function applyMessage(race: Race, message: Message): Race {
  switch (message.type) {
    case 'hello':
      return applyHello(race, message.stream, message.notice);
    case 'history':
      return applyHistory(race, message);
    case 'reset':
      return { ...race, version: race.version + 1 };
    case 'skipped':
      return { ...race, version: race.version + 1, skipped: race.skipped + message.count };
    case 'log':
      return withSequence(race, message.seq, { log: appendBounded(race.log, [toLogLine(message, message.source)], LIMITS.lines) });
    case 'notification': // the server logs what it notifies, so the log has it already
      return withSequence(race, message.seq, { notices: appendBounded(race.notices, [toLogLine(message, 'notice')], LIMITS.notes) });
    case 'simulation_update':
      return applyUpdate(race, message);
    default:
      return assertNever(message);
  }
}

/** A newer server may send what this page does not know: leave it out. The type says that nothing known gets here. */
function assertNever(message: never): Race {
  throw new Error(`a message of an unknown kind came: ${JSON.stringify(message).slice(0, 80)}`);
}

/** A server that was started anew numbers from the beginning: its log goes on below the old one. */
function applyHello(race: Race, stream: string, notice: string): Race {
  const anew = race.stream !== '' && race.stream !== stream;
  return { ...race, stream, notice, seq: anew ? -1 : race.seq, version: race.version + 1 };
}

function withSequence(race: Race, seq: number, change: Partial<Race>): Race {
  return { ...race, ...change, seq: Math.max(race.seq, seq), version: race.version + 1 };
}

function toLogLine(message: { seq: number; time: number; level: string; message: string }, source: string): LogLine {
  return { id: message.seq, time: message.time, level: message.level.toLowerCase(), source, message: message.message };
}

/** What happened before this page was opened: the server's columns take the place of its own, and unseen lines go below those it has. */
function applyHistory(before: Race, history: History): Race {
  const race = before.frame === null || before.frame.run_id === history.run_id ? before : clearRun(before);
  const unseen = ({ seq }: { seq: number }) => seq > before.seq;
  return withSequence(race, history.seq, {
    log: appendBounded(race.log, history.log.filter(unseen).map((line) => toLogLine(line, line.source)), LIMITS.lines),
    notices: appendBounded(race.notices, history.notifications.filter(unseen).map((note) => toLogLine(note, 'notice')), LIMITS.notes),
    marks: history.marks,
    ...readColumns(history),
  });
}

function readColumns({ time, clock, rate, bound, schedulers }: History): Partial<Race> {
  const known = Object.entries(schedulers).filter((entry): entry is [string, SchedulerHistory] => entry[1] !== undefined);
  return {
    times: time,
    clock,
    rate: rate.map(nullToGap),
    bound: bound.map(nullToGap),
    series: Object.fromEntries(known.map(([name, each]) => [name, readSeries(each)])),
    utilisation: Object.fromEntries(known.map(([name, each]) => [name, each.utilisation.map((column) => column.map(nullToGap))])),
  };
}

const nullToGap = (value: number | null): number => value ?? NaN;

function readSeries(figures: SchedulerHistory): Series {
  return {
    turnaround: figures.turnaround.map(nullToGap),
    execution: figures.execution.map(nullToGap),
    overBound: figures.over_bound.map(nullToGap),
    turnaroundOverBound: figures.turnaround_over_bound.map(nullToGap),
    backlog: figures.backlog.map(nullToGap),
    p95: figures.p95.map(nullToGap),
  };
}

function applyUpdate(before: Race, frame: SimulationUpdate): Race {
  const race = sameRun(before, frame) ? before : clearRun(before);
  const point = frame.sim_time > (race.times.at(-1) ?? -1);
  return withSequence(race, frame.seq, {
    frame,
    ...(point ? appendPoint(race, frame) : {}),
    records: appendBounded(updateRecords(race.records, frame.updates), frame.records, LIMITS.records),
    spans: mergeSpans(race.spans, frame),
    marks: appendBounded(race.marks, frame.marks, LIMITS.marks),
    analysis: frame.analysis ?? race.analysis,
    log: appendBounded(race.log, detectEvents(race.frame, frame), LIMITS.lines),
  });
}

/** Another run begins: its figures are its own, the log goes on. */
function clearRun({ stream, log, notices, notice, version, skipped }: Race): Race {
  return { ...emptyRace, stream, log, notices, notice, version, skipped };
}

function sameRun(race: Race, frame: SimulationUpdate): boolean {
  const last = race.frame;
  return last === null || (last.run_id === frame.run_id && last.tasks_processed <= frame.tasks_processed);
}

/** Add a point to every series; a scheduler that joined later has gaps before it. */
function appendPoint(race: Race, frame: SimulationUpdate): Partial<Race> {
  const length = race.times.length;
  const series: Record<string, Series> = {};
  const utilisation: Record<string, number[][]> = {};
  for (const each of frame.schedulers) {
    const old = race.series[each.name];
    const add = (column: keyof Series, value: number | null) => appendValue(old?.[column], length, value ?? NaN);
    series[each.name] = {
      turnaround: add('turnaround', each.window.mean_turnaround),
      execution: add('execution', each.window.avg_time),
      overBound: add('overBound', each.makespan_over_bound),
      turnaroundOverBound: add('turnaroundOverBound', each.turnaround_over_bound),
      backlog: add('backlog', each.backlog),
      p95: add('p95', each.window.p95_turnaround),
    };
    const busy = race.utilisation[each.name];
    utilisation[each.name] = frame.devices.map((device) => appendValue(busy?.[device.index], length, each.utilisation[device.index] ?? NaN));
  }
  return {
    times: appendValue(race.times, length, frame.sim_time),
    clock: appendValue(race.clock, length, frame.time),
    rate: appendValue(race.rate, length, frame.tasks_per_second ?? NaN),
    bound: appendValue(race.bound, length, frame.bound ?? NaN),
    series,
    utilisation,
  };
}

function appendValue(column: number[] | undefined, length: number, value: number): number[] {
  const old = column ?? new Array<number>(length).fill(NaN);
  const first = old.length + 1 > LIMITS.points ? old.length + 1 - LIMITS.points : 0;
  const next = first ? old.slice(first) : old.slice();
  next.push(value);
  return next;
}

/** Tasks that waited when they were shown have started since. */
function updateRecords(records: TaskRecord[], updates: readonly TaskUpdate[]): TaskRecord[] {
  if (!updates.length) return records;
  const known = new Map(updates.map((each) => [each.task_id, each.results]));
  return records.map((record) => (known.has(record.task_id) ? { ...record, results: { ...record.results, ...known.get(record.task_id) } } : record));
}

function mergeSpans(spans: Record<string, Span[]>, frame: SimulationUpdate): Record<string, Span[]> {
  if (!frame.spans.length && frame.schedulers.every((each) => spans[each.name])) return spans;
  const fresh = new Map<string, Span[]>(frame.schedulers.map((each) => [each.name, []]));
  for (const [name, device, start, end, task, attempt] of frame.spans) {
    fresh.get(name)?.push({ device, start, end, task, attempt });
  }
  const next: Record<string, Span[]> = {};
  for (const [name, added] of fresh) next[name] = appendBounded(dropLostSpans(spans[name] ?? [], added), added, LIMITS.spans);
  return next;
}

/** A later attempt takes the place of the shares that had not ended when their device failed. */
function dropLostSpans(old: Span[], added: Span[]): Span[] {
  const again = new Map(added.filter((span) => span.attempt > 1).map((span) => [span.task, span]));
  if (!again.size) return old;
  return old.filter((span) => {
    const later = again.get(span.task);
    return !later || later.attempt <= span.attempt || span.end <= later.start;
  });
}

function appendBounded<T>(old: T[], added: readonly T[], most: number): T[] {
  if (!added.length) return old;
  const all = old.concat(added);
  return all.length > most ? all.slice(all.length - most) : all;
}
