/** Pages by path, with links that can be shared: /?task=12 opens a task's audit. */
import { create } from 'zustand';

export const PAGES = ['race', 'experiments', 'workloads', 'models', 'tour'] as const;
export type Page = (typeof PAGES)[number];

export interface Place {
  page: Page;
  query: URLSearchParams;
}

export function placeOf(url: URL): Place {
  const name = url.pathname.replace(/^\/|\/$/g, '');
  const page = PAGES.find((each) => each === name) ?? 'race';
  return { page, query: url.searchParams };
}

export const pathOf = (page: Page): string => (page === 'race' ? '/' : `/${page}`);

export const useRouter = create<{ place: Place }>(() => ({ place: placeOf(new URL(window.location.href)) }));

/** Go to a page, or change the query of this one. */
export function go(path: string): void {
  window.history.pushState(null, '', path);
  arrive();
}

function arrive(): void {
  useRouter.setState({ place: placeOf(new URL(window.location.href)) });
}

window.addEventListener('popstate', arrive);

export function setQuery(name: string, value: string | null): void {
  const url = new URL(window.location.href);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  go(url.pathname + url.search);
}
