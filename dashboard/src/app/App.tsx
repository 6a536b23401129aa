import { lazy, Suspense, useEffect } from 'react';
import { useConnection } from '@/live/store';
import { ErrorBoundary } from '@/look/Tile';
import { RacePage } from '@/pages/Race';
import { Header } from './Header';
import { useRouter, type Page } from './router';
import { Toasts } from './Toasts';
import { TokenDialog } from './TokenDialog';
import { useShortcuts } from './shortcuts';

const Experiments = lazy(() => import('@/pages/Experiments'));
const Workloads = lazy(() => import('@/pages/Workloads'));
const Models = lazy(() => import('@/pages/Models'));
const Tour = lazy(() => import('@/pages/Tour'));
const CONTENT = { race: RacePage, experiments: Experiments, workloads: Workloads, models: Models, tour: Tour };
const TITLES: Record<Page, string> = { race: 'Live race', experiments: 'Experiments', workloads: 'Workloads', models: 'Models', tour: 'Tour' };

export function App() {
  useConnection();
  useShortcuts();
  const page = useRouter((state) => state.route.page);
  useEffect(() => {
    document.title = `${TITLES[page]} · Hybrid ML Scheduler`;
  }, [page]);
  const Content = CONTENT[page];
  return (
    <>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2">Skip to the content</a>
      <Header />
      <main id="content" className="mx-auto max-w-[2560px] px-3 py-3 sm:px-4">
        <h1 className="sr-only">{TITLES[page]}</h1>
        <ErrorBoundary title={TITLES[page]} key={page}>
          <Suspense fallback={<div className="skeleton h-96" />}>
            <Content />
          </Suspense>
        </ErrorBoundary>
      </main>
      <Toasts />
      <TokenDialog />
    </>
  );
}
