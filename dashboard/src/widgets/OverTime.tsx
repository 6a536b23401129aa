/** Figures of all schedulers over simulated time; marks show where settings were changed. */
import { useMemo, useState } from 'react';
import { LineChart, TrendingUp } from 'lucide-react';
import { Chip, EmptyState, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { SchedulerMarker } from '@/components/Scheduler';
import { TimeChart, type ChartLine } from '@/components/TimeChart';
import type { Race, Series } from '@/live/state';
import { useRace } from '@/live/store';
import { usePreferences } from '@/state/preferences';
import { schedulerStyle, useSchedulerStyles } from '@/theme/schedulers';
import { CHART_COLOURS, useTheme, type Theme } from '@/theme/theme';
import { formatNumber, formatSeconds, formatSecondsTick } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';
import { formatWindow } from './ranking';

/** Turnaround on a log axis: a policy that drowns climbs, the others stay readable. */
export function TurnaroundOverTime() {
  const [column, setColumn] = useState<'turnaround' | 'p95' | 'backlog'>('turnaround');
  const [paused, pauseHandlers] = usePauseOnHover();
  const race = useRace((each) => each, 'frame', paused);
  const names = useSchedulerNames(race);
  const theme = useTheme((state) => state.theme);
  const styles = useSchedulerStyles((state) => state.styles);
  const lines = useMemo(() => names.map((name) => chartLine(name, theme)), [names.join(), theme, styles]);
  const data = useMemo(() => seriesColumns(race, names, column), [race.times, column, names.join()]);
  const saturated = race.frame?.schedulers.filter((each) => each.saturated) ?? [];
  return (
    <Tile
      title="Turnaround over time"
      icon={<LineChart size={15} />}
      subtitle="log axis, mean of the last 1000 tasks"
      actions={
        <>
          {saturated.length > 0 && <Chip tone="warn" title={`Their backlog keeps growing: ${saturated.map((each) => schedulerStyle(each.name).label).join(', ')}`}>{saturated.length} saturated</Chip>}
          <Select aria-label="Figure" value={column} onChange={(event) => setColumn(event.target.value as typeof column)}>
            <option value="turnaround">Mean</option>
            <option value="p95">95th percentile</option>
            <option value="backlog">Backlog</option>
          </Select>
        </>
      }
    >
      <div className="h-full" {...pauseHandlers}>
        <TimeChart data={data} lines={lines} log value={formatSeconds} tick={formatSecondsTick} marks={race.marks} label={summarizeSeries(race, names, column)} />
      </div>
    </Tile>
  );
}

/** The makespan or the mean turnaround over its certified bound: the line at 1.0 is the one that nobody crosses. */
export function DistanceToBound() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const { bounded, selectBounded } = usePreferences();
  const race = useRace((each) => each, 'frame', paused);
  const names = useSchedulerNames(race);
  const theme = useTheme((state) => state.theme);
  const styles = useSchedulerStyles((state) => state.styles);
  const measured = race.frame?.measured ?? false;
  const column = bounded === 'makespan' ? 'overBound' : 'turnaroundOverBound';
  const lines = useMemo(() => [{ label: measured ? 'lower bound' : 'certified bound', colour: CHART_COLOURS[theme].bound, width: 2.5 }, ...names.map((name) => chartLine(name, theme))], [names.join(), theme, styles, measured]);
  const data = useMemo<[number[], ...number[][]]>(() => {
    const [times, ...rest] = seriesColumns(race, names, column);
    return [times, times.map(() => 1), ...rest];
  }, [race.times, names.join(), column]);
  const latest = names.map((name) => race.series[name]?.[column].at(-1));
  const far = latest.some((value) => (value ?? 1) > 3);
  const known = names.some((name) => race.series[name]?.[column].some(Number.isFinite));
  return (
    <Tile
      title="Distance to the bound"
      icon={<TrendingUp size={15} />}
      subtitle={`${describeBound(race, bounded)}${far ? ', log axis' : ''}`}
      actions={
        <>
          {measured
            ? <Chip title="The bound is made of times that were measured or learnt. They vary from run to run, so it is a yardstick and no proof"><span aria-hidden="true">━</span> 1.0 a yardstick</Chip>
            : <Chip title={PROOFS[bounded]}><span aria-hidden="true">━</span> 1.0 nobody crosses</Chip>}
          <Select aria-label="Distance of" value={bounded} onChange={(event) => selectBounded(event.target.value as typeof bounded)}>
            <option value="makespan">Makespan</option>
            <option value="turnaround">Turnaround</option>
          </Select>
        </>
      }
    >
      {known || bounded === 'makespan' ? (
        <div className="flex h-full flex-col" {...pauseHandlers}>
          <ul className="flex flex-wrap gap-x-3 text-xs">
            {names.map((name, i) => (
              <li key={name} className="flex items-center gap-1 whitespace-nowrap" title={Number.isFinite(latest[i]) ? schedulerStyle(name).label : `${schedulerStyle(name).label}: ${NOT_COMPARED}`}><SchedulerMarker name={name} size={9} /> <span className="num">{formatNumber(latest[i], 4)}</span></li>
            ))}
          </ul>
          <div className="min-h-0 flex-1">
            <TimeChart data={data} lines={lines} log={far} range={[far ? 0.9 : 0.98, null]} value={(value) => formatNumber(value)} marks={race.marks} label={summarizeSeries(race, names, column)} />
          </div>
        </div>
      ) : (
        <EmptyState title="Nothing is proved yet">{race.frame?.certified_window ? `Nobody is compared: ${NOT_COMPARED}.` : 'The bound of turnaround is proved for 100 tasks at first, then for the last 500. It comes soon after the first 100.'}</EmptyState>
      )}
    </Tile>
  );
}

