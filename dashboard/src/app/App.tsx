/** The frame of all pages: header, page, toasts and the token dialog. */
import { lazy, Suspense, useEffect, useState } from 'react';
import { X } from 'lucide-react';
import { useFetch } from '@/api/useFetch';
import { Button, Field, INPUT_CLASS } from '@/components/controls';
import { Dialog } from '@/components/Dialog';
import { ErrorBoundary } from '@/components/Panel';
import { useConnection, useConnectionStatus } from '@/live/store';
import { RacePage } from '@/pages/RacePage';
import { submitToken, useCommands } from '@/state/commands';
import { PAGE_TITLES, useRouter } from '@/state/router';
import { dismissToast, useToasts } from '@/state/toasts';
import { setSchedulers, useSchedulerStyles, type SchedulerEntry } from '@/theme/schedulers';
import { Header } from './Header';

const ExperimentsPage = lazy(() => import('@/pages/ExperimentsPage'));
const ClustersPage = lazy(() => import('@/pages/ClustersPage'));
const WorkloadsPage = lazy(() => import('@/pages/WorkloadsPage'));
const ModelsPage = lazy(() => import('@/pages/ModelsPage'));
const TourPage = lazy(() => import('@/pages/TourPage'));
const CONTENT = { race: RacePage, experiments: ExperimentsPage, clusters: ClustersPage, workloads: WorkloadsPage, models: ModelsPage, tour: TourPage };

export function App() {
  useConnection();
  const described = useSchedulers();
  const page = useRouter((state) => state.route.page);
  useEffect(() => {
    document.title = `${PAGE_TITLES[page]} · Hybrid ML Scheduler`;
  }, [page]);
  const Content = CONTENT[page];
  return (
    <>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2">Skip to the content</a>
      <Header />
      <main id="content" className="mx-auto max-w-[2560px] px-3 py-3 sm:px-4">
        <h1 className="sr-only">{PAGE_TITLES[page]}</h1>
        <ErrorBoundary title={PAGE_TITLES[page]} key={page}>
          <Suspense fallback={<PageSkeleton />}>
            {described ? <Content /> : <PageSkeleton />}
          </Suspense>
        </ErrorBoundary>
      </main>
      <Toasts />
      <TokenDialog />
    </>
  );
}

function PageSkeleton() {
  return <div role="status" aria-label="Loading" className="skeleton h-96" />;
}

/**
 * Ask the server how its schedulers are called and drawn; again when it is back, and when a page shows one with options.
 * Returns whether pages can be drawn: nothing waits for a server that does not answer.
 */
function useSchedulers(): boolean {
  const styles = useSchedulerStyles((state) => state.styles); // drawn again when it changes
  const requested = useSchedulerStyles((state) => state.requested);
  const query = new URLSearchParams(requested.map((spec) => ['also', spec]));
  const { data, problem, refetch } = useFetch<SchedulerEntry[]>(`/api/schedulers${requested.length ? `?${query}` : ''}`);
  const online = useConnectionStatus() === 'live';
  useEffect(() => {
    if (data) setSchedulers(data);
  }, [data]);
  useEffect(() => {
    if (online && problem) refetch();
  }, [online]);
  return styles.size > 0 || problem !== null;
}

const TOAST_TONES = { good: 'border-good/60', warn: 'border-warn/60', bad: 'border-bad/70' };

function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div role="status" aria-live="polite" className="pointer-events-none fixed right-3 bottom-3 z-50 flex w-80 max-w-[calc(100vw-1.5rem)] flex-col gap-2">
      {toasts.map(({ id, tone, title, text }) => (
        <div key={id} className={`pointer-events-auto flex items-start gap-2 rounded-xl border bg-raised px-3 py-2 text-sm ${TOAST_TONES[tone]}`}>
          <span className="min-w-0 flex-1">
            <span className="block font-semibold break-words">{title}</span>
            {text && <span className="block break-words text-quiet">{text}</span>}
          </span>
          <button type="button" aria-label="Dismiss" onClick={() => dismissToast(id)} className="rounded p-0.5 hover:bg-panel">
            <X size={14} aria-hidden="true" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** A server that listens beyond its own machine wants its token before it takes commands. */
function TokenDialog() {
  const waiting = useCommands((state) => state.awaitingToken !== null);
  const [value, setValue] = useState('');
  if (!waiting) return null;
  return (
    <Dialog title="This command needs the control token" onClose={() => useCommands.setState({ awaitingToken: null })}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          submitToken(value);
        }}
      >
        <p className="text-sm text-quiet">It is the TOKEN that the server was started with. It is kept until this tab is closed.</p>
        <Field label="Token">
          <input className={INPUT_CLASS} type="password" autoComplete="current-password" autoFocus required value={value} onChange={(event) => setValue(event.target.value)} />
        </Field>
        <Button kind="main" type="submit">Send the command</Button>
      </form>
    </Dialog>
  );
}
