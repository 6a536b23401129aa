import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { schedulerStyle, useSchedulerStyle, type Marker } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { Select } from './controls';

/** Outlines in a box from -1 to 1. */
export const MARKER_PATHS: Record<Marker, string> = {
  diamond: 'M0-1 1 0 0 1-1 0Z',
  hexagon: 'M-.5-.87h1l.5.87-.5.87h-1l-.5-.87Z',
  triangle: 'M0-.95 1 .8H-1Z',
  square: 'M-.8-.8H.8V.8H-.8Z',
  circle: 'M-.9 0a.9.9 0 1 0 1.8 0a.9.9 0 1 0-1.8 0Z',
  star: 'M0-1 .29-.36 1-.31 .47.15 .62.81 0 .47-.62.81-.47.15-1-.31-.29-.36Z',
  cross: 'M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z',
  pentagon: 'M0-1 .95-.31.59.81H-.59L-.95-.31Z',
  triangle_down: 'M0 .95-1-.8H1Z',
  bar: 'M-1-.4H1V.4H-1Z',
  ring: 'M-.95 0a.95.95 0 1 0 1.9 0a.95.95 0 1 0-1.9 0ZM-.45 0a.45.45 0 1 1 .9 0a.45.45 0 1 1-.9 0Z',
  chevron: 'M-.9-.9 0-.2.9-.9V.1L0 .9-.9.1Z',
  triangle_right: 'M-.8-.95 1 0-.8.95Z',
  hourglass: 'M-.9-1H.9L-.9 1H.9Z',
  parallelogram: 'M-.4-.8H1L.4.8H-1Z',
  bowtie: 'M-1-.9V.9L1-.9V.9Z',
  octagon: 'M-.4-.95H.4L.95-.4V.4L.4.95H-.4L-.95.4V-.4Z',
  house: 'M0-1 .9-.1V.9H-.9V-.1Z',
  trapezoid: 'M-.5-.75H.5L1 .75H-1Z',
  tee: 'M-1-1H1V-.3H.35V1H-.35V-.3H-1Z',
  notch: 'M-.9-.9 0-.1 .9-.9V.9H-.9Z',
  kite: 'M0-1 .65 0 0 1-.65 0Z',
  arrow: 'M0-1 .9 0H.4V1H-.4V0H-.9Z',
  ell: 'M-.9-.9H-.2V.2H.9V.9H-.9Z',
  steps: 'M-.9.9V.3H-.3V-.3H.3V-.9H.9V.9Z',
  crown: 'M-.9-.8-.4 0 0-.9 .4 0 .9-.8V.8H-.9Z',
  comb: 'M-.9-.9H.9V.9H.4V-.2H-.4V.9H-.9Z',
};

export function SchedulerMarker({ name, size = 11, className = '' }: { name: string; size?: number; className?: string }) {
  const theme = useTheme((state) => state.theme);
  const { marker, colour } = useSchedulerStyle(name);
  return (
    <svg viewBox="-1.1 -1.1 2.2 2.2" width={size} height={size} className={`inline-block shrink-0 ${className}`} aria-hidden="true">
      <path d={MARKER_PATHS[marker]} fill={colour[theme]} fillRule="evenodd" />
    </svg>
  );
}

/** A scheduler's shape and name. */
export function SchedulerName({ name, short = false }: { name: string; short?: boolean }) {
  const { label, short: letters } = useSchedulerStyle(name);
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <SchedulerMarker name={name} />
      {short ? <abbr title={label} className="no-underline">{letters}</abbr> : label}
    </span>
  );
}

/** Whose lanes and ledger are shown: one choice for the whole page. */
export function SchedulerSelect() {
  const { scheduler, selectScheduler } = usePreferences();
  const names = useRace((race) => race.frame?.schedulers.map((each) => each.name).join('\n') ?? '', 'read').split('\n').filter(Boolean);
  return (
    <Select aria-label="Scheduler" value={resolveScheduler(scheduler, names)} onChange={(event) => selectScheduler(event.target.value)}>
      {names.map((name) => <option key={name} value={name}>{schedulerStyle(name).label}</option>)}
    </Select>
  );
}
