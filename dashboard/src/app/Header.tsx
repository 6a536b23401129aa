/** The line on top: where we are, how the race stands, and the commands that are needed most. */
import { useState } from 'react';
import { Bell, LayoutGrid, Moon, Pause, Play, SkipForward, Square, Sun, Wifi, WifiOff } from 'lucide-react';
import { MeasuredBadge } from '@/components/badges';
import { Button, Chip, EmptyState, Link } from '@/components/controls';
import { Dialog } from '@/components/Dialog';
import { SchedulerName } from '@/components/Scheduler';
import { useConnectionStatus, useRace } from '@/live/store';
import { pause, resume, start, step, stop, useCommands } from '@/state/commands';
import { usePreferences } from '@/state/preferences';
import { PAGE_TITLES, PAGES, pagePath, useRouter } from '@/state/router';
import { useTheme } from '@/theme/theme';
import { formatClock, formatTimeOfDay } from '@/utils/format';

export function Header() {
  const page = useRouter((state) => state.route.page);
  return (
    <header className="bar sticky top-0 z-30 border-b border-edge">
      <div className="mx-auto flex max-w-[2560px] flex-wrap items-center gap-x-4 gap-y-2 px-3 py-2 sm:px-4">
        <Brand />
        {page === 'race' && <RaceStatus />}
        <span className="flex-1" />
        {page === 'race' && <RaceCommands />}
        <HeaderActions />
        <PageNav />
      </div>
    </header>
  );
}

function Brand() {
  const cluster = useRace((race) => {
    const [devices, settings] = [race.frame?.devices ?? [], race.frame?.settings];
    const cpus = devices.filter((each) => each.kind === 'cpu').length;
    const emulated = devices.some((each) => each.name.endsWith('(emulated)')) ? ', emulated' : '';
    return settings ? `${cpus} CPU + ${devices.length - cpus} GPU${emulated} · seed ${settings.seed}` : 'waiting for a race';
  }, 'slow');
  const measured = useRace((race) => race.frame?.measured ?? null, 'slow');
  return (
    <Link to="/" className="flex items-center gap-2.5">
      <img src="/icon.svg" width={34} height={34} alt="" />
      <span>
        <span className="block leading-tight font-semibold">Scheduler race</span>
        <span className="hidden text-xs text-quiet sm:block">{cluster}</span>
      </span>
      {measured !== null && <MeasuredBadge measured={measured} />}
    </Link>
  );
}

function PageNav() {
  const page = useRouter((state) => state.route.page);
  return (
    <nav aria-label="Pages" className="order-last flex w-full gap-1 overflow-x-auto max-sm:justify-between max-sm:gap-0 xl:order-none xl:w-auto">
      {PAGES.map((each) => (
        <Link
          key={each}
          to={pagePath(each)}
          aria-current={each === page ? 'page' : undefined}
          className="rounded-lg px-2.5 py-1.5 text-sm whitespace-nowrap max-sm:px-1.5 max-sm:text-[0.8rem] text-quiet hover:text-ink aria-[current]:bg-raised aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {PAGE_TITLES[each]}
        </Link>
      ))}
    </nav>
  );
}

const STATE_TONES = { ready: 'warn', running: 'good', paused: 'warn', stopped: 'quiet', failed: 'bad' } as const;

/** State, clock and legend. */
function RaceStatus() {
  const link = useConnectionStatus();
  const { state, time, measured, names } = useRace(
    (race) => ({ measured: race.frame?.measured ?? false, state: race.frame?.state ?? null, time: race.frame?.sim_time ?? null, names: race.frame?.schedulers.map((each) => each.name) ?? [] }),
    'read',
  );
  return (
    <>
      <span className="flex items-center gap-3" role="status" aria-live="off">
        {link === 'lost' ? <Chip tone="bad">● OFFLINE</Chip> : state && <Chip tone={STATE_TONES[state]}>● {state.toUpperCase()}</Chip>}
        <span className="num text-sm" title={measured ? 'time of the race: when the newest task arrived' : 'simulated time'}>{formatClock(time)}</span>
      </span>
      <ul aria-label="Legend" className="hidden flex-wrap items-center gap-x-3 gap-y-1 text-sm min-[1700px]:flex">
        {names.map((name) => (
          <li key={name}><SchedulerName name={name} /></li>
        ))}
      </ul>
    </>
  );
}

