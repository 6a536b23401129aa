/** An analysis for tests: three schedulers, three sizes, two intensities. */
import { vi } from 'vitest';
import type { Analysis, SchedulerFigures } from '@/live/messages';
import { scheduler, update } from './frames';
import { showFrames } from './race';

export const analysis = (change: Partial<Analysis> = {}): Analysis => ({
  tasks: 100,
  schedulers: ['greedy', 'hybrid_ml', 'oracle'],
  wins: [[0, 30, 20], [61, 0, 40], [80, 60, 0]],
  features: ['size', 'memory', 'greedy', 'hybrid_ml', 'oracle'],
  correlation: [[1, -0.5, 0.1, 0.2, 0.3], [-0.5, 1, 0.004, -0.9, null], [0.1, 0.004, 1, 0.5, 0.5], [0.2, -0.9, 0.5, 1, 0.5], [0.3, null, 0.5, 0.5, 1]],
  size_edges: [1, 10, 100, 1000],
  size_counts: [50, 45, 5],
  log_sizes: true,
  size_quantiles: { p50: 9, p95: 120, p99: 700 },
  intensity_edges: [0, 0.5, 1],
  heatmap: [[0.1, 0.2], [null, 0.6], [0.7, 0.9]],
  gpu_wins: [[0, 0.25], [null, 0.75], [1, 1]],
  speedup: [[-3, -1], [null, 1], [1.5, 2]],
  histories: {},
  ...change,
});

export function showAnalysis(change: Partial<Analysis> = {}): void {
  showFrames(update(1, { analysis: analysis(change) }));
}

export function showSchedulers(schedulers: SchedulerFigures[]): void {
  showFrames(update(1, { schedulers }));
}

/** A scheduler whose last tasks took, cost and used so much. */
export function windowFigures(name: string, window: Partial<SchedulerFigures['window']>, values: Partial<SchedulerFigures> = {}): SchedulerFigures {
  const bare = scheduler(name, values);
  return { ...bare, window: { ...bare.window, ...window } };
}

/** jsdom lays nothing out: every watched node is told this size. */
export function stubSize(width = 460, height = 250): void {
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(private readonly told: (entries: unknown[]) => void) {}
      observe() {
        this.told([{ contentRect: { width, height } }]);
      }
      disconnect() {}
    },
  );
}
