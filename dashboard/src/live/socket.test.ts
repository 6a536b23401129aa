import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Message } from './messages';
import { backoff, Connection, socketUrl, type ConnectionStatus } from './socket';

class FakeSocket {
  static all: FakeSocket[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  onopen: (() => void) | null = null;
  closed = false;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  close() {
    this.closed = true;
  }
}

let links: ConnectionStatus[] = [];
let messages: Message[] = [];
let expects = true;
const make = () =>
  new Connection({
    message: (message) => messages.push(message),
    status: (link) => links.push(link),
    cursor: () => ({ stream: 'abc', seq: 41 }),
    expectsMessages: () => expects,
  });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  [FakeSocket.all, links, messages, expects] = [[], [], [], true];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('address', () => {
  it('asks for what came after the last message', () => {
    expect(socketUrl({ stream: 'abc', seq: 41 }, 'http://localhost:8000')).toBe('ws://localhost:8000/ws?cursor=41&stream=abc');
  });
  it('asks for nothing in particular at first, and keeps encryption', () => {
    expect(socketUrl({ stream: '', seq: -1 }, 'https://race.example')).toBe('wss://race.example/ws');
  });
});

describe('wait', () => {
  it('doubles, up to ten seconds', () => {
    expect([0, 1, 2, 9].map((tries) => backoff(tries, () => 0.5))).toEqual([500, 1000, 2000, 10_000]);
  });
  it('is spread, so that not all pages come back at once', () => {
    expect(backoff(0, () => 0)).toBe(375);
    expect(backoff(0, () => 1)).toBe(625);
  });
});

describe('Connection', () => {
  it('hands messages on', () => {
    make().open();
    FakeSocket.all[0]!.onmessage!({ data: '{"type":"skipped","count":2}' });
    expect(messages).toEqual([{ type: 'skipped', count: 2 }]);
    expect(links).toEqual(['live']);
  });

  it('comes back with its cursor after the line broke, waiting longer each time', () => {
    make().open();
    FakeSocket.all[0]!.onclose!();
    expect(links).toEqual(['lost']);
    vi.advanceTimersByTime(700);
    expect(FakeSocket.all).toHaveLength(2);
    expect(FakeSocket.all[1]!.url).toContain('cursor=41');
    FakeSocket.all[1]!.onclose!();
    vi.advanceTimersByTime(700);
    expect(FakeSocket.all).toHaveLength(2);
    vi.advanceTimersByTime(700);
    expect(FakeSocket.all).toHaveLength(3);
  });

  it('counts a silent line as lost while the race runs', () => {
    make().open();
    vi.advanceTimersByTime(25_000);
    expect(links).toContain('lost');
  });

  it('lets a race that does not run be silent', () => {
    expects = false;
    make().open();
    vi.advanceTimersByTime(60_000);
    expect(links).toEqual([]);
  });

  it('tries at once when asked to, and not again after it was closed', () => {
    const connection = make();
    connection.open();
    FakeSocket.all[0]!.onclose!();
    connection.retry();
    expect(FakeSocket.all).toHaveLength(2);
    connection.close();
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.all).toHaveLength(2);
  });
});
