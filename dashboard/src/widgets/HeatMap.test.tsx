import { act, cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { analysis, showAnalysis, stubSize } from '@/testing/analysis';
import { describeCell, describeMap, findBorder, HeatMap, LAYERS, valueReach } from './HeatMap';

beforeEach(() => {
  stubSize();
  showAnalysis();
});
afterEach(cleanup);

test('the border runs between cells of different sides, and not beside empty ones', () => {
  expect(findBorder([[-1, 1], [-1, 1]], 0)).toEqual([[0, 1, 1, 1], [1, 1, 2, 1]]);
  expect(findBorder([[-1], [1]], 0)).toEqual([[1, 0, 1, 1]]);
  expect(findBorder([[-1, null], [null, 1]], 0)).toEqual([]);
});

test('each side of speed-ups reaches to its own whole step; shares reach from 0 to 1', () => {
  const { speedup, gpu_wins } = analysis();
  expect([valueReach(speedup, 0, -1), valueReach(speedup, 0, 1)]).toEqual([3, 2]);
  expect(valueReach([[0.2]], 0, -1)).toBe(1);
  expect(valueReach(gpu_wins, 0.5, 1)).toBe(0.5);
});

test('says a cell in words', () => {
  const all = analysis();
  expect(describeCell(all, all.speedup, LAYERS.speedup, 0, 0)).toEqual({ where: 'size 1.00 to 10.0, intensity 0 to 0.5', what: 'CPU ×8.00 faster, median' });
  expect(describeCell(all, all.gpu_wins, LAYERS.gpu_wins, 0, 1).what).toBe('25 % of the tasks are faster on a GPU');
  expect(describeCell(all, all.gpu_wins, LAYERS.gpu_wins, 1, 0).what).toBe('no tasks');
  expect(LAYERS.speedup.describe(0)).toBe('as fast on both, median');
  expect([-1.26, -0.04, 0, 0.4].map(LAYERS.speedup.text)).toEqual(['−1.3', '0.0', '0.0', '0.4']);
});

test('sums up how many cells the GPU has', () => {
  const all = analysis();
  expect(describeMap(all, all.speedup, LAYERS.speedup)).toContain("the GPU's side has 3 of 5 cells with tasks, of 6 in all");
});

test('draws all cells, with the highest intensity on top and empty ones hatched', () => {
  render(<HeatMap />);
  expect(screen.getByRole('grid')).toHaveAccessibleName(/3 of 5 cells/);
  const cells = screen.getAllByRole('gridcell');
  expect(cells).toHaveLength(6);
  expect(cells[0]).toHaveAccessibleName(/^size 1.00 to 10.0, intensity 0.5 to 1: CPU ×2.00 faster/);
  const empty = screen.getByRole('gridcell', { name: /no tasks/ });
  expect(empty.querySelector('rect')!.getAttribute('fill')).toMatch(/^url\(#/);
  expect(cells[0]!.querySelector('rect')!.getAttribute('fill')).toMatch(/^rgb/);
});

test('cells show their numbers where these fit', () => {
  render(<HeatMap />);
  expect(screen.getByText('−1.0')).toBeInTheDocument();
  cleanup();
  stubSize(120, 100);
  render(<HeatMap />);
  expect(screen.queryByText('−1.0')).toBeNull();
});

test('other layers can be chosen', async () => {
  render(<HeatMap />);
  await userEvent.selectOptions(screen.getByLabelText('Show'), 'best share');
  expect(screen.getByRole('gridcell', { name: /best with 90 % on a GPU/ })).toBeInTheDocument();
});

test('the pointer and the arrow keys show the same tip', async () => {
  render(<HeatMap />);
  expect(screen.queryByTestId('tip')).toBeNull();
  await userEvent.hover(screen.getAllByRole('gridcell')[2]!);
  expect(screen.getByTestId('tip')).toHaveTextContent('size 100 to 1,000, intensity 0.5 to 1GPU ×4.00 faster, median');
  await userEvent.unhover(screen.getByRole('grid'));
  act(() => screen.getAllByRole('gridcell')[0]!.focus());
  await userEvent.keyboard('{ArrowDown}{ArrowRight}');
  expect(screen.getByTestId('tip')).toHaveTextContent('no tasks that both can run');
  expect(screen.getAllByRole('gridcell').filter((each) => each.getAttribute('tabindex') === '0')).toEqual([document.activeElement]);
});
