import { useLiveStore } from '@/live/store';
import { deviceColour, useTheme } from '@/look/theme';

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
