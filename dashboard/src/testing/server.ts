/** For tests: a server of answers by method and path, which remembers what it was requests. */
import { vi } from 'vitest';

interface RecordedRequest {
  method: string;
  path: string;
  body: unknown;
}

type Reply = unknown | ((requests: RecordedRequest) => unknown);

/** An error that the server answers with. */
export class ErrorReply {
  constructor(
    readonly status: number,
    readonly message: string,
    readonly hint = '',
  ) {}
}

/** Answer fetches: keys are `METHOD /path`, the query may be left out. What is not listed is a 404 that names itself. */
export function serve(replies: Record<string, Reply>): { requests: RecordedRequest[]; replies: Record<string, Reply>; commands: () => string[] } {
  const requests: RecordedRequest[] = [];
  vi.stubGlobal('fetch', async (url: string, init?: RequestInit) => {
    const one = { method: init?.method ?? 'GET', path: url, body: typeof init?.body === 'string' ? (JSON.parse(init.body) as unknown) : null };
    requests.push(one);
    const found = replies[`${one.method} ${url}`] ?? replies[`${one.method} ${url.split('?')[0]}`];
    const reply: unknown = typeof found === 'function' ? await (found as (each: RecordedRequest) => unknown)(one) : found;
    if (reply === undefined) return errorResponse(new ErrorReply(404, `no answer for ${one.method} ${url}`));
    return reply instanceof ErrorReply ? errorResponse(reply) : new Response(JSON.stringify(reply), { status: 200 });
  });
  return { requests, replies, commands: () => requests.filter((each) => each.method !== 'GET').map((each) => `${each.method} ${each.path}`) };
}

function errorResponse({ status, message, hint }: ErrorReply): Response {
  return new Response(JSON.stringify({ error: { kind: 'test', message, hint, detail: null } }), { status });
}

/** jsdom has dialogs that never open. */
export function openDialogs(): void {
  HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
    this.setAttribute('open', '');
  };
  HTMLDialogElement.prototype.close = function (this: HTMLDialogElement) {
    this.removeAttribute('open');
  };
}

/** Let the window be wide enough for tables, or not. */
export function setWide(wide: boolean): void {
  vi.stubGlobal('matchMedia', (query: string) => ({ matches: wide, media: query, addEventListener() {}, removeEventListener() {} }));
}
