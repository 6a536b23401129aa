import { act, cleanup, render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { navigate } from '@/state/router';
import { ErrorReply, serve } from '@/testing/server';
import { buildNodeLanes, describeWidth, kindOf, stackPieces, type ClusterJob, type ClusterRun } from './clusters/lanes';
import ClustersPage from './ClustersPage';

const option = (name: string, queue = true) => ({ name, summary: `goes by ${name}`, queue });
const OPTIONS = { workloads: [option('training_jobs'), option('cluster_pods')], orders: [option('fcfs'), option('las', false)], fits: [option('best')], backfilling: ['none', 'easy'], most_jobs: 5000, kept: [] };
const job = (number: number, change: Partial<ClusterJob> = {}): ClusterJob => ({ job: number, user: 0, gpus: 1, gpu_share: 1, cores: 2, arrival: 0, start: 0, finish: 10, interruptions: 0, ...change });
const RUN: ClusterRun = {
  title: 'training_jobs, seed 0: 3 jobs', policy: 'fcfs+easy', page: 0, pages: 1, total_jobs: 3, begin: 0, end: 20, bound: 18,
  nodes: [{ model: 'T4', gpus: 2, cores: 8 }, { model: 'V100', gpus: 1, cores: 8 }],
  jobs: [job(7, { gpus: 3 }), job(8, { gpu_share: 0.25, start: 10, finish: 20, interruptions: 1 }), job(9, { gpus: 0, cores: 4 })],
  stints: [
    { job: 0, node: 0, gpu: 0, begin: 0, end: 10 }, { job: 0, node: 0, gpu: 1, begin: 0, end: 10 }, { job: 0, node: 1, gpu: 0, begin: 0, end: 10 },
    { job: 1, node: 1, gpu: 0, begin: 10, end: 20 }, { job: 2, node: 1, gpu: null, begin: 0, end: 10 },
  ],
  absences: [{ node: 0, notice: 11, leave: 12, back: 18 }],
  measures: { bounded_slowdown: 1.5, mean_waiting: 3, utilisation: 0.5, makespan_over_bound: 1.11, deadline_misses: null, jain_index: 0.9 },
};

beforeEach(() => navigate('/clusters'));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('shares of one GPU lie beside each other, and a job that no gap can take lies in two', () => {
  const item = (job: number, begin: number, end: number, size: number) => ({ job, begin, end, size });
  const [one, two] = stackPieces([item(0, 0, 9, 0.6), item(1, 1, 5, 0.4)]);
  expect([one!.low, one!.high, two!.low, two!.high]).toEqual([0, 0.6, 0.6, 1]);
  const split = stackPieces([item(0, 0, 2, 0.3), item(1, 0, 9, 0.4), item(2, 0, 2, 0.3), item(3, 3, 9, 0.6)]).filter((each) => each.job === 3);
  expect(split.map(({ low, high }) => [low.toFixed(1), high.toFixed(1)])).toEqual([['0.0', '0.3'], ['0.7', '1.0']]);
});

test('a node has a strip for each GPU, and one for cores where jobs take only those', () => {
  const lanes = buildNodeLanes(RUN);
  expect(lanes.map((lane) => lane.strips.map((strip) => strip.gpu))).toEqual([[0, 1], [0, null]]);
  expect(lanes[1]!.strips[1]!.pieces[0]).toMatchObject({ job: 2, low: 0, high: 0.5 });
  expect(RUN.jobs.map(kindOf)).toEqual(['gang', 'share', 'cores']);
  expect(RUN.jobs.map(describeWidth)).toEqual(['3 GPUs at once', '25 % of a GPU', '4 cores']);
});

test('a gang lights up on all of its GPUs, and its line says what it is', async () => {
  serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': RUN });
  render(<ClustersPage />);
  const picture = await screen.findByRole('img', { name: /3 jobs on 2 nodes by fcfs\+easy/ });
  expect(picture.querySelectorAll('[data-job="0"]')).toHaveLength(3);
  expect(within(picture).getAllByTestId('absence')).toHaveLength(1);
  await userEvent.click(within(screen.getByRole('group', { name: 'Jobs in order of arrival' })).getByRole('button', { name: '7' }));
  expect(picture.querySelectorAll('[data-picked]')).toHaveLength(3);
  expect(screen.getByText(/Job 7 of user 0: 3 GPUs at once on 2 nodes, waited 0 s/)).toBeVisible();
  expect(screen.getByText('hms jobs training_jobs -n 200 -s fcfs --backfill easy --fit best')).toBeVisible();
});

test('who waits for the first simulation is told why', async () => {
  serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': () => new Promise(() => {}) });
  vi.useFakeTimers();
  render(<ClustersPage />);
  expect(screen.queryByText(/is compiled/)).toBeNull();
  act(() => vi.advanceTimersByTime(2000));
  vi.useRealTimers();
  expect(screen.getByText(/^Simulating: the first time its loop is compiled/)).toBeVisible();
});

test('a choice is kept in the address and asked of the server', async () => {
  const { requests } = serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': RUN });
  render(<ClustersPage />);
  await userEvent.selectOptions(await screen.findByLabelText('Order'), 'las');
  expect(window.location.search).toContain('order=las');
  expect(await screen.findByText('las: goes by las.')).toBeVisible();
  expect(screen.getByLabelText('Backfilling')).toBeDisabled();
  await userEvent.clear(screen.getByLabelText('Number of jobs'));
  await userEvent.type(screen.getByLabelText('Number of jobs'), '9000{Enter}');
  await vi.waitFor(() => expect(requests.at(-1)!.path).toContain('jobs=5000'));
});

test('a run that cannot be simulated is one line', async () => {
  serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': new ErrorReply(400, "unknown order 'x'") });
  render(<ClustersPage />);
  expect(await screen.findByRole('alert')).toHaveTextContent("unknown order 'x'");
});

test('a large run is paged and zoomed, and what lasts beyond the page is cut', async () => {
  const page = { ...RUN, page: 1, pages: 3, total_jobs: 450, begin: 5, end: 15 };
  const { requests } = serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': page });
  navigate('/clusters?page=1');
  render(<ClustersPage />);
  const picture = await screen.findByRole('img', { name: /3 jobs on 2 nodes/ });
  expect(screen.getByText('page 2 of 3')).toBeVisible();
  expect(screen.getByText('3 of 450: those of this page, in order of arrival')).toBeVisible();
  const left = (node: Element | null) => Number(node!.getAttribute('x'));
  expect(left(picture.querySelector('[data-job="0"]'))).toBe(92);
  const before = Number(picture.getAttribute('width'));
  await userEvent.click(screen.getByRole('button', { name: 'Zoom in' }));
  expect(Number(picture.getAttribute('width'))).toBe(2 * before);
  await userEvent.click(screen.getByRole('button', { name: 'Next page' }));
  await vi.waitFor(() => expect(requests.at(-1)!.path).toContain('page=2'));
  await userEvent.selectOptions(screen.getByLabelText('Order'), 'las');
  await vi.waitFor(() => expect(requests.at(-1)!.path).toContain('page=0'));
});

test('of many nodes some are drawn at a time', async () => {
  const nodes = Array.from({ length: 100 }, () => ({ model: 'T4', gpus: 1, cores: 8 }));
  const many = { ...RUN, nodes, stints: [{ job: 0, node: 60, gpu: 0, begin: 0, end: 10 }], absences: [{ node: 60, notice: 1, leave: 2, back: 3 }] };
  serve({ 'GET /api/clusters': OPTIONS, 'GET /api/clusters/run': many });
  render(<ClustersPage />);
  const picture = await screen.findByRole('img', { name: /on 100 nodes/ });
  expect(picture.querySelectorAll('[data-job]')).toHaveLength(0);
  await userEvent.click(screen.getByRole('button', { name: 'Next nodes' }));
  expect(screen.getByText('nodes 49 – 96 of 100')).toBeVisible();
  expect(within(picture).getByTestId('node-60').querySelectorAll('[data-job="0"]')).toHaveLength(1);
  expect(within(picture).getAllByTestId('absence')).toHaveLength(1);
});

test('a kept run is chosen by name, policy and window', async () => {
  const kept = [{ name: 'mine', source: 'log.swf', policies: ['fcfs+easy', 'las'], windows: ['job 1', 'job 900'] }];
  const { requests } = serve({ 'GET /api/clusters': { ...OPTIONS, kept }, 'GET /api/clusters/run': RUN });
  render(<ClustersPage />);
  await userEvent.selectOptions(await screen.findByLabelText('Run'), 'kept: mine');
  await userEvent.selectOptions(await screen.findByLabelText('Policy'), 'las');
  await userEvent.selectOptions(screen.getByLabelText('Window'), 'job 900');
  await vi.waitFor(() => expect(requests.at(-1)!.path).toMatch(/kept=mine&policy=las&window=1/));
  expect(screen.queryByLabelText('Order')).toBeNull();
  expect(await screen.findByText('hms repeat data/jobs/mine')).toBeVisible();
  await userEvent.selectOptions(screen.getByLabelText('Run'), 'simulate a preset');
  expect(await screen.findByLabelText('Order')).toBeVisible();
  expect(window.location.search).not.toContain('policy=las');
});