const PROOFS = {
  makespan: 'Proved for this stream of tasks: no schedule can end before it',
  turnaround: 'Proved for the tasks of the window, moved along the stream: no schedule has a smaller mean turnaround of them. Who splits tasks is compared with the bound of all schedules, the others with that of whole tasks',
};
/** Why a scheduler has no distance. */
const NOT_COMPARED = 'it joined later or rejected a task of the window';

function describeBound({ frame }: Race, bounded: keyof typeof PROOFS): string {
  const bound = frame?.measured ? 'lower bound for the measured times' : 'certified lower bound';
  if (bounded === 'makespan') return `makespan / ${bound}`;
  return `mean turnaround / ${bound}${frame?.certified_window ? `, ${formatWindow(frame.certified_window)}` : ''}`;
}

function useSchedulerNames(race: Race): string[] {
  const names = race.frame?.schedulers.map((each) => each.name) ?? [];
  return useMemo(() => names, [names.join()]);
}

function chartLine(name: string, theme: Theme): ChartLine {
  const { label, colour, dash } = schedulerStyle(name);
  return { label, colour: colour[theme], dash };
}

const RATIOS: ReadonlySet<keyof Series> = new Set(['overBound', 'turnaroundOverBound']);

/** Times first, then a column per scheduler; on log axes nothing is zero. */
export function seriesColumns(race: Pick<Race, 'times' | 'series'>, names: string[], column: keyof Series): [number[], ...number[][]] {
  const least = RATIOS.has(column) ? -Infinity : 1e-4;
  return [race.times, ...names.map((name) => (race.series[name]?.[column] ?? race.times.map(() => NaN)).map((value) => (value < least ? least : value)))];
}

function summarizeSeries(race: Race, names: string[], column: keyof Series): string {
  const format = (value: number | undefined) => (RATIOS.has(column) ? formatNumber(value, 4) : formatSeconds(value));
  return names.map((name) => `${schedulerStyle(name).label} ${format(race.series[name]?.[column].at(-1))}`).join(', ');
}
