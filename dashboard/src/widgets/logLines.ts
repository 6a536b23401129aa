/** Lines of the log: which are shown, how many wait, how they are written into a file. */
import type { Line } from '@/live/state';
import { timeOfDay } from '@/look/format';

export interface Severity {
  word: string;
  rank: number;
  className: string;
}

const SEVERITIES: Record<string, Severity> = {
  debug: { word: 'DEBUG', rank: 0, className: 'text-quiet' },
  info: { word: 'INFO', rank: 1, className: 'text-accent' },
  warning: { word: 'WARN', rank: 2, className: 'text-warn' },
  error: { word: 'ERROR', rank: 3, className: 'text-bad font-semibold' },
  critical: { word: 'FATAL', rank: 4, className: 'text-bad font-semibold' },
};

/** A level of a newer server counts as information. */
export const severityOf = (level: string): Severity => SEVERITIES[level] ?? { word: level.toUpperCase(), rank: 1, className: 'text-quiet' };

export function matching(lines: readonly Line[], text: string, least: number): Line[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((line) => {
    const severity = severityOf(line.level);
    const all = `${severity.word} ${line.level} ${line.source} ${line.message}`.toLowerCase();
    return severity.rank >= least && words.every((word) => all.includes(word));
  });
}

/** Lines that came after those that are held; null: so many that the held ones are gone. */
export function newSince(held: readonly Line[], live: readonly Line[]): number | null {
  const last = held.at(-1);
  if (!last) return live.length;
  const at = live.lastIndexOf(last);
  return at < 0 ? null : live.length - 1 - at;
}

export const waitingText = (waiting: number | null): string => (waiting === null ? 'many new' : `${waiting} new`);

export function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${timeOfDay(line.time)} ${severityOf(line.level).word.padEnd(5)} ${line.source}: ${line.message}\n`).join('');
}
