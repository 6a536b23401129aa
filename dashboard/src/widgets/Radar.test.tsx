import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { showSchedulers, stubSize, windowFigures } from '@/testing/analysis';
import { compareToReference, Radar, radarScale, type Corner } from './Radar';

const all = () => [
  windowFigures('hybrid_ml', { mean_turnaround: 0.3, avg_time: 0.1, energy: 4, cost: 8e-6 }),
  windowFigures('greedy', { mean_turnaround: 60, avg_time: 0.2, energy: 3, cost: 9e-6 }, { saturated: true }),
  windowFigures('oracle', { mean_turnaround: 0.2, avg_time: 0.08, energy: 5, cost: 8e-6 }),
];
const ALL = ['turnaround', 'energy', 'cost'] as const;
const ratios = (found: { corners: Corner[] } | null) => found?.corners.map((corner) => Number(corner.ratio.toFixed(4)));
const corners = (...values: number[]): Corner[] => values.map((ratio) => ({ measure: 'cost', value: 1, ratio }));

beforeEach(() => {
  stubSize();
  usePreferences.setState({ scheduler: 'hybrid_ml' });
  showSchedulers(all());
});
afterEach(cleanup);

test('ratios are to the oracle', () => {
  const found = compareToReference(all(), 'hybrid_ml', ALL);
  expect(found?.against).toBe('Oracle');
  expect(ratios(found)).toEqual([1.5, 0.8, 1]);
});

test('without the oracle they are to the best of the others in each', () => {
  const found = compareToReference([...all().slice(0, 2), windowFigures('random', { mean_turnaround: 0.6, energy: 8, cost: 4e-6 })], 'hybrid_ml', ALL);
  expect(found?.against).toBe('the best of each');
  expect(ratios(found)).toEqual([0.5, 1.3333, 2]);
  expect(ratios(compareToReference(all(), 'oracle', ALL))).toEqual([0.6667, 1.6667, 1]);
  expect(ratios(compareToReference(all().slice(0, 1), 'hybrid_ml', ALL))).toEqual([1, 1, 1]);
});

test('nothing is drawn from what is not known', () => {
  expect(compareToReference([windowFigures('hybrid_ml', { energy: null }), all()[2]!], 'hybrid_ml', ALL)).toBeNull();
  expect(compareToReference([], 'hybrid_ml', ALL)).toBeNull();
});

test('the scale is linear for small ratios, logarithmic beyond 1 for large ones, and always grows', () => {
  const linear = radarScale(corners(1.4, 0.9, 1));
  expect(linear).toMatchObject({ log: false, rings: [0.5, 1, 1.5] });
  expect(linear.at(0.75)).toBeCloseTo(0.5);
  const log = radarScale(corners(300, 0.9, 1));
  expect(log).toMatchObject({ log: true, rings: [1, 10, 100] });
  expect(log.at(100) - log.at(10)).toBeCloseTo(log.at(10) - log.at(1));
  expect(log.at(300)).toBeLessThanOrEqual(1);
  expect(log.at(0.5)).toBeCloseTo(log.at(1) / 2);
  for (const { at } of [linear, log]) expect([0.2, 0.9, 1, 1.2, 1.5].map(at).every((value, i, every) => i === 0 || value > every[i - 1]!)).toBe(true);
});

test('corners have values with units and ratios', () => {
  render(<Radar />);
  expect(screen.getByRole('img')).toHaveAccessibleName('Hybrid ML per task against Oracle: turnaround 300 ms (×1.50), energy 4.00 J (×0.800), cost 8.00 µ$ (×1.00); below ×1 is better');
  expect(screen.getByText('300 ms · ×1.50')).toBeInTheDocument();
  expect(screen.queryByText('log beyond ×1')).toBeNull();
});

test('a saturated scheduler gets a logarithmic scale, and both are said', async () => {
  render(<Radar />);
  await userEvent.selectOptions(screen.getByLabelText('Scheduler'), 'greedy');
  expect(usePreferences.getState().scheduler).toBe('greedy');
  expect(screen.getByText('1.00 min · ×300')).toBeInTheDocument();
  expect(screen.getByText('log beyond ×1')).toBeInTheDocument();
  expect(screen.getByText('saturated')).toBeInTheDocument();
});

test('execution time instead of turnaround', async () => {
  render(<Radar />);
  await userEvent.click(screen.getByRole('button', { name: 'Execution time' }));
  expect(screen.getByRole('button', { name: 'Execution time', pressed: true })).toBeInTheDocument();
  expect(screen.getByText('100 ms · ×1.25')).toBeInTheDocument();
});
