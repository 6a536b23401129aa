/** The race: a bar for each scheduler, shorter is better, with the line that nobody crosses. */
import { useState } from 'react';
import { AlertTriangle, Trophy } from 'lucide-react';
import { Chip, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { SchedulerMarker } from '@/components/Scheduler';
import type { SchedulerFigures } from '@/live/messages';
import { useRace } from '@/live/store';
import { usePreferences } from '@/state/preferences';
import { isReference, schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatRatio, isKnown } from '@/utils/format';
import { MEASURES, rankSchedulers, type Measure } from './ranking';

/** Beyond this ratio short bars would vanish, so the axis is logarithmic. */
const LINEAR_UP_TO = 8;

export function GlobalComparison() {
  const [measure, setMeasure] = useState<Measure>('turnaround');
  const schedulers = useRace((race) => race.frame?.schedulers ?? []);
  const info = MEASURES[measure];
  const order = rankSchedulers(schedulers, measure);
  const scale = barScale(order.map(info.value), info.overBound ?? false);
  const best = order.find((each) => !isReference(each.name));
  const line = info.overBound ? 1 : order[0] ? info.value(order[0]) : null;
  return (
    <Tile
      title="Global comparison"
      icon={<Trophy size={15} />}
      subtitle={`${info.description}, lower is better`}
      actions={
        <>
          {scale.log && <Chip title="Bars grow with the logarithm, because figures lie far apart">log axis</Chip>}
          <Select aria-label="Compare by" value={measure} onChange={(event) => setMeasure(event.target.value as Measure)}>
            {Object.entries(MEASURES).map(([name, each]) => <option key={name} value={name}>{each.label}</option>)}
          </Select>
        </>
      }
    >
      <ol className="flex h-full flex-col justify-around overflow-y-auto" data-testid="comparison">
        {order.map((state, place) => (
          <Bar key={state.name} state={state} place={place + 1} value={info.value(state)} best={info.value(best ?? state)} width={scale.width} line={isKnown(line) ? scale.width(line) : null} measure={measure} />
        ))}
      </ol>
    </Tile>
  );
}

interface BarProps {
  state: SchedulerFigures;
  place: number;
  value: number | null;
  best: number | null;
  width: (value: number) => number;
  line: number | null;
  measure: Measure;
}

function Bar({ state, place, value, best, width, line, measure }: BarProps) {
  const theme = useTheme((each) => each.theme);
  const { scheduler, selectScheduler } = usePreferences();
  const { label, kind, colour } = schedulerStyle(state.name);
  const reference = isReference(state.name);
  const { number, unit } = MEASURES[measure].format(value);
  const gap = isKnown(value) && isKnown(best) && best > 0 ? value / best : null;
  const paint = reference ? `repeating-linear-gradient(115deg, ${colour[theme]} 0 3px, transparent 3px 6px)` : `linear-gradient(90deg, color-mix(in srgb, ${colour[theme]} 35%, transparent), ${colour[theme]})`;
  return (
    <li>
      <button
        type="button"
        aria-pressed={scheduler === state.name}
        onClick={() => selectScheduler(state.name)}
        title={`Show lanes, ledger and trade-off of ${label}`}
        className="grid w-full grid-cols-[1.1rem_1rem_6.8rem_1fr_5.6rem_5.5rem] items-center gap-x-2 max-sm:grid-cols-[1rem_1rem_1fr_5rem_5.5rem] rounded-lg px-1 py-0.5 text-left hover:bg-raised aria-pressed:bg-raised"
      >
        <span className="num text-xs text-quiet">{place}</span>
        <SchedulerMarker name={state.name} size={13} />
        <span className="min-w-0 leading-tight">
          <span className="block truncate text-sm font-semibold">{label}</span>
          <span className="block truncate text-[0.7rem] text-quiet">{kind}</span>
        </span>
        <span className="fade relative block h-5 overflow-hidden max-sm:order-last max-sm:col-span-5 max-sm:h-2.5 rounded bg-well ring-1 ring-edge">
          <span className="absolute inset-0 origin-left rounded-sm" style={{ background: paint, transform: `scaleX(${isKnown(value) ? width(value) : 0})` }} />
          {line !== null && <span className="absolute inset-y-0 w-0.5 bg-ink" style={{ left: `calc(${(line * 100).toFixed(2)}% - 1px)` }} />}
        </span>
        <span className="num text-right text-[0.95rem] font-semibold whitespace-nowrap">{number} <span className="text-xs font-normal text-quiet">{unit}</span></span>
        <span className="num text-right text-xs whitespace-nowrap">
          {state.saturated ? (
            <span className="inline-flex items-center gap-1 text-warn" title="Saturated: its backlog keeps growing"><AlertTriangle size={11} aria-hidden="true" />saturated</span>
          ) : (
            <span className={gap !== null && gap > 1.005 ? 'text-quiet' : 'text-good'}>{reference ? 'reference' : formatRatio(gap)}</span>
          )}
        </span>
      </button>
    </li>
  );
}

/** Length of a bar from 0 to 1; logarithmic when the largest is far from the smallest. */
export function barScale(values: (number | null)[], fromOne: boolean): { log: boolean; width: (value: number) => number } {
  const positive = values.filter((value): value is number => isKnown(value) && value > 0);
  const most = Math.max(...positive, 1e-12);
  const least = Math.min(...positive, most);
  if (most / least <= LINEAR_UP_TO) {
    const top = fromOne ? Math.max(most, 1.02) : most;
    return { log: false, width: (value) => Math.min(1, Math.max(0, value / (top * 1.04))) };
  }
  const low = Math.log(least / 3);
  const range = Math.log(most * 1.2) - low;
  return { log: true, width: (value) => Math.min(1, Math.max(0, (Math.log(Math.max(value, 1e-12)) - low) / range)) };
}
