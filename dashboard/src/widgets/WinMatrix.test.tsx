import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, test } from 'vitest';
import { analysis, showAnalysis } from '@/testing/analysis';
import { showFrames } from '@/testing/race';
import { countDuel, describeDuel, formatWholePercent, rankByWins, WinMatrix } from './WinMatrix';

afterEach(cleanup);

test('ties are counted, not given to anybody', () => {
  const found = countDuel(analysis(), 1, 0);
  expect(found).toEqual({ wins: 61, losses: 30, neither: 9, tasks: 100 });
  expect(describeDuel(found, 'Hybrid ML', 'Greedy')).toBe('Hybrid ML ended 61 % of the tasks before Greedy, 30 % after it, 9 % neither (same moment, or not ended by both)');
  expect(describeDuel(countDuel(analysis(), 1, 2), 'Hybrid ML', 'Oracle')).not.toContain('neither');
});

test('rounding never makes nothing or everything of something', () => {
  expect([[0, 1000], [1, 1000], [999, 1000], [1000, 1000], [614, 1000]].map(([part, whole]) => formatWholePercent(part!, whole!))).toEqual(['0', '<1', '>99', '100', '61']);
});

test('rows are ordered by wins less losses', () => {
  expect(rankByWins(analysis())).toEqual([2, 1, 0]);
});

test('is a table with the percent of tasks that the row ended before the column', () => {
  showAnalysis();
  render(<WinMatrix />);
  const rows = [...screen.getByRole<HTMLTableElement>('table').rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  expect(rows).toEqual([['', 'ORC', 'ML', 'GRD'], ['Oracle', '', '60', '80'], ['Hybrid ML', '40', '', '61'], ['Greedy', '20', '30', '']]);
});

test('colours follow who leads, not the number', () => {
  showAnalysis({ wins: [[0, 30, 20], [40, 0, 40], [80, 60, 0]] });
  render(<WinMatrix />);
  const [red, green, blue] = screen.getByRole('cell', { name: /^Hybrid ML ended 40 % of the tasks before Greedy/ }).style.background.match(/\d+/g)!.map(Number);
  // 40 % against 30 % leads, so it is on the teal side of grey.
  expect(green).toBeGreaterThan(red!);
  expect(blue).toBeGreaterThan(red!);
});

test('pointing at a cell or moving there by keys says it in words', async () => {
  showAnalysis();
  render(<WinMatrix />);
  const words = screen.getByTestId('words');
  expect(words).toHaveTextContent('Last 100 tasks: Oracle wins most, Greedy least.');
  await userEvent.hover(screen.getByRole('cell', { name: /^Hybrid ML ended 61 %/ }));
  expect(words).toHaveTextContent('Hybrid ML ended 61 % of the tasks before Greedy, 30 % after it');
  await userEvent.unhover(screen.getByRole('table'));
  await userEvent.tab();
  await userEvent.keyboard('{ArrowRight}{End}');
  expect(words).toHaveTextContent('Oracle ended 80 % of the tasks before Greedy');
  expect(screen.getAllByRole('cell').filter((cell) => cell.tabIndex === 0)).toHaveLength(1);
});

test('says when there is nothing to compare', () => {
  showFrames();
  render(<WinMatrix />);
  expect(screen.getByText('No tasks yet')).toBeInTheDocument();
  cleanup();
  showAnalysis({ schedulers: ['greedy'], wins: [[0]] });
  render(<WinMatrix />);
  expect(screen.getByText(/nobody to beat/)).toBeInTheDocument();
});
