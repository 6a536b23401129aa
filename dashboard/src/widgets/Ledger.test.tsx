import { act, cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { navigate, useRouter } from '@/state/router';
import { frame, record, result, showFrames } from '@/testing/race';
import * as files from '@/utils/download';
import { Ledger } from './Ledger';

const records = [
  record(1, { hybrid_ml: result(1, 0.4), greedy: result(0, 0.2) }, { size: 500 }),
  record(2, { hybrid_ml: result(0, 0.1), greedy: result(1, 0.2) }, { size: 9000, explained: false }),
  record(3, { hybrid_ml: result(-1, null), greedy: result(1, 0.3) }, { size: 3000 }),
];

beforeEach(() => {
  navigate('/');
  usePreferences.setState({ scheduler: 'hybrid_ml' });
  showFrames(frame({ records, tasks_processed: 1234 }));
});
afterEach(cleanup);

// Roles are slow to reckon in large tables, so rows are found by their tag.
const rows = () => [...document.querySelectorAll('tbody tr')];
const tasks = () => rows().map((row) => row.querySelector('button')!.textContent);
const filter = (value: string) => fireEvent.change(screen.getByLabelText('Filter tasks'), { target: { value } });
const subtitle = () => document.querySelector('header')!;
const line = (id: number) => screen.getByLabelText(new RegExp(`^Task ${id}:`)).closest('tr')!;

test('shows the newest first, with its winner, regret and reasons', () => {
  render(<Ledger />);
  expect(tasks()).toEqual(['#3', '#2', '#1']);
  expect(line(1)).toHaveTextContent('GPU 0');
  expect(line(1)).toHaveTextContent('+100 %');
  expect(within(line(1)).getByTitle('Hybrid ML')).toHaveTextContent('ML');
  expect(line(1)).toHaveTextContent('2.00 J100 µ$');
  expect(within(line(1)).getByTitle('Greedy')).toHaveTextContent('GRD');
  expect(within(line(1)).getByLabelText('its reasons are kept')).toBeInTheDocument();
  expect(within(line(2)).queryByLabelText('its reasons are kept')).toBeNull();
  expect(line(2)).toHaveTextContent('+0.0 %');
  expect(line(3)).toHaveTextContent('rejected');
  expect(subtitle()).toHaveTextContent('newest 3 of 1,234 tasks · Hybrid ML');
});

test('sorts by every column and says which way; unknown values stay last', async () => {
  render(<Ledger />);
  const head = (name: string) => within(document.querySelector('thead')!).getByText(name).closest('th')!;
  expect(document.querySelectorAll('th button')).toHaveLength(14);
  await userEvent.click(within(head('Size')).getByRole('button'));
  expect(tasks()).toEqual(['#2', '#3', '#1']);
  expect(head('Size')).toHaveAttribute('aria-sort', 'descending');
  expect(head('Task')).toHaveAttribute('aria-sort', 'none');
  await userEvent.click(within(head('Turnaround')).getByRole('button'));
  expect(tasks()).toEqual(['#1', '#2', '#3']);
  await userEvent.click(within(head('Turnaround')).getByRole('button'));
  expect(tasks()).toEqual(['#2', '#1', '#3']);
});

test('sorts by energy and by cost', async () => {
  showFrames(frame({ records: [record(1, { hybrid_ml: result(1, 0.4, { energy: 3, cost: 2e-6 }) }), record(2, { hybrid_ml: result(1, 0.4, { energy: 9, cost: 1e-6 }) }), record(3, { hybrid_ml: result(-1, null, { energy: null, cost: null }) })] }));
  render(<Ledger />);
  await userEvent.click(screen.getByText('Energy'));
  expect(tasks()).toEqual(['#2', '#1', '#3']);
  await userEvent.click(screen.getByText('Cost'));
  expect(tasks()).toEqual(['#1', '#2', '#3']);
});

test('filters, and says what is wrong with a filter', () => {
  render(<Ledger />);
  const box = screen.getByLabelText('Filter tasks');
  filter('size>2000');
  expect(tasks()).toEqual(['#3', '#2']);
  expect(subtitle()).toHaveTextContent('2 of the newest 3 match, of 1,234 tasks');
  filter('nobody');
  expect(screen.getByText('No task matches the filter')).toBeVisible();
  filter('speed>2');
  expect(screen.getByRole('alert')).toHaveTextContent('no column is called speed');
  expect(box).toHaveAttribute('aria-invalid', 'true');
});

test('a row opens its audit once, by mouse or by keyboard', async () => {
  const opened = vi.spyOn(window.history, 'pushState');
  render(<Ledger />);
  await userEvent.click(line(2));
  expect(useRouter.getState().route.query.get('task')).toBe('2');
  within(line(3)).getByRole('button').focus();
  await userEvent.keyboard('{ArrowDown}{ArrowDown}{Enter}');
  expect(useRouter.getState().route.query.get('task')).toBe('1');
  expect(opened).toHaveBeenCalledTimes(2);
});

test('only the first row is a stop of the Tab key', () => {
  render(<Ledger />);
  expect([3, 2, 1].map((id) => within(line(id)).getByRole('button').tabIndex)).toEqual([0, -1, -1]);
});

test('exports what is shown', async () => {
  const saved = vi.spyOn(files, 'downloadFile').mockImplementation(() => {});
  render(<Ledger />);
  filter('cpu');
  await userEvent.click(screen.getByLabelText(/as CSV/));
  const [name, type, text] = saved.mock.calls[0]!;
  expect([name, type]).toEqual(['tasks-hybrid_ml.csv', 'text/csv']);
  expect(text.trim().split('\n').map((each) => each.split(',')[0])).toEqual(['task', '2']);
  await userEvent.click(screen.getByLabelText(/as JSON/));
  expect(JSON.parse(saved.mock.calls[1]![2]).tasks).toHaveLength(1);
});

test('draws at most 50 rows and says so', () => {
  showFrames(frame({ records: Array.from({ length: 260 }, (_, id) => record(id, { hybrid_ml: result(1, 0.1) })), tasks_processed: 260 }));
  render(<Ledger />);
  expect(rows()).toHaveLength(50);
  expect(subtitle()).toHaveTextContent('50 of 260 tasks');
}, 30_000);

test('stands still while it is looked at', async () => {
  render(<Ledger />);
  await userEvent.hover(screen.getByRole('table'));
  const wait = (act: () => void) => async () => {
    act();
    await new Promise((done) => setTimeout(done, 600));
  };
  await act(wait(() => showFrames(frame({ records: [...records, record(4, { hybrid_ml: result(1, 1) })] }))));
  expect(tasks()).toEqual(['#3', '#2', '#1']);
  expect(subtitle()).toHaveTextContent('· paused');
  await userEvent.unhover(screen.getByRole('table'));
  expect(tasks()[0]).toBe('#4');
});
