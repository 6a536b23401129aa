import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { stubSize } from '@/testing/analysis';
import { scheduler, update } from '@/testing/frames';
import { showFrames } from '@/testing/race';
import { KeyFigures } from './KeyFigures';
import { DistanceToBound, seriesColumns } from './OverTime';
import { stackColumns } from './Utilisation';

const series = (overBound: number[]) => ({ turnaround: [0.1, 0], execution: [0, 0], overBound, turnaroundOverBound: [], backlog: [0, 0], p95: [0, 0] });
const window = { first_task: 1200, tasks: 500, mean_turnaround: 0.2, mean_turnaround_split: 0.18, energy_front: [], cost_front: [], energy_front_split: [], cost_front_split: [] };

beforeEach(() => {
  stubSize(0, 0); // too small for a canvas, which jsdom has not
  usePreferences.setState({ bounded: 'makespan' });
});
afterEach(cleanup);

it('gives a column for each scheduler, and gaps for one without a series', () => {
  const race = { times: [1, 2], series: { greedy: series([1.5, 1.2]) } };
  expect(seriesColumns(race, ['greedy', 'eft'], 'overBound')).toEqual([[1, 2], [1.5, 1.2], [NaN, NaN]]);
});

it('keeps zero off logarithmic axes', () => {
  expect(seriesColumns({ times: [1, 2], series: { greedy: series([]) } }, ['greedy'], 'turnaround')[1]).toEqual([0.1, 1e-4]);
});

it('piles busy shares up to one when everybody is busy', () => {
  expect(stackColumns([[1, 0.5], [1, NaN]], 2)).toEqual([[0.5, 0.25], [1, 0.25]]);
});

it('shows the distance of makespan or of turnaround, and remembers which', async () => {
  showFrames(update(1, { certified_window: window, schedulers: [scheduler('hybrid_ml', { turnaround_over_bound: 1.234 }), scheduler('greedy', { turnaround_over_bound: null })] }));
  render(<DistanceToBound />);
  expect(screen.getByRole('img', { name: 'Hybrid ML 1.050, Greedy 1.050' })).toBeInTheDocument();
  await userEvent.selectOptions(screen.getByLabelText('Distance of'), 'Turnaround');
  expect(screen.getByRole('img', { name: 'Hybrid ML 1.234, Greedy –' })).toBeInTheDocument();
  expect(screen.getByRole('region')).toHaveTextContent('mean turnaround / certified lower bound, 500 tasks from 1,200 on');
  expect(screen.getByTitle('Greedy: it joined later or rejected a task of the window')).toHaveTextContent('–');
  expect(JSON.parse(localStorage.getItem('hms.choices')!)).toMatchObject({ state: { bounded: 'turnaround' } });
});

it('says in words why there is no distance yet', () => {
  usePreferences.setState({ bounded: 'turnaround' });
  const nobody = [scheduler('greedy', { turnaround_over_bound: null })];
  showFrames(update(1, { schedulers: nobody }));
  render(<DistanceToBound />);
  expect(screen.getByText(/soon after the first 100/)).toBeInTheDocument();
  cleanup();
  showFrames(update(1, { schedulers: nobody, certified_window: window }));
  render(<DistanceToBound />);
  expect(screen.getByText(/^Nobody is compared/)).toBeInTheDocument();
});

it('a key figure names who is nearest to the bound of turnaround; the oracle is no choice', () => {
  const figure = () => screen.getByRole('region', { name: 'Turnaround / bound' });
  const schedulers = [scheduler('oracle', { turnaround_over_bound: 1.1 }), scheduler('hybrid_ml', { turnaround_over_bound: 1.27 }), scheduler('greedy', { turnaround_over_bound: 9 })];
  showFrames(update(1, { certified_window: window, schedulers }));
  render(<KeyFigures />);
  expect(figure()).toHaveTextContent('1.27Hybrid ML, 500 tasks');
  cleanup();
  showFrames(update(1));
  render(<KeyFigures />);
  expect(figure()).toHaveTextContent('–from the first 100 tasks on');
  cleanup();
  showFrames(update(1, { certified_window: window, schedulers: [scheduler('greedy', { turnaround_over_bound: null })] }));
  render(<KeyFigures />);
  expect(figure()).toHaveTextContent('–nobody took all tasks of the window');
});
