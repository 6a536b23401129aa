/** What the person looks at: kept for this browser. */
import { create } from 'zustand';
import { persist } from 'zustand/middleware';

interface Choices {
  /** The scheduler whose lanes, radar, ledger and model are shown. */
  scheduler: string;
  choose: (scheduler: string) => void;
  editing: boolean;
  edit: (editing: boolean) => void;
}

export const useChoices = create<Choices>()(
  persist(
    (set) => ({
      scheduler: 'hybrid_ml',
      choose: (scheduler) => set({ scheduler }),
      editing: false,
      edit: (editing) => set({ editing }),
    }),
    { name: 'hms.choices', partialize: ({ scheduler }) => ({ scheduler }) },
  ),
);

/** The chosen scheduler if it takes part, else the first that does. */
export function chosen(wanted: string, racing: readonly string[]): string {
  return racing.includes(wanted) ? wanted : (racing.find((name) => name !== 'oracle') ?? racing[0] ?? wanted);
}
