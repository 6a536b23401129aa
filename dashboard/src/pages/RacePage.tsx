/** The live race: key figures on top, tiles below, and what is wrong, if something is. */
import { useState } from 'react';
import { Button, EmptyState, ErrorMessage } from '@/components/controls';
import { retry, useConnectionStatus, useRace, useStaleness } from '@/live/store';
import { start } from '@/state/commands';
import { usePreferences } from '@/state/preferences';
import { AuditDialog } from '@/widgets/Audit';
import { KeyFigures } from '@/widgets/KeyFigures';
import { ControlPanel } from './race/ControlPanel';
import { ControlStrip } from './race/ControlStrip';
import { Grid } from './race/Grid';
import { useLayout } from './race/layout';
import { useShortcuts } from './race/shortcuts';

export function RacePage() {
  useShortcuts();
  const known = useRace((race) => race.frame !== null, 'read');
  const editing = usePreferences((state) => state.editing);
  const [open, setOpen] = useState(false);
  return (
    <div className={`space-y-3 ${open ? 'sm:pr-[22.8rem]' : ''}`}>
      <Banners />
      {known ? (
        <>
          <ControlStrip open={open} onMore={() => setOpen(!open)} />
          <KeyFigures />
          {editing && <EditingHelp />}
          <Grid />
          {open && <ControlPanel onClose={() => setOpen(false)} />}
        </>
      ) : (
        <NoRace />
      )}
      <AuditDialog />
    </div>
  );
}

function Banners() {
  const link = useConnectionStatus();
  const age = useStaleness();
  const { error, notice, state } = useRace((race) => ({ error: race.frame?.error ?? '', notice: race.notice, state: race.frame?.state }), 'read');
  return (
    <>
      {link === 'lost' && (
        <div role="alert" className="flex flex-wrap items-center gap-3 rounded-xl border border-warn/60 bg-warn/10 px-4 py-2.5">
          <strong className="text-warn">Connection lost.</strong>
          <span className="flex-1 text-sm">
            {age === null ? 'The server does not answer.' : `Showing data from ${age} s ago. The race may go on at the server.`} Trying again, less often each time.
          </span>
          <Button onClick={retry}>Retry now</Button>
        </div>
      )}
      {error && <ErrorMessage message={state === 'failed' ? `The race has failed: ${error}` : error} />}
      {notice && !error && <ErrorMessage message={notice} />}
    </>
  );
}

function NoRace() {
  const link = useConnectionStatus();
  if (link !== 'live') return <RaceSkeleton />;
  return (
    <div className="panel mx-auto mt-10 max-w-xl p-8">
      <EmptyState title="No race yet">
        <p>The server is ready, or still training its agents: that takes about half a minute the first time. Start a race, and six schedulers get the same tasks.</p>
        <Button kind="main" onClick={() => void start()}>Start the race</Button>
      </EmptyState>
    </div>
  );
}

function RaceSkeleton() {
  return (
    <div aria-label="Loading" role="status" className="grid grid-cols-2 gap-3 lg:grid-cols-6">
      {Array.from({ length: 6 }, (_, i) => <div key={i} className="skeleton h-24" />)}
      <div className="skeleton col-span-2 h-72 lg:col-span-3" />
      <div className="skeleton col-span-2 h-72 lg:col-span-3" />
      <span className="sr-only">Loading the race</span>
    </div>
  );
}

function EditingHelp() {
  const reset = useLayout((state) => state.reset);
  return (
    <p className="flex flex-wrap items-center gap-2 text-sm text-quiet">
      Drag a tile by its title, resize it by its corner; or focus it and use <kbd className="num rounded border border-edge px-1">arrows</kbd> to move,
      <kbd className="num rounded border border-edge px-1">shift + arrows</kbd> to resize.
      <Button onClick={reset}>Reset layout</Button>
    </p>
  );
}
