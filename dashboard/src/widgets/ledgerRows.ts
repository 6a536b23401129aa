/** Rows of the ledger: what one scheduler made of a task, beside the best of all. */
import type { Device, TaskRecord } from '@/live/messages';
import { WAITING } from '@/live/state';
import { schedulerStyle } from '@/theme/schedulers';
import { formatCount, formatDevice, isKnown } from '@/utils/format';

/** Rows drawn at most: more are slow to draw and nobody reads them. */
export const MAX_ROWS = 50; // more make the page heavy; a filter looks at all that are kept

export interface LedgerRow {
  task: number;
  /** Whose placement it is. */
  scheduler: string;
  arrival: number;
  size: number;
  intensity: number;
  memory: number;
  /** Where it went or waits, or "rejected". */
  placed: string;
  device: number;
  gpuShare: number | null;
  rejected: boolean;
  waiting: boolean;
  attempt: number;
  time: number | null;
  turnaround: number | null;
  energy: number | null;
  cost: number | null;
  /** Its turnaround over the shortest of all schedulers; 1: nobody was faster. */
  regret: number | null;
  winner: string | null;
  /** How many others ended at the same moment as the winner. */
  ties: number;
  explained: boolean;
}

export function toLedgerRow(record: TaskRecord, scheduler: string, devices: readonly Device[]): LedgerRow {
  const made = record.results[scheduler];
  const { winner, best, ties } = findFastest(record);
  const device = devices.find((each) => each.index === made?.device);
  const waiting = made?.status === WAITING;
  const rejected = made !== undefined && made.device < 0 && !waiting;
  const turnaround = made?.turnaround ?? null;
  return {
    task: record.task_id,
    scheduler,
    arrival: record.arrival_time,
    size: record.size,
    intensity: record.compute_intensity,
    memory: record.memory_required,
    placed: rejected ? 'rejected' : device ? formatDevice(device) : waiting ? 'any' : '–',
    device: made?.device ?? -1,
    gpuShare: rejected ? null : (made?.gpu_fraction ?? null),
    rejected,
    waiting,
    attempt: made?.attempt ?? 1,
    time: made?.time ?? null,
    turnaround,
    energy: made?.energy ?? null,
    cost: made?.cost ?? null,
    regret: isKnown(turnaround) && isKnown(best) && best > 0 ? turnaround / best : null,
    winner,
    ties,
    explained: record.explained,
  };
}

/** Who ended first; of several that ended together the first in the race, as the race counts its wins. */
function findFastest(record: TaskRecord): { winner: string | null; best: number | null; ties: number } {
  const ended = Object.entries(record.results).flatMap(([name, made]) => (isKnown(made?.turnaround) ? [{ name, turnaround: made.turnaround }] : []));
  if (!ended.length) return { winner: null, best: null, ties: 0 };
  const first = ended.reduce((best, each) => (each.turnaround < best.turnaround ? each : best));
  return { winner: first.name, best: first.turnaround, ties: ended.filter((each) => each.turnaround === first.turnaround).length - 1 };
}

const NUMBER_FIELDS: Record<string, (row: LedgerRow) => number | null> = {
  task: (row) => row.task,
  arrival: (row) => row.arrival,
  size: (row) => row.size,
  intensity: (row) => row.intensity,
  memory: (row) => row.memory,
  share: (row) => (row.gpuShare === null ? null : row.gpuShare * 100),
  time: (row) => row.time,
  turnaround: (row) => row.turnaround,
  energy: (row) => row.energy,
  cost: (row) => (row.cost === null ? null : row.cost * 1e6),
  regret: (row) => (row.regret === null ? null : (row.regret - 1) * 100),
};

export const FILTER_HELP = `A task's number, a device or a winner; or a comparison such as size>2000, regret>=10 (%), time<0.5 (s), energy>20 (J), cost>5 (µ$). Columns: ${Object.keys(NUMBER_FIELDS).join(', ')}.`;

export interface Filter {
  test: (row: LedgerRow) => boolean;
  /** Why the filter cannot be used; empty: it can. */
  problem: string;
}

