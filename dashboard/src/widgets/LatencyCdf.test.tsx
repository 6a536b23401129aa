import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scheduler } from '@/testing/frames';
import { showSchedulers, stubSize } from '@/testing/analysis';
import { buildCurves, LatencyCdf, shareWithin, timeAt } from './LatencyCdf';

/** From `first` to a hundred times that, by factors. */
const cdf = (first: number) => Array.from({ length: 21 }, (_, i) => first * 100 ** (i / 20));
const all = () => [scheduler('greedy', { turnaround_cdf: cdf(1) }), scheduler('hybrid_ml', { turnaround_cdf: cdf(0.01) }), scheduler('random', { turnaround_cdf: [] })];

beforeEach(() => {
  stubSize();
  showSchedulers(all());
});
afterEach(cleanup);

test('curves are read in both directions', () => {
  const values = [0, 10, 20, 60];
  expect(timeAt(values, 0.5)).toBeCloseTo(15);
  expect([timeAt(values, 0), timeAt(values, 1), timeAt(values, 2)]).toEqual([0, 60, 60]);
  expect(shareWithin(values, 40)).toBeCloseTo(2.5 / 3);
  expect([shareWithin(values, -1), shareWithin(values, 60), shareWithin(values, 99)]).toEqual([0, 1, 1]);
  expect(shareWithin([5, 5, 5], 5)).toBe(1);
  for (const share of [0.1, 0.5, 0.95]) expect(shareWithin(cdf(1), timeAt(cdf(1), share))).toBeCloseTo(share);
});

test('curves are sorted by their tail; who has done nothing has none', () => {
  expect(buildCurves(all()).map((curve) => curve.name)).toEqual(['hybrid_ml', 'greedy']);
});

test('sums up and lists p95 with the shortest first', () => {
  render(<LatencyCdf />);
  expect(screen.getByRole('img', { name: 'Turnaround within which 95 % of the last tasks were done: Hybrid ML 794 ms, Greedy 1.32 min' })).toBeInTheDocument();
  expect(screen.getAllByRole('button').map((each) => each.textContent)).toEqual(['Hybrid ML794 ms', 'Greedy1.32 min']);
});

test('each line has the dash of its scheduler', () => {
  render(<LatencyCdf />);
  const dashes = [...screen.getByRole('img').querySelectorAll('path')].map((path) => path.getAttribute('stroke-dasharray'));
  expect(dashes).toEqual(['6 5', '']);
});

test('the legend switches lines off and on', async () => {
  render(<LatencyCdf />);
  await userEvent.click(screen.getByRole('button', { name: /Greedy/, pressed: true }));
  expect(screen.getByRole('button', { name: /Greedy/ })).toHaveAttribute('aria-pressed', 'false');
  expect(screen.getByRole('img')).toHaveAccessibleName(/done: Hybrid ML 794 ms$/);
  await userEvent.click(screen.getByRole('button', { name: /Hybrid ML/ }));
  expect(screen.getByText('All are switched off')).toBeInTheDocument();
  await userEvent.click(screen.getByRole('button', { name: /Greedy/ }));
  expect(screen.getByRole('img')).toHaveAccessibleName(/done: Greedy 1.32 min$/);
});

test('keys move the percentile that the legend shows', async () => {
  render(<LatencyCdf />);
  const reader = screen.getByRole('slider', { name: 'Percentile to read' });
  expect(reader).toHaveAttribute('aria-valuenow', '95');
  act(() => reader.focus());
  await userEvent.keyboard('{PageDown}{ArrowDown}');
  expect(reader).toHaveAttribute('aria-valuetext', expect.stringMatching(/^p65: Hybrid ML 200 ms/));
  expect(screen.getByRole('button', { name: /Hybrid ML/ })).toHaveTextContent('200 ms');
  await userEvent.keyboard('{End}{ArrowUp}');
  expect(reader).toHaveAttribute('aria-valuenow', '100');
});

test('the pointer shows the share done within a time', () => {
  render(<LatencyCdf />);
  // The whole axis is 10 ms to 100 s, so its middle is 1 s: all of one, the first of the other.
  const reader = screen.getByRole('slider');
  const middle = parseFloat(reader.style.width) / 2;
  fireEvent.pointerMove(reader, { clientX: middle, clientY: 10 });
  expect(screen.getByTestId('tip')).toHaveTextContent(/done within 1.00 s ?Hybrid ML ?100.0 % ?Greedy ?0.0 %/);
  fireEvent.pointerLeave(reader);
  expect(screen.queryByTestId('tip')).toBeNull();
});
