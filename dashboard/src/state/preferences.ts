/** What the person looks at: kept for this browser. */
import { create } from 'zustand';
import { persist } from 'zustand/middleware';
import { isReference } from '@/theme/schedulers';

interface Preferences {
  /** The scheduler whose lanes, radar, ledger and model are shown. */
  scheduler: string;
  selectScheduler: (scheduler: string) => void;
  editing: boolean;
  setEditing: (editing: boolean) => void;
}

export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      scheduler: 'hybrid_ml',
      selectScheduler: (scheduler) => set({ scheduler }),
      editing: false,
      setEditing: (editing) => set({ editing }),
    }),
    { name: 'hms.choices', partialize: ({ scheduler }) => ({ scheduler }) },
  ),
);

/** The chosen scheduler if it takes part, else the first that does. */
export function resolveScheduler(wanted: string, racing: readonly string[]): string {
  return racing.includes(wanted) ? wanted : (racing.find((name) => !isReference(name)) ?? racing[0] ?? wanted);
}
