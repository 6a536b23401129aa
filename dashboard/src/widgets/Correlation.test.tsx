import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { analysis, showAnalysis } from '@/testing/analysis';
import { Correlation, describeStrength, describeStrongest, featureLabel, formatCell, visibleColumns } from './Correlation';

const headers = (table: HTMLElement) => [...table.querySelectorAll('thead th')].map((each) => each.textContent);

beforeEach(() => showAnalysis());
afterEach(cleanup);

test('numbers are short, signed, and never minus nought', () => {
  expect([0.67, -0.57, 0.004, -0.004, 1, -1, 0.999].map(formatCell)).toEqual(['.67', '−.57', '.00', '.00', '1', '−1', '1']);
});

test('words tell strength and direction', () => {
  expect(describeStrength(-0.9)).toBe('strongly one rises as the other falls');
  expect(describeStrength(0.4)).toBe('clearly rise together');
  expect(describeStrength(0.05)).toContain('unrelated');
});

test('task features are those that are no scheduler', () => {
  expect(visibleColumns(analysis(), 'tasks')).toEqual([0, 1]);
  expect(visibleColumns(analysis(), 'all')).toEqual([0, 1, 2, 3, 4]);
  expect(featureLabel('hybrid_ml', ['hybrid_ml'])).toBe('turnaround of Hybrid ML');
  expect(featureLabel('turnaround of hybrid_ml', ['hybrid_ml'])).toBe('turnaround of Hybrid ML');
});

test('the strongest pair is of two different columns and may be negative', () => {
  expect(describeStrongest(analysis(), [0, 1, 2, 3, 4])).toBe('Strongest: memory and turnaround of Hybrid ML, r = −0.90');
  expect(describeStrongest({ ...analysis(), correlation: [[1, 0], [0, 1]] }, [0, 1])).toBe('Nothing goes together');
});

test('shows the features of tasks, and all on demand', async () => {
  render(<Correlation />);
  const table = screen.getByRole('table', { name: /Strongest: size and memory, r = −0.50/ });
  expect(headers(table)).toEqual(['size', 'mem']);
  await userEvent.selectOptions(screen.getByLabelText('Show'), 'all');
  expect(headers(screen.getByRole('table'))).toEqual(['size', 'mem', 'GRD', 'ML', 'ORC']);
  expect(screen.getByRole('rowheader', { name: 'Hybrid ML' })).toHaveAttribute('title', 'turnaround of Hybrid ML');
});

test('cells are red for +, blue for −, and hatched where r is not known', async () => {
  render(<Correlation />);
  await userEvent.selectOptions(screen.getByLabelText('Show'), 'all');
  const colour = (name: RegExp) => screen.getAllByRole('cell', { name })[0]!.style.background.match(/\d+/g)!.map(Number);
  const [red, , blue] = colour(/^size with itself/);
  expect(red).toBeGreaterThan(blue!);
  const [less, , more] = colour(/^memory and turnaround of Hybrid ML: r = −0.90/);
  expect(more).toBeGreaterThan(less!);
  const unknown = screen.getAllByRole('cell', { name: 'memory and turnaround of Oracle: not known' })[0]!;
  expect(unknown).toHaveTextContent('–');
});

test('pointing at a cell says it in words', async () => {
  render(<Correlation />);
  await userEvent.hover(screen.getAllByRole('cell', { name: /^size and memory/ })[0]!);
  expect(screen.getByTestId('words')).toHaveTextContent('size and memory: r = −0.50, clearly one rises as the other falls');
});
