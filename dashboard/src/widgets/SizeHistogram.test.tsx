import { act, cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { analysis, showAnalysis, stubSize } from '@/testing/analysis';
import { countAxis, getQuantiles, quantileFromBins, SizeHistogram, stackLabels } from './SizeHistogram';

const NONE = { p50: null, p95: null, p99: null };

beforeEach(() => {
  stubSize();
  showAnalysis();
});
afterEach(cleanup);

test('quantiles are read off the bins, by factors where bins are', () => {
  expect(quantileFromBins([0, 10, 20], [5, 5], 0.75, false)).toBeCloseTo(15);
  expect(quantileFromBins([1, 10, 100], [5, 5], 0.75, true)).toBeCloseTo(10 ** 1.5);
  expect(quantileFromBins([0, 10, 20, 30], [5, 0, 5], 0.5, false)).toBe(10);
  expect(quantileFromBins([0, 10], [0], 0.5, false)).toBeNaN();
});

test("the server's quantiles are exact, others only about", () => {
  expect(getQuantiles(analysis())[1]).toEqual({ name: 'p95', value: 120, about: false });
  const [p50] = getQuantiles(analysis({ size_quantiles: NONE }));
  expect(p50).toEqual({ name: 'p50', value: 10, about: true });
});

test('one task is seen on a logarithmic axis', () => {
  expect(countAxis(50, true, 9)).toEqual({ range: [0.5, 100], ticks: [1, 10, 100], log: true });
  expect(countAxis(50, false, 5).range).toEqual([0, 50]);
});

test('labels that would cover each other take lines of their own and stay inside', () => {
  expect(stackLabels([50, 200, 205], 60, [0, 220])).toEqual([{ x: 20, lane: 0 }, { x: 160, lane: 0 }, { x: 160, lane: 1 }]);
});

test('draws a bar for each bin and sums them up', () => {
  render(<SizeHistogram />);
  expect(screen.getByRole('img', { name: /^Sizes of the last 100 tasks, 1.00 to 1,000: p50 9.00, p95 120, p99 700$/ })).toBeInTheDocument();
  expect(screen.getByText('n = 100')).toBeInTheDocument();
  expect(screen.getByText('p95 120')).toBeInTheDocument();
  const height = (name: RegExp) => Number(screen.getByRole('img', { name }).querySelector('rect:last-child')!.getAttribute('height'));
  expect(height(/^size 1.00 to 10.0: 50 tasks, 50.0 %/) / height(/^size 100 to 1,000: 5 tasks/)).toBeCloseTo(10, 0);
});

test('on a logarithmic count the small bars grow', async () => {
  render(<SizeHistogram />);
  const small = () => Number(screen.getByRole('img', { name: /: 5 tasks/ }).querySelector('rect:last-child')!.getAttribute('height'));
  const before = small();
  await userEvent.click(screen.getByRole('button', { name: 'log count', pressed: false }));
  expect(screen.getByRole('button', { name: 'log count', pressed: true })).toBeInTheDocument();
  expect(small()).toBeGreaterThan(3 * before);
});

test('marks that are only about say so', () => {
  showAnalysis({ size_quantiles: NONE });
  render(<SizeHistogram />);
  expect(screen.getByText('p50 ≈10.0')).toBeInTheDocument();
});

test('pointer and keys tell about a bar', async () => {
  render(<SizeHistogram />);
  await userEvent.hover(screen.getByRole('img', { name: /: 45 tasks/ }));
  expect(screen.getByTestId('tip')).toHaveTextContent('size 10.0 to 100: 45 tasks, 45.0 %');
  act(() => screen.getByRole('img', { name: /: 50 tasks/ }).focus());
  await userEvent.keyboard('{End}');
  expect(screen.getByTestId('tip')).toHaveTextContent('5 tasks');
});
