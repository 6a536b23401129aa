/** Where a task went: names, and a bar in the colours of its devices. */
import type { Schemas } from '@/api/client';
import type { Device } from '@/live/messages';
import { WAITING } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { deviceColour, useTheme } from '@/theme/theme';
import { formatDevice, formatPercent, isKnown } from '@/utils/format';

type Placement = Pick<Schemas['SchedulerResult'], 'device' | 'gpu_fraction' | 'status'>;

const isSplit = (share: number | null): share is number => isKnown(share) && share > 0 && share < 1;

/** Devices of the race; an audit of another run may know others, which get a number. */
function useDeviceName(): (index: number) => string {
  const devices = useLiveStore(({ race }) => race.frame?.devices);
  return (index) => {
    const found = devices?.find((each) => each.index === index);
    return found ? formatDevice(found) : `device ${index}`;
  };
}

/** Who takes the other share: the CPU by its name, or just a CPU where there are several. */
function cpuLabel(devices: readonly Device[]): string {
  const [first, ...others] = devices.filter((each) => each.kind === 'cpu');
  return first && !others.length ? formatDevice(first) : 'CPU';
}

export function PlacementText({ place: { device, gpu_fraction, status } }: { place: Placement }) {
  const nameOf = useDeviceName();
  const cpu = useLiveStore(({ race }) => cpuLabel(race.frame?.devices ?? []));
  if (device < 0) return status === WAITING ? <span className="text-quiet">any device</span> : <span className="font-semibold text-warn">rejected</span>;
  if (!isSplit(gpu_fraction)) return <>{nameOf(device)}</>;
  return (
    <>
      <span className="whitespace-nowrap">{formatPercent(gpu_fraction)} {nameOf(device)},</span> <span className="whitespace-nowrap">{formatPercent(1 - gpu_fraction)} {cpu}</span>
    </>
  );
}

export function SplitBar({ place: { device, gpu_fraction }, className = 'h-1.5' }: { place: Placement; className?: string }) {
  const theme = useTheme((state) => state.theme);
  const colour = useLiveStore(({ race }) => {
    const gpus = race.frame?.devices.filter((each) => each.kind === 'gpu') ?? [];
    return deviceColour('gpu', gpus.findIndex((each) => each.index === device), gpus.length, theme);
  });
  if (device < 0) return null;
  const share = isKnown(gpu_fraction) ? gpu_fraction : 0;
  return (
    <span aria-hidden="true" className={`flex w-full gap-px overflow-hidden rounded-full bg-well ring-1 ring-edge ${className}`}>
      {share > 0 && <span style={{ width: `${share * 100}%`, background: colour }} />}
      {share < 1 && <span className="flex-1" style={{ background: deviceColour('cpu', 0, 0, theme) }} />}
    </span>
  );
}

/** A device's colour, beside its name. */
export function DeviceSwatch({ index }: { index: number }) {
  const theme = useTheme((state) => state.theme);
  // A text, so that a new frame with the same devices draws nothing again.
  const colour = useLiveStore(({ race }) => {
    const devices = race.frame?.devices ?? [];
    const gpus = devices.filter((each) => each.kind === 'gpu');
    const found = devices.find((each) => each.index === index);
    return found ? deviceColour(found.kind, gpus.indexOf(found), gpus.length, theme) : 'var(--quiet)';
  });
  return <span aria-hidden="true" className="inline-block size-2.5 shrink-0 rounded-[3px]" style={{ background: colour }} />;
}
