import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Schemas } from '@/api/client';
import { emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { navigate } from '@/state/router';
import { openDialogs, serve } from '@/testing/server';
import { clearShapeCache } from './workloads/useShape';
import WorkloadsPage from './WorkloadsPage';

const spread = { minimum: 1, p25: 2, median: 3, p75: 4, p90: 5, p99: 6, maximum: 7, mean: 3.5, scale: 'linear' as const, edges: [1, 4, 7], counts: [6, 4] };

function shape(name: string, change: Partial<Schemas['WorkloadShape']> = {}): Schemas['WorkloadShape'] {
  return {
    name, spec: `upload:${name}`, kind: 'upload', format: 'csv', summary: '', tasks: 10, bytes: 2000, sha256: 'ab'.repeat(32), uploaded_at: '2026-11-16T01:00:00Z', duration: 12, dependencies: false, live: true, obstacle: '', in_use: false,
    num_gpus: 4, span: 12, arrival_rate: 0.8, offered_load: 0.7, burstiness: 1, dependency_share: 0, gpu_faster_share: 0.37, unfit_share: 0, measured_classes: [], bound: 13, size: spread, compute_intensity: spread, memory_required: spread,
    arrivals: { edges: [0, 6, 12], counts: [5, 5] }, ...change,
  };
}

const preset = shape('mixed', { kind: 'preset', spec: 'mixed', summary: 'sizes spread evenly', format: null });
const list = (...workloads: Schemas['WorkloadLine'][]) => ({ workloads, most_bytes: 1000, formats: ['csv', 'parquet'], problems: [] });

/** Stands in for the request that tells its progress. */
class Sender {
  static sent: Sender[] = [];
  upload: { onprogress?: (event: { lengthComputable: boolean; loaded: number; total: number }) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  status = 0;
  responseText = '';
  url = '';
  body: Blob | null = null;
  open(_method: string, url: string) {
    this.url = url;
  }
  setRequestHeader() {}
  send(body: Blob) {
    this.body = body;
    Sender.sent.push(this);
  }
  answer(status: number, body: unknown) {
    this.status = status;
    this.responseText = JSON.stringify(body);
    this.onload?.();
  }
}

beforeEach(() => {
  openDialogs();
  clearShapeCache();
  Sender.sent = [];
  vi.stubGlobal('XMLHttpRequest', Sender);
  useLiveStore.setState({ race: emptyRace });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const race = (state: 'running' | 'stopped') => useLiveStore.setState({ race: { ...emptyRace, frame: { state, schedulers: [] } as unknown as NonNullable<(typeof emptyRace)['frame']> } });

function drop(name: string, text = 'size\n1\n') {
  fireEvent.drop(screen.getByTestId('drop'), { dataTransfer: { files: [new File([text], name)] } });
}

test('lists files and presets with pictures of their shape', async () => {
  serve({ 'GET /api/workloads': list(shape('a.csv'), preset), 'GET /api/workloads/a.csv': shape('a.csv'), 'GET /api/workloads/mixed': preset });
  navigate('/workloads');
  render(<WorkloadsPage />);
  const files = await screen.findByRole('list', { name: 'Uploaded workloads' });
  expect(within(files).getByText('10 tasks · over 12.0 s · csv · 2.00 kB')).toBeVisible();
  expect(await within(files).findByText('size 1 – 7')).toBeVisible();
  expect(within(screen.getByRole('list', { name: 'Built-in workloads' })).getByText('sizes spread evenly')).toBeVisible();
});

test('a dropped file gets a clean name, and the line of the server is shown as it is', async () => {
  const { requests } = serve({ 'GET /api/workloads': list(preset), 'GET /api/workloads/mixed': preset });
  navigate('/workloads');
  render(<WorkloadsPage />);
  expect(await screen.findByText(/None yet/)).toBeVisible();
  drop('My Trace.CSV');
  expect(screen.getByRole('textbox', { name: /Name/ })).toHaveValue('my-trace.csv');
  await userEvent.click(screen.getByRole('button', { name: 'Upload' }));
  expect(Sender.sent[0]!.url).toBe('/api/workloads?name=my-trace.csv');
  Sender.sent[0]!.upload.onprogress!({ lengthComputable: true, loaded: 3, total: 4 });
  await waitFor(() => expect(screen.getByRole('progressbar', { name: 'Upload' })).toHaveAttribute('aria-valuenow', '75'));
  const line = 'my-trace.csv line 2: compute_intensity is missing: add the column';
  Sender.sent[0]!.answer(400, { error: { message: line, hint: 'add the column' } });
  expect((await screen.findByRole('alert')).textContent).toBe(line);
  expect(requests.filter((each) => each.path === '/api/workloads')).toHaveLength(1);
  await userEvent.click(screen.getByRole('button', { name: 'Upload' }));
  Sender.sent[1]!.answer(201, shape('my-trace.csv'));
  await waitFor(() => expect(requests.filter((each) => each.path === '/api/workloads')).toHaveLength(2));
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.queryByRole('button', { name: 'Upload' })).toBeNull();
});

test('too large a file and an odd name are refused before anything is sent', async () => {
  serve({ 'GET /api/workloads': list(), 'GET /api/workloads/mixed': preset });
  navigate('/workloads');
  render(<WorkloadsPage />);
  await screen.findByTestId('drop');
  drop('big.csv', 'x'.repeat(1500));
  expect(screen.getByRole('alert')).toHaveTextContent('The file has 1.50 kB, at most 1.00 kB can be taken.');
  expect(screen.getByRole('button', { name: 'Upload' })).toBeDisabled();
  drop('small.csv');
  await userEvent.type(screen.getByRole('textbox', { name: /Name/ }), ' X');
  expect(screen.getByRole('alert')).toHaveTextContent(/may have up to 100/);
  await userEvent.keyboard('{Enter}');
  expect(Sender.sent).toEqual([]);
});

test('a server that goes away while a file is sent is one line', async () => {
  serve({ 'GET /api/workloads': list() });
  navigate('/workloads');
  render(<WorkloadsPage />);
  await screen.findByTestId('drop');
  drop('a.csv');
  await userEvent.click(screen.getByRole('button', { name: 'Upload' }));
  Sender.sent[0]!.onerror!();
  expect(await screen.findByRole('alert')).toHaveTextContent('the server does not answer');
});

test('a workload in numbers, and what no device can run', async () => {
  serve({ 'GET /api/workloads/a.csv': shape('a.csv', { unfit_share: 0.05, offered_load: 1.4 }) });
  navigate('/workloads?name=a.csv');
  render(<WorkloadsPage />);
  expect(await screen.findByText('37 %')).toBeVisible();
  expect(screen.getByText('more than it can do: queues grow')).toBeVisible();
  expect(screen.getByText(/5.0 % of its tasks fit on no device/)).toBeVisible();
  expect(screen.getByRole('img', { name: /^Size: 10 tasks from 1 to 7$/ })).toBeVisible();
  expect(screen.getByRole('link', { name: 'New experiment with it' })).toHaveAttribute('href', '/experiments?new=1&workload=upload%3Aa.csv');
});

test('Race on it changes the race that runs', async () => {
  race('running');
  const { requests } = serve({ 'GET /api/workloads/a.csv': shape('a.csv'), 'PATCH /api/simulation/settings': { at_task: 12, at_time: 1, change: {}, settings: {} } });
  navigate('/workloads?name=a.csv');
  render(<WorkloadsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Race on it' }));
  await waitFor(() => expect(window.location.pathname).toBe('/'));
  expect(requests.find((each) => each.method !== 'GET')).toEqual({ method: 'PATCH', path: '/api/simulation/settings', body: { preset: 'upload:a.csv' } });
});

test('Race on it starts a race where none runs, and stays here if the server refuses', async () => {
  race('stopped');
  const { commands } = serve({ 'GET /api/workloads/a.csv': shape('a.csv') });
  navigate('/workloads?name=a.csv');
  render(<WorkloadsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Race on it' }));
  await waitFor(() => expect(commands()).toEqual(['POST /api/simulation/start']));
  expect(window.location.pathname).toBe('/workloads');
});

test('what the live race cannot run on says why and offers the experiment', async () => {
  serve({ 'GET /api/workloads/g.csv': shape('g.csv', { live: false, obstacle: 'it has dependencies', in_use: true }) });
  navigate('/workloads?name=g.csv');
  render(<WorkloadsPage />);
  expect(await screen.findByRole('button', { name: 'Race on it' })).toBeDisabled();
  expect(screen.getByText('The live race cannot run on it: it has dependencies.')).toBeVisible();
  expect(screen.getByRole('button', { name: 'Delete' })).toBeDisabled();
});

test('a file is deleted only after it was asked', async () => {
  const { commands } = serve({ 'GET /api/workloads/a.csv': shape('a.csv'), 'DELETE /api/workloads/a.csv': { removed: 'upload:a.csv' }, 'GET /api/workloads': list() });
  navigate('/workloads?name=a.csv');
  render(<WorkloadsPage />);
  await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
  expect(commands()).toEqual([]);
  await userEvent.click(screen.getByRole('button', { name: 'Delete it' }));
  await waitFor(() => expect(window.location.search).toBe(''));
  expect(commands()).toEqual(['DELETE /api/workloads/a.csv']);
});
