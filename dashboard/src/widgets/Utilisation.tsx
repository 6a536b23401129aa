/** How busy the devices are under the chosen scheduler, last 60 simulated seconds. */
import { useMemo } from 'react';
import { Activity } from 'lucide-react';
import { Tile } from '@/components/Panel';
import { TimeChart, type ChartLine } from '@/components/TimeChart';
import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { schedulerStyle } from '@/theme/schedulers';
import { deviceColour, useTheme } from '@/theme/theme';
import { formatDevice, formatPercent } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';

const WINDOW_SECONDS = 60;

export function Utilisation() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const wanted = usePreferences((state) => state.scheduler);
  const theme = useTheme((state) => state.theme);
  const race = useRace((each) => each, 'frame', paused);
  const devices = race.frame?.devices ?? [];
  const name = resolveScheduler(wanted, race.frame?.schedulers.map((each) => each.name) ?? []);
  const busy = race.utilisation[name];
  const gpus = devices.filter((each) => each.kind === 'gpu').length;
  const deviceKey = devices.map((each) => each.name).join();
  const colours = useMemo(() => devices.map((each, i) => deviceColour(each.kind, i - (devices.length - gpus), gpus, theme)), [deviceKey, theme]);
  const lines = useMemo<ChartLine[]>(() => devices.map((each, i) => ({ label: formatDevice(each), colour: colours[i]!, fill: fadeColour(colours[i]!), width: 1.2 })), [deviceKey, colours]);
  const data = useMemo<[number[], ...number[][]]>(() => [race.times, ...stackColumns(busy ?? [], race.times.length)], [race.times, busy]);
  return (
    <Tile title="Utilisation" icon={<Activity size={15} />} subtitle={`share of all devices, last ${WINDOW_SECONDS} s, ${schedulerStyle(name).label}`}>
      <div className="flex h-full flex-col" {...pauseHandlers}>
        <ul className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs">
          {devices.map((each, i) => (
            <li key={each.index} className="flex items-center gap-1 whitespace-nowrap">
              <span className="size-2.5 rounded-sm" style={{ background: colours[i] }} aria-hidden="true" />
              {formatDevice(each)} <span className="num font-semibold">{each.failed ? 'failed' : formatPercent(busy?.[each.index]?.at(-1))}</span>
            </li>
          ))}
        </ul>
        <div className="min-h-0 flex-1">
          {/* Drawn from the top of the pile down, so that each area covers what lies below it. */}
          <TimeChart data={[data[0], ...data.slice(1).toReversed()]} lines={lines.toReversed()} range={[0, 1]} span={WINDOW_SECONDS} ago marks={race.marks} value={(value) => formatPercent(value)} label={`Utilisation of ${devices.length} devices over the last ${WINDOW_SECONDS} seconds`} />
        </div>
      </div>
    </Tile>
  );
}

/** Pile the devices' busy shares up; all of them busy is 1. */
export function stackColumns(columns: number[][], length: number): number[][] {
  const sum = new Array<number>(length).fill(0);
  return columns.map((column) => {
    for (let i = 0; i < length; i++) sum[i]! += (Number.isFinite(column[i]) ? column[i]! : 0) / columns.length;
    return sum.slice();
  });
}

const fadeColour = (colour: string): string => (colour.startsWith('#') ? `${colour}b0` : colour.replace(')', ' / 70%)'));
