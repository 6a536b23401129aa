/** The connection to `/ws`: comes back by itself, waiting longer each time, and asks for what it missed. */
import type { Message } from './messages';

export type ConnectionStatus = 'connecting' | 'live' | 'lost';

interface Cursor {
  stream: string;
  seq: number;
}

interface Listener {
  message(message: Message): void;
  status(link: ConnectionStatus, retryAt: number | null): void;
  cursor(): Cursor;
  /** Whether messages should be coming: a race that does not run has nothing to say. */
  expectsMessages(): boolean;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** A line without a word for so long counts as lost, even if nobody has hung up. */
const SILENCE_MS = 15_000;

/** Milliseconds before the next try: doubled each time, with a random part so that not all come at once. */
export function backoff(tries: number, random: () => number = Math.random): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries) * (0.75 + random() / 2);
}

export function socketUrl(cursor: Cursor, origin: string = window.location.origin): string {
  const url = new URL('/ws', origin.replace(/^http/, 'ws'));
  if (cursor.stream && cursor.seq >= 0) {
    url.searchParams.set('cursor', String(cursor.seq));
    url.searchParams.set('stream', cursor.stream);
  }
  return url.toString();
}

export class Connection {
  private socket: WebSocket | null = null;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private heard = 0;
  private watch: ReturnType<typeof setInterval> | null = null;

  constructor(private readonly listener: Listener) {}

  open(): void {
    this.close();
    this.connect();
    this.watch = setInterval(() => this.listen(), SILENCE_MS / 3);
  }

  /** Try again at once. */
  retry(): void {
    this.tries = 0;
    this.connect();
  }

  close(): void {
    if (this.timer) clearTimeout(this.timer);
    if (this.watch) clearInterval(this.watch);
    this.timer = this.watch = null;
    this.drop();
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  private connect(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.drop();
    const socket = new WebSocket(socketUrl(this.listener.cursor()));
    this.socket = socket;
    this.heard = Date.now();
    socket.onmessage = (event: MessageEvent<string>) => {
      this.heard = Date.now();
      this.tries = 0;
      this.listener.status('live', null);
      this.listener.message(JSON.parse(event.data) as Message);
    };
    socket.onclose = () => this.again();
  }

  private again(): void {
    this.socket = null;
    const pause = backoff(this.tries++);
    this.listener.status('lost', Date.now() + pause);
    this.timer = setTimeout(() => this.connect(), pause);
  }

  private listen(): void {
    if (this.socket && this.listener.expectsMessages() && Date.now() - this.heard > SILENCE_MS) {
      this.drop();
      this.again();
    }
  }
}
