import { useEffect } from 'react';
import { useLiveStore } from '@/live/store';
import { pause, resume, step } from '@/state/commands';
import { usePreferences } from '@/state/preferences';
import { useRouter } from '@/state/router';

/** Keys of the race page: space pauses and goes on, s steps, l edits the layout. */
export const SHORTCUTS: [string, string][] = [
  ['Space', 'pause and go on'],
  ['S', 'one step, while paused'],
  ['L', 'edit the layout'],
];

export function useShortcuts(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || useRouter.getState().route.page !== 'race') return;
      if (document.querySelector('dialog[open]')) return;
      const target = event.target as HTMLElement;
      if (target.closest('input,select,textarea,button,a,[role=slider],[tabindex]:not(body)')) return;
      const state = useLiveStore.getState().race.frame?.state;
      if (event.key === ' ' && (state === 'running' || state === 'paused')) {
        event.preventDefault();
        void (state === 'running' ? pause() : resume());
      }
      if (event.key === 's' && state === 'paused') void step(1);
      if (event.key === 'l') usePreferences.getState().setEditing(!usePreferences.getState().editing);
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
}
