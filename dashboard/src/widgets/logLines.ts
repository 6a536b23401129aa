/** Lines of the log: which are shown, how many wait, how they are written into a file. */
import type { LogLine } from '@/live/state';
import { formatTimeOfDay } from '@/look/format';

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
export const getSeverity = (level: string): Severity => SEVERITIES[level] ?? { word: level.toUpperCase(), rank: 1, className: 'text-quiet' };

export function filterLines(lines: readonly LogLine[], text: string, least: number): LogLine[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return lines.filter((line) => {
    const severity = getSeverity(line.level);
    const all = `${severity.word} ${line.level} ${line.source} ${line.message}`.toLowerCase();
    return severity.rank >= least && words.every((word) => all.includes(word));
  });
}

/** Lines that came after those that are held; null: so many that the held ones are gone. */
export function countNewLines(held: readonly LogLine[], live: readonly LogLine[]): number | null {
  const last = held.at(-1);
  if (!last) return live.length;
  const at = live.lastIndexOf(last);
  return at < 0 ? null : live.length - 1 - at;
}

export const formatWaiting = (waiting: number | null): string => (waiting === null ? 'many new' : `${waiting} new`);

export function linesToText(lines: readonly LogLine[]): string {
  return lines.map((line) => `${formatTimeOfDay(line.time)} ${getSeverity(line.level).word.padEnd(5)} ${line.source}: ${line.message}\n`).join('');
}
