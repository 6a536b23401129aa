/** Pages by path, with links that can be shared: /?task=12 opens a task's audit. */
import { create } from 'zustand';

export const PAGES = ['race', 'experiments', 'clusters', 'workloads', 'models', 'tour'] as const;
type Page = (typeof PAGES)[number];
export const PAGE_TITLES: Record<Page, string> = { race: 'Live race', experiments: 'Experiments', clusters: 'Clusters', workloads: 'Workloads', models: 'Models', tour: 'Tour' };

export interface Route {
  page: Page;
  query: URLSearchParams;
}

function parseRoute(url: URL): Route {
  const name = url.pathname.replace(/^\/|\/$/g, '');
  const page = PAGES.find((each) => each === name) ?? 'race';
  return { page, query: url.searchParams };
}

export const pagePath = (page: Page): string => (page === 'race' ? '/' : `/${page}`);

export const useRouter = create<{ route: Route }>(() => ({ route: parseRoute(new URL(window.location.href)) }));

/** Go to a page, or change the query of this one. */
export function navigate(path: string): void {
  window.history.pushState(null, '', path);
  syncRoute();
}

function syncRoute(): void {
  useRouter.setState({ route: parseRoute(new URL(window.location.href)) });
}

window.addEventListener('popstate', syncRoute);

/** Set a part of the address, or remove it (null); what depends on it is forgotten. */
export function setQuery(name: string, value: string | null, ...forget: string[]): void {
  const url = new URL(window.location.href);
  for (const each of forget) url.searchParams.delete(each);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  navigate(url.pathname + url.search);
}
