/** One race for the whole page, and hooks that look at it no more often than a widget needs. */
import { useEffect, useRef, useState } from 'react';
import { create } from 'zustand';
import { Connection, type ConnectionStatus } from './socket';
import { applyMessage, emptyRace, type Race } from './state';

interface LiveState {
  race: Race;
  status: ConnectionStatus;
  /** When the page will try to connect again, ms since 1970. */
  retryAt: number | null;
  /** When the last update came, ms since 1970; 0: never. */
  lastUpdateAt: number;
}

export const useLiveStore = create<LiveState>(() => ({ race: emptyRace, status: 'connecting', retryAt: null, lastUpdateAt: 0 }));

const connection = new Connection({
  message: (message) =>
    useLiveStore.setState((live) => ({
      race: applyMessage(live.race, message),
      lastUpdateAt: message.type === 'simulation_update' ? Date.now() : live.lastUpdateAt,
    })),
  status: (status, retryAt) => {
    const now = useLiveStore.getState();
    if (now.status !== status || now.retryAt !== retryAt) useLiveStore.setState({ status, retryAt });
  },
  cursor: () => useLiveStore.getState().race,
  expectsMessages: () => useLiveStore.getState().race.frame?.state === 'running',
});

export const retry = () => connection.retry();

export function useConnection(): void {
  useEffect(() => {
    connection.open();
    return () => connection.close();
  }, []);
}

/** Times a second: what moves with each frame, what people read, what changes slowly. */
const RATES = { frame: 30, read: 2, slow: 1 } as const;
export type Rate = keyof typeof RATES;

/**
 * Select from the race, at most so many times a second. While `paused`, the selection stays as it is.
 * The newest state is never lost: a change that came too early is shown when its time has come.
 */
export function useRace<T>(select: (race: Race) => T, rate: Rate = 'frame', paused = false): T {
  const [selected, setSelected] = useState(() => select(useLiveStore.getState().race));
  const selector = useRef(select);
  selector.current = select;
  useEffect(() => {
    if (paused) return;
    const pause = 1000 / RATES[rate];
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = () => {
      timer = null;
      last = performance.now();
      setSelected(() => selector.current(useLiveStore.getState().race));
    };
    const changed = () => {
      const early = last + pause - performance.now();
      if (early <= 0) show();
      else timer ??= setTimeout(show, early);
    };
    show();
    const stop = useLiveStore.subscribe((live, before) => {
      if (live.race !== before.race) changed();
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [rate, paused]);
  return selected;
}

export const useConnectionStatus = () => useLiveStore((live) => live.status);

/** Seconds since the last update, or null while data is fresh. */
export function useStaleness(): number | null {
  const [age, setAge] = useState<number | null>(null);
  useEffect(() => {
    const tick = () => {
      const { status, lastUpdateAt, race } = useLiveStore.getState();
      setAge(status !== 'live' && race.frame && lastUpdateAt ? Math.round((Date.now() - lastUpdateAt) / 1000) : null);
    };
    tick();
    const timer = setInterval(tick, 1000);
    const stop = useLiveStore.subscribe((live, before) => {
      if (live.status !== before.status) tick();
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, []);
  return age;
}