function RaceCommands() {
  const state = useRace((race) => race.frame?.state ?? null, 'read');
  const lost = useConnectionStatus() === 'lost';
  const busy = useCommands((state) => state.pending > 0);
  const off = lost || busy;
  if (state === null || state === 'stopped' || state === 'failed') {
    return (
      <Button kind="main" disabled={off} onClick={() => void start()}>
        <Play size={15} aria-hidden="true" /> Start
      </Button>
    );
  }
  const running = state === 'running';
  return (
    <div role="group" aria-label="Race" className="flex items-center gap-1">
      <Button kind={running ? 'plain' : 'main'} disabled={off} onClick={() => void (running ? pause() : resume())}>
        {running ? <Pause size={15} aria-hidden="true" /> : <Play size={15} aria-hidden="true" />}
        {running ? 'Pause' : 'Resume'}
      </Button>
      <Button disabled={off || running} aria-label="Step: let one task pass" title="Step: let one task pass" onClick={() => void step(1)}>
        <SkipForward size={15} aria-hidden="true" />
      </Button>
      <Button disabled={off} aria-label="Stop the run" title="Stop the run" onClick={() => void stop()}>
        <Square size={15} aria-hidden="true" />
      </Button>
    </div>
  );
}

function HeaderActions() {
  const page = useRouter((state) => state.route.page);
  const { theme, toggle } = useTheme();
  const { editing, setEditing } = usePreferences();
  const [open, setOpen] = useState(false);
  const link = useConnectionStatus();
  const unread = useRace((race) => race.notices.length, 'read');
  return (
    <div className="flex items-center gap-1">
      {page === 'race' && (
        <Button aria-pressed={editing} onClick={() => setEditing(!editing)} className="max-md:hidden aria-pressed:border-accent">
          <LayoutGrid size={15} aria-hidden="true" /> Layout
        </Button>
      )}
      <Button kind="bare" aria-label={`Notices, ${unread}`} onClick={() => setOpen(true)}>
        <Bell size={16} aria-hidden="true" />
        {unread > 0 && <span className="num text-xs text-accent">{unread}</span>}
      </Button>
      <Button kind="bare" aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'} onClick={toggle}>
        {theme === 'dark' ? <Sun size={16} aria-hidden="true" /> : <Moon size={16} aria-hidden="true" />}
      </Button>
      <span className="px-1" title={link === 'live' ? 'connected' : 'not connected'}>
        {link === 'live' ? <Wifi size={15} className="text-good" aria-label="connected" /> : <WifiOff size={15} className="text-bad" aria-label="not connected" />}
      </span>
      {open && <NoticesDialog onClose={() => setOpen(false)} />}
    </div>
  );
}

/** What the server wanted people to notice, newest first. */
function NoticesDialog({ onClose }: { onClose: () => void }) {
  const notes = useRace((race) => race.notices, 'read');
  return (
    <Dialog title="Notices" side onClose={onClose}>
      {!notes.length && <EmptyState title="Nothing to notice yet">Changed settings, failures and new models are listed here.</EmptyState>}
      <ol className="space-y-2">
        {notes.toReversed().map((note) => (
          <li key={`${note.time}-${note.id}`} className="rounded-lg border border-edge px-3 py-2 text-sm">
            <span className="num mr-2 text-xs text-quiet">{formatTimeOfDay(note.time)}</span>
            <span className={note.level === 'error' ? 'text-bad' : note.level === 'warning' ? 'text-warn' : ''}>{note.message}</span>
          </li>
        ))}
      </ol>
    </Dialog>
  );
}
