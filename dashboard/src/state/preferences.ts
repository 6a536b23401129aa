/** What the person looks at: kept for this browser. */
import { create } from 'zustand';
import { persist } from 'zustand/middleware';
import { isReference } from '@/theme/schedulers';

interface Preferences {
  /** The scheduler whose lanes, radar, ledger and model are shown. */
  scheduler: string;
  selectScheduler: (scheduler: string) => void;
  /** What the distance to the bound is shown of. */
  bounded: 'makespan' | 'turnaround';
  selectBounded: (bounded: Preferences['bounded']) => void;
  /** What is weighed against time. */
  price: 'cost' | 'energy';
  selectPrice: (price: Preferences['price']) => void;
  editing: boolean;
  setEditing: (editing: boolean) => void;
}

export const usePreferences = create<Preferences>()(
  persist(
    (set) => ({
      scheduler: 'hybrid_ml',
      selectScheduler: (scheduler) => set({ scheduler }),
      bounded: 'makespan',
      selectBounded: (bounded) => set({ bounded }),
      price: 'cost',
      selectPrice: (price) => set({ price }),
      editing: false,
      setEditing: (editing) => set({ editing }),
    }),
    { name: 'hms.choices', partialize: ({ scheduler, bounded, price }) => ({ scheduler, bounded, price }) },
  ),
);

/** The chosen scheduler if it takes part, else the first that does. */
export function resolveScheduler(wanted: string, racing: readonly string[]): string {
  return racing.includes(wanted) ? wanted : (racing.find((name) => !isReference(name)) ?? racing[0] ?? wanted);
}
