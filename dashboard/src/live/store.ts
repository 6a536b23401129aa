/** One race for the whole page, and hooks that look at it no more often than a widget needs. */
import { useEffect, useRef, useState } from 'react';
import { create } from 'zustand';
import { fold, nothing, type Race } from './state';
import { Connection, type Link } from './socket';

interface Live {
  race: Race;
  link: Link;
  /** When the page will try to connect again, ms since 1970. */
  retryAt: number | null;
  /** When the last update came, ms since 1970; 0: never. */
  heardAt: number;
}

export const useStore = create<Live>(() => ({ race: nothing, link: 'connecting', retryAt: null, heardAt: 0 }));

const connection = new Connection({
  message: (message) =>
    useStore.setState((live) => ({
      race: fold(live.race, message),
      heardAt: message.type === 'simulation_update' ? Date.now() : live.heardAt,
    })),
  link: (link, retryAt) => {
    const now = useStore.getState();
    if (now.link !== link || now.retryAt !== retryAt) useStore.setState({ link, retryAt });
  },
  cursor: () => useStore.getState().race,
  expects: () => useStore.getState().race.frame?.state === 'running',
});

export const retry = () => connection.retry();

export function useConnection(): void {
  useEffect(() => {
    connection.open();
    return () => connection.close();
  }, []);
}

/** Times a second: what moves with each frame, what people read, what changes slowly. */
export const RATES = { frame: 30, read: 2, slow: 1 } as const;
export type Rate = keyof typeof RATES;

/**
 * Look at the race, at most so many times a second. While `held`, the picture stands still.
 * The newest state is never lost: a change that came too early is shown when its time has come.
 */
export function useRace<T>(look: (race: Race) => T, rate: Rate = 'frame', held = false): T {
  const [seen, setSeen] = useState(() => look(useStore.getState().race));
  const looking = useRef(look);
  looking.current = look;
  useEffect(() => {
    if (held) return;
    const pause = 1000 / RATES[rate];
    let last = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = () => {
      timer = null;
      last = performance.now();
      setSeen(() => looking.current(useStore.getState().race));
    };
    const changed = () => {
      const early = last + pause - performance.now();
      if (early <= 0) show();
      else timer ??= setTimeout(show, early);
    };
    show();
    const stop = useStore.subscribe((live, before) => {
      if (live.race !== before.race) changed();
    });
    return () => {
      stop();
      if (timer) clearTimeout(timer);
    };
  }, [rate, held]);
  return seen;
}

export const useLink = () => useStore((live) => live.link);

/** Seconds since the last update, or null while data is fresh. */
export function useStaleness(): number | null {
  const [age, setAge] = useState<number | null>(null);
  useEffect(() => {
    const tick = () => {
      const { link, heardAt, race } = useStore.getState();
      setAge(link !== 'live' && race.frame && heardAt ? Math.round((Date.now() - heardAt) / 1000) : null);
    };
    tick();
    const timer = setInterval(tick, 1000);
    const stop = useStore.subscribe((live, before) => {
      if (live.link !== before.link) tick();
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, []);
  return age;
}
