import { cleanup, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { navigate } from '@/state/router';
import { useToasts } from '@/state/toasts';
import { difference, experiment, runDetail, runFigures, runLine } from '@/testing/runs';
import { openDialogs, ErrorReply, serve, setWide } from '@/testing/server';
import { useRunList } from './experiments/runs';
import ExperimentsPage from './ExperimentsPage';

const NONE = { experiments: [], next: null, waiting: 0, most_waiting: 20 };
const SCHEDULERS = ['greedy', 'eft', 'heft'].map((name) => ({ name, summary: `what ${name} does`, sighted: 'no', featured: name !== 'heft', racing: false }));
const WORKLOADS = { workloads: [], most_bytes: 1000, formats: ['csv'], problems: [] };

beforeEach(() => {
  openDialogs();
  useRunList.setState({ kind: 'all', text: '', sort: 'when', down: true, picked: [] });
  useToasts.setState({ toasts: [] });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const listed = () => serve({ 'GET /api/runs': { runs: [runLine(3, { kind: 'comparison', title: 'Tails' }), runLine(2), runLine(1)], next: null }, 'GET /api/experiments': NONE });
const address = () => window.location.pathname + window.location.search;

test('two ticks and Compare lead to an address with both runs', async () => {
  listed();
  navigate('/experiments');
  render(<ExperimentsPage />);
  await userEvent.click(await screen.findByRole('checkbox', { name: 'Compare Tails' }));
  expect(screen.getByRole('button', { name: 'Compare' })).toBeDisabled();
  expect(screen.getByText(/tick one more/)).toBeVisible();
  await userEvent.click(screen.getByRole('checkbox', { name: 'Compare Live race 1' }));
  await userEvent.click(screen.getByRole('button', { name: 'Compare' }));
  expect(address()).toBe('/experiments?runs=3,1');
});

test('filters by text and kind, says how many are left, and shows all again', async () => {
  listed();
  navigate('/experiments');
  render(<ExperimentsPage />);
  await userEvent.type(await screen.findByRole('searchbox', { name: 'Filter by text' }), 'tails');
  expect(screen.getByText('1 of 3 runs')).toBeVisible();
  expect(screen.queryByText('Live race 1')).toBeNull();
  await userEvent.selectOptions(screen.getByRole('combobox', { name: 'Kind' }), 'live');
  await userEvent.click(screen.getByRole('button', { name: 'Show all 3' }));
  expect(screen.getByText('Live race 1')).toBeVisible();
});

test('a wide table sorts by its heads and says so', async () => {
  setWide(true);
  listed();
  navigate('/experiments');
  render(<ExperimentsPage />);
  const head = await screen.findByRole('columnheader', { name: 'Tasks' });
  await userEvent.click(within(head).getByRole('button'));
  expect(head).toHaveAttribute('aria-sort', 'descending');
  const numbers = () => screen.getAllByRole('checkbox').map((each) => each.getAttribute('aria-label'));
  expect(numbers()).toEqual(['Compare Tails', 'Compare Live race 2', 'Compare Live race 1']);
  await userEvent.click(within(head).getByRole('button'));
  expect(head).toHaveAttribute('aria-sort', 'ascending');
  expect(numbers()[0]).toBe('Compare Live race 1');
});

test('an experiment that runs shows its seeds, and cannot be ticked yet', async () => {
  serve({
    'GET /api/runs': { runs: [runLine(4, { kind: 'comparison', status: 'running' })], next: null },
    'GET /api/experiments': { ...NONE, waiting: 1, experiments: [experiment(4, { state: 'running', done: 2, of: 5 })] },
  });
  navigate('/experiments');
  render(<ExperimentsPage />);
  expect(await screen.findByRole('progressbar')).toHaveAttribute('aria-valuenow', '2');
  expect(screen.getByRole('checkbox')).toBeDisabled();
});

test('without runs it says what to do; without a server it is one line, and asking again helps', async () => {
  const { replies } = serve({ 'GET /api/runs': new ErrorReply(503, 'the database does not answer'), 'GET /api/experiments': NONE });
  navigate('/experiments');
  render(<ExperimentsPage />);
  expect(await screen.findByRole('alert')).toHaveTextContent('the database does not answer');
  replies['GET /api/runs'] = { runs: [], next: null };
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(await screen.findByText('Nothing has run yet')).toBeVisible();
  expect(screen.queryByRole('alert')).toBeNull();
});

test('a run shows its settings, changes and figures with intervals, and marks the best', async () => {
  serve({
    'GET /api/runs/7': runDetail(7, { changes: [{ at_task: 120, at_time: 65, change: { load: 1.2 }, created_at: '2026-11-16T01:00:00Z' }] }),
    'GET /api/runs/7/figures': runFigures(7, { oracle: 0.1, eft: 0.2, greedy: 4 }),
  });
  navigate('/experiments?run=7');
  render(<ExperimentsPage />);
  const row = (await screen.findByRole('button', { name: 'Mean turnaround' })).closest('tr')!;
  expect(within(row).getByText('best:').closest('td')).toHaveTextContent('200 ms180 – 220 ms');
  expect(row).toHaveTextContent('4.00 s3.60 – 4.40 s');
  expect(screen.getByRole('img', { name: /^Mean turnaround: Oracle 100 ms, EFT 200 ms, Greedy 4.00 s$/ })).toBeVisible();
  expect(screen.getByText('log axis')).toBeVisible();
  expect(screen.getByText('load: 1.20')).toBeVisible();
  expect(screen.getByText('20 tasks/s')).toBeVisible();
  expect(screen.getByText('95 % bootstrap intervals over 5 seeds')).toBeVisible();
  expect(screen.getByRole('link', { name: 'Download the results as Parquet' })).toHaveAttribute('href', '/api/runs/7/export?format=parquet');
  expect(screen.queryByText(/certified bound, 1.0/)).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Makespan / bound' }));
  expect(screen.getByText(/certified bound, 1.0: nobody crosses it/)).toBeVisible();
});

test('a run is deleted only after it was requests, and the list opens', async () => {
  const { commands } = serve({ 'GET /api/runs/7': runDetail(7), 'GET /api/runs/7/figures': runFigures(7, { eft: 1, greedy: 2 }), 'DELETE /api/runs/7': { removed: '7' }, 'GET /api/runs': { runs: [], next: null }, 'GET /api/experiments': NONE });
  navigate('/experiments?run=7');
  render(<ExperimentsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
  await userEvent.click(screen.getByRole('button', { name: 'Keep it' }));
  expect(commands()).toEqual([]);
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
  await userEvent.click(screen.getByRole('button', { name: 'Delete it' }));
  await waitFor(() => expect(address()).toBe('/experiments'));
  expect(commands()).toEqual(['DELETE /api/runs/7']);
});

test('a run that goes on cannot be deleted or resumed', async () => {
  serve({ 'GET /api/runs/7': runDetail(7, { current: true, status: 'running' }), 'GET /api/runs/7/figures': runFigures(7, { eft: 1, greedy: 2 }) });
  navigate('/experiments?run=7');
  render(<ExperimentsPage />);
  expect(await screen.findByRole('button', { name: 'Delete' })).toBeDisabled();
  expect(screen.queryByRole('button', { name: 'Resume' })).toBeNull();
});

test('an interrupted live run is resumed, and the race opens', async () => {
  const { commands } = serve({ 'GET /api/runs/7': runDetail(7, { status: 'interrupted' }), 'GET /api/runs/7/figures': new ErrorReply(409, 'no figures'), 'POST /api/runs/7/resume': { run_id: 7 } });
  navigate('/experiments?run=7');
  render(<ExperimentsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Resume' }));
  await userEvent.click(screen.getByRole('button', { name: 'Resume it' }));
  await waitFor(() => expect(address()).toBe('/'));
  expect(commands()).toEqual(['POST /api/runs/7/resume']);
});

test('a run gets a name, and an empty one takes it away', async () => {
  const { requests } = serve({ 'GET /api/runs/7': runDetail(7, { title: 'old' }), 'GET /api/runs/7/figures': new ErrorReply(409, 'no figures'), 'PATCH /api/runs/7': runLine(7) });
  navigate('/experiments?run=7');
  render(<ExperimentsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Rename' }));
  const box = screen.getByRole('textbox', { name: 'Title of the run' });
  await userEvent.clear(box);
  await userEvent.type(box, ' new {Enter}');
  await waitFor(() => expect(requests.find((each) => each.method === 'PATCH')?.body).toEqual({ title: 'new' }));
  await userEvent.click(await screen.findByRole('button', { name: 'Rename' }));
  await userEvent.clear(screen.getByRole('textbox', { name: 'Title of the run' }));
  await userEvent.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(requests.filter((each) => each.method === 'PATCH')[1]?.body).toEqual({ title: null }));
});

test('runs side by side claim only what their intervals allow', async () => {
  const runs = [runFigures(1, { eft: 0.2, greedy: 1 }), runFigures(2, { eft: 0.3, greedy: 1.1 }, { load: 1.2 })];
  serve({ 'GET /api/compare?runs=1,2': { baseline: 1, runs, differences: [difference('eft', 0.1, 0.05, 0.15, { relative: 0.5 }), difference('greedy', 0.1, -0.2, 0.4)], notes: ['the runs have different loads'] } });
  navigate('/experiments?runs=1,2');
  render(<ExperimentsPage />);
  const row = (name: string) => within(screen.getByRole('group', { name: 'Table of differences' })).getByText(name).closest('tr')!;
  await screen.findByText('the runs have different loads');
  expect(row('EFT')).toHaveTextContent('50 % higher, worse+100 ms (+50.0 ms to +150 ms)');
  expect(row('Greedy')).toHaveTextContent('no clear difference');
  expect(screen.getByText('they differ in load (bold)')).toBeVisible();
  expect(screen.getByRole('img', { name: /EFT in A 200 ms, EFT in B 300 ms/ })).toBeVisible();
});

test('an address that names no runs says so', () => {
  serve({});
  navigate('/experiments?runs=a,b');
  render(<ExperimentsPage />);
  expect(screen.getByRole('alert')).toHaveTextContent('This address names no runs.');
});

test('the form says what is wrong before anything is sent, then shows the line of the server', async () => {
  const { requests, replies } = serve({ 'GET /api/schedulers': SCHEDULERS, 'GET /api/workloads': WORKLOADS, 'POST /api/experiments': new ErrorReply(409, '20 experiments wait already', 'wait or cancel one') });
  navigate('/experiments?new=1&workload=upload:a.csv');
  render(<ExperimentsPage />);
  expect(await screen.findByRole('checkbox', { name: /^EFT/ })).toBeChecked();
  expect(screen.getByRole('checkbox', { name: /HEFT/ })).not.toBeChecked();
  await userEvent.click(screen.getByRole('button', { name: 'None' }));
  const start = screen.getByRole('button', { name: 'Start the experiment' });
  await userEvent.click(start);
  expect(screen.getByRole('alert')).toHaveTextContent('Schedulers: choose at least one.');
  expect(requests.some((each) => each.method === 'POST')).toBe(false);
  await userEvent.click(screen.getByRole('checkbox', { name: /HEFT/ }));
  await userEvent.click(start);
  expect(await screen.findByRole('alert')).toHaveTextContent('20 experiments wait already wait or cancel one');
  replies['POST /api/experiments'] = experiment(9, { state: 'queued' });
  await userEvent.click(start);
  await waitFor(() => expect(address()).toBe('/experiments?run=9'));
  expect(requests.findLast((each) => each.method === 'POST')?.body).toMatchObject({ schedulers: ['heft'], workload: 'upload:a.csv', load: null, seeds: 10 });
});

test('an experiment that runs is cancelled, and then says how far it came', async () => {
  const { commands, replies } = serve({ 'GET /api/runs/9': runDetail(9, { kind: 'comparison', status: 'running' }), 'GET /api/experiments/9': experiment(9, { state: 'running', done: 3 }), 'GET /api/runs/9/figures': new ErrorReply(409, 'it was cancelled'), 'DELETE /api/experiments/9': experiment(9) });
  navigate('/experiments?run=9');
  render(<ExperimentsPage />);
  expect(await screen.findByText(/3 of 5 seeds done/)).toBeVisible();
  replies['GET /api/experiments/9'] = experiment(9, { state: 'cancelled', done: 3 });
  await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
  expect(await screen.findByText('It was cancelled after 3 of 5 seeds.')).toBeVisible();
  expect(commands()).toEqual(['DELETE /api/experiments/9']);
});
