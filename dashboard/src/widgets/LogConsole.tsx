/** What the server says, as it says it: newest at the bottom, still when it is paused or scrolled up. */
import { memo, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { ArrowDownToLine, Copy, Download, Pause, Play, ScrollText } from 'lucide-react';
import { Button, EmptyState, SearchBox, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import type { LogLine } from '@/live/events';
import { useRace } from '@/live/store';
import { showToast } from '@/state/toasts';
import { downloadFile } from '@/utils/download';
import { formatCount, formatTimeOfDay } from '@/utils/format';

const MIN_SEVERITIES: [number, string][] = [[0, 'all'], [1, 'info'], [2, 'warnings'], [3, 'errors']];

export function LogConsole() {
  const [paused, setPaused] = useState(false);
  const [following, setFollowing] = useState(true);
  const [text, setText] = useState('');
  const [least, setLeast] = useState(0);
  const lines = useRace((race) => race.log, 'read', paused || !following);
  const live = useRace((race) => race.log, 'read');
  const shown = useMemo(() => filterLines(lines, text, least), [lines, text, least]);
  const waiting = countNewLines(lines, live);
  return (
    <Tile
      title="Live log"
      icon={<ScrollText size={15} />}
      subtitle={!lines.length ? 'nothing said yet' : shown.length === lines.length ? `newest ${formatCount(lines.length)} lines` : `${formatCount(shown.length)} of ${formatCount(lines.length)} lines`}
      actions={
        <Button className="px-2 text-xs" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? <Play size={13} aria-hidden="true" /> : <Pause size={13} aria-hidden="true" />}
          {paused ? `Resume, ${formatWaiting(waiting)}` : 'Pause'}
        </Button>
      }
    >
      <div className="flex h-full flex-col gap-1.5">
        <div className="flex flex-wrap items-center gap-1.5">
          <SearchBox label="Filter lines" value={text} onChange={setText} />
          <Select aria-label="Least severity" value={least} onChange={(event) => setLeast(Number(event.target.value))}>
            {MIN_SEVERITIES.map(([rank, word]) => <option key={rank} value={rank}>{word}</option>)}
          </Select>
          <span className="flex-1" />
          <Button kind="bare" className="px-1.5" aria-label="Copy the lines shown" title="Copy the lines shown" onClick={() => void copyLines(shown)}><Copy size={14} aria-hidden="true" /></Button>
          <Button kind="bare" className="px-1.5" aria-label="Save the lines shown" title="Save the lines shown" onClick={() => downloadFile('log.txt', 'text/plain', linesToText(shown))}><Download size={14} aria-hidden="true" /></Button>
        </div>
        <Lines lines={shown} following={following} follow={setFollowing} waiting={waiting} />
      </div>
    </Tile>
  );
}

async function copyLines(lines: readonly LogLine[]): Promise<void> {
  try {
    await navigator.clipboard.writeText(linesToText(lines));
    showToast('good', 'Copied', `${formatCount(lines.length)} lines`);
  } catch {
    showToast('bad', 'The browser lets nothing be copied here', 'Save the lines instead: that works over plain HTTP too.');
  }
}

interface LinesProps {
  lines: readonly LogLine[];
  following: boolean;
  follow: (following: boolean) => void;
  waiting: number | null;
}

function Lines({ lines, following, follow, waiting }: LinesProps) {
  const box = useRef<HTMLDivElement | null>(null);
  useLayoutEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, following]);
  const onScroll = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current!;
    follow(scrollHeight - scrollTop - clientHeight < 12);
  };
  return (
    <div className="relative min-h-0 flex-1">
      {/* Several lines a second would drown everything else a screen reader says, so it reads them when asked. */}
      <div ref={box} role="log" aria-label="Lines of the log" aria-live="off" tabIndex={0} onScroll={onScroll} className="h-full overflow-y-auto rounded-lg bg-well px-2 py-1 -outline-offset-2">
        {lines.length ? <ol>{lines.map((line) => <Entry key={`${line.time}-${line.id}`} line={line} />)}</ol> : <EmptyState title={waiting ? 'New lines wait' : 'No lines to show'}>Changed settings, failures and new models are written here.</EmptyState>}
      </div>
      {!following && (
        <Button className="absolute right-3 bottom-2 text-xs shadow-lg" onClick={() => follow(true)}>
          <ArrowDownToLine size={13} aria-hidden="true" /> Newest{waiting === 0 ? '' : `, ${formatWaiting(waiting)}`}
        </Button>
      )}
    </div>
  );
}

const Entry = memo(function Entry({ line }: { line: LogLine }) {
  const { word, className } = getSeverity(line.level);
  return (
    <li className="num py-px text-xs leading-snug break-words">
      <time className="mr-2 text-quiet" dateTime={new Date(line.time * 1000).toISOString()}>{formatTimeOfDay(line.time)}</time>
      <span className={`mr-2 inline-block w-[5ch] ${className}`}>{word}</span>
      <span className="mr-2 text-quiet" title={line.source}>{line.source.split('.').at(-1)}</span>
      {line.message}
    </li>
  );
});

interface Severity {
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

/** Lines that came after those that are shown; null: so many that those are gone. */
export function countNewLines(shown: readonly LogLine[], live: readonly LogLine[]): number | null {
  const last = shown.at(-1);
  if (!last) return live.length;
  const at = live.lastIndexOf(last);
  return at < 0 ? null : live.length - 1 - at;
}

export const formatWaiting = (waiting: number | null): string => (waiting === null ? 'many new' : `${waiting} new`);

export function linesToText(lines: readonly LogLine[]): string {
  return lines.map((line) => `${formatTimeOfDay(line.time)} ${getSeverity(line.level).word.padEnd(5)} ${line.source}: ${line.message}\n`).join('');
}
