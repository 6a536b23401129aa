import type { Schemas } from '@/api/client';

/** The figures of a run as a table for other programs: a line for each scheduler and measure, numbers in full. */
export function figuresToCsv(figures: Pick<Schemas['RunFigures'], 'run_id' | 'measures' | 'schedulers'>): string {
  const lines = figures.schedulers.flatMap(({ scheduler, estimates }) =>
    figures.measures.flatMap(({ name, unit }) => {
      const found = estimates[name];
      return found ? [[figures.run_id, scheduler, name, unit, found.mean, found.low, found.high, found.n]] : [];
    }),
  );
  return [['run', 'scheduler', 'measure', 'unit', 'mean', 'low', 'high', 'n'], ...lines].map((line) => line.map(csvCell).join(',')).join('\n') + '\n';
}

function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