type Test = Filter['test'];
const COMPARE: Record<string, (a: number, b: number) => boolean> = { '>': (a, b) => a > b, '<': (a, b) => a < b, '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '=': (a, b) => a === b };

/** Every word must match: a text somewhere, a comparison its column. */
export function parseFilter(text: string): Filter {
  const words = text.toLowerCase().replace(/\bgpu (\d)/g, 'gpu$1').replace(/\s*(>=|<=|[<>=])\s*/g, '$1').split(/\s+/).filter(Boolean);
  const tests: Test[] = [];
  for (const word of words) {
    const [, name, sign, number] = /^([a-z]+)(>=|<=|[<>=])(.*)$/.exec(word) ?? [];
    if (name === undefined) tests.push((row) => searchText(row).includes(word));
    else if (!NUMBER_FIELDS[name]) return rejectFilter(`no column is called ${name}`);
    else if (number === '' || !Number.isFinite(Number(number))) return rejectFilter(`${name} is compared with a number`);
    else tests.push(parseComparison(NUMBER_FIELDS[name], COMPARE[sign!]!, Number(number)));
  }
  return { test: (row) => tests.every((each) => each(row)), problem: '' };
}

const rejectFilter = (problem: string): Filter => ({ test: () => true, problem });

const parseComparison = (of: (row: LedgerRow) => number | null, holds: (a: number, b: number) => boolean, limit: number): Test => (row) => {
  const value = of(row);
  return value !== null && holds(value, limit);
};

function searchText(row: LedgerRow): string {
  const winner = row.winner ? `${schedulerStyle(row.winner).label} ${schedulerStyle(row.winner).short} ${row.winner}` : '';
  return `#${row.task} ${row.placed} ${row.placed.replace(' ', '')} ${row.waiting ? 'waits' : ''} ${winner}`.toLowerCase();
}

interface Counts {
  shown: number;
  matching: number;
  kept: number;
  total: number;
  sampled: boolean;
}

/** How much of everything the table shows, without making it more. */
export function describeCounts({ shown, matching, kept, total, sampled }: Counts): string {
  const all = `${formatCount(total)} tasks`;
  const some = sampled ? ', sampled' : '';
  if (matching === kept) return `${shown < kept ? formatCount(shown) : `newest ${formatCount(shown)}`} of ${all}${some}`;
  const match = `${formatCount(matching)} of the newest ${formatCount(kept)} match`;
  return `${match}${shown < matching ? `, ${formatCount(shown)} shown` : ''}, of ${all}${some}`;
}

/** An update carries the newest 50 new tasks: at full speed the numbers have holes. */
export function isSampled(records: readonly TaskRecord[]): boolean {
  const [first, last] = [records[0], records.at(-1)];
  return first !== undefined && last !== undefined && last.task_id - first.task_id + 1 > records.length;
}

const EXPORT_COLUMNS: [string, (row: LedgerRow) => unknown][] = [
  ['task', (row) => row.task],
  ['scheduler', (row) => row.scheduler],
  ['arrival_s', (row) => row.arrival],
  ['size', (row) => row.size],
  ['compute_intensity', (row) => row.intensity],
  ['memory_mb', (row) => row.memory],
  ['placed_on', (row) => row.placed],
  ['gpu_share', (row) => row.gpuShare],
  ['time_s', (row) => row.time],
  ['turnaround_s', (row) => row.turnaround],
  ['energy_j', (row) => row.energy],
  ['cost_usd', (row) => row.cost],
  ['regret_ratio', (row) => row.regret],
  ['winner', (row) => row.winner],
  ['explained', (row) => row.explained],
];

export function toCsv(rows: readonly LedgerRow[]): string {
  const lines = rows.map((row) => EXPORT_COLUMNS.map(([, of]) => csvCell(of(row))).join(','));
  return [EXPORT_COLUMNS.map(([name]) => name).join(','), ...lines].join('\n') + '\n';
}

/** A name that a spreadsheet would take for a formula is not let through as one. */
function csvCell(value: unknown): string {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  const safe = /^[=+\-@]/.test(value) ? `'${value}` : value;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function toJson(rows: readonly LedgerRow[], scheduler: string): string {
  const tasks = rows.map((row) => Object.fromEntries(EXPORT_COLUMNS.map(([name, of]) => [name, of(row)])));
  return JSON.stringify({ scheduler, tasks }, null, 1) + '\n';
}
