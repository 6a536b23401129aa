import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { applyMessage, emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { useToasts } from '@/state/toasts';
import { update } from '@/testing/frames';
import { ControlStrip, formatPace, oppositePreset } from './ControlStrip';

const commands: { method: string; path: string; body: unknown }[] = [];
let refuse = false;

beforeEach(() => {
  commands.length = 0;
  refuse = false;
  useToasts.setState({ toasts: [] });
  useLiveStore.setState({ race: applyMessage(emptyRace, update(1, { settings: { ...update(1).settings, num_gpus: 2 } })), status: 'live' });
  vi.stubGlobal('fetch', async (path: string, { method, body }: { method: string; body: string | null }) => {
    if (method === 'GET') return Response.json({ settings: {}, choices: { schedulers: [], presets: ['mixed', 'long_tail', 'upload:mine.csv'], most_gpus: 64 } });
    commands.push({ method, path, body: JSON.parse(body ?? 'null') });
    if (refuse) return Response.json({ error: { message: 'load is 9, expected less', hint: 'expected less' } }, { status: 400 });
    return Response.json({ at_task: 1234, at_time: 1, change: {}, settings: { ...useLiveStore.getState().race.frame!.settings, ...(JSON.parse(body ?? '{}') as object) } });
  });
});
afterEach(() => vi.unstubAllGlobals());

const show = () => render(<ControlStrip open={false} onMore={() => {}} />);
const said = () => useToasts.getState().toasts.map((each) => `${each.title} ${each.text}`);

it('sends the load once the hand rests, and says from when on it counts', async () => {
  vi.useFakeTimers();
  show();
  const slider = screen.getByLabelText('Offered load');
  for (const value of ['0.95', '1', '1.05']) fireEvent.change(slider, { target: { value } });
  expect(slider).toHaveAttribute('aria-valuetext', '1.05');
  await act(() => vi.advanceTimersByTimeAsync(500));
  vi.useRealTimers();
  await waitFor(() => expect(said()).toEqual(['Offered load 1.05 from task 1,234 on']));
  expect(commands).toEqual([{ method: 'PATCH', path: '/api/simulation/settings', body: { load: 1.05 } }]);
});

it('lets a GPU fail and brings it back', async () => {
  show();
  await userEvent.click(screen.getByRole('switch', { name: 'GPU 1' }));
  await waitFor(() => expect(screen.getByRole('switch', { name: 'GPU 1' })).toHaveAttribute('aria-checked', 'false'));
  expect(commands[0]?.body).toEqual({ failed_gpus: [1] });
  await userEvent.click(screen.getByRole('switch', { name: 'GPU 1' }));
  await waitFor(() => expect(commands[1]?.body).toEqual({ failed_gpus: [] }));
  expect(screen.queryByRole('switch', { name: 'GPU 2' })).toBeNull();
});

it('offers uploaded workloads too', async () => {
  show();
  await screen.findByRole('option', { name: 'upload:mine.csv' });
  await userEvent.selectOptions(screen.getByLabelText('Workload'), 'upload:mine.csv');
  await waitFor(() => expect(commands[0]?.body).toEqual({ preset: 'upload:mine.csv' }));
});

it('can go at full speed', async () => {
  show();
  await userEvent.selectOptions(screen.getByLabelText('Speed'), 'full speed');
  await waitFor(() => expect(commands[0]?.body).toEqual({ pace: null }));
});

it('shows the server’s own line when it refuses', async () => {
  refuse = true;
  show();
  await userEvent.click(screen.getByRole('button', { name: 'Shift now' }));
  await waitFor(() => expect(said()).toEqual(['load is 9, expected less ']));
});

it('gives no commands to a race that is out of reach', () => {
  useLiveStore.setState({ status: 'lost' });
  show();
  expect(screen.getByLabelText('Offered load')).toBeDisabled();
  expect(screen.getByRole('switch', { name: 'GPU 0' })).toBeDisabled();
});

it('shifts to work that wants the other device', () => {
  expect([oppositePreset('gpu_friendly'), oppositePreset('cpu_friendly'), oppositePreset('mixed')]).toEqual(['cpu_friendly', 'gpu_friendly', 'cpu_friendly']);
});

it('names paces', () => expect([formatPace(null), formatPace(20), formatPace(2000)]).toEqual(['full speed', '20 tasks/s', '2,000 tasks/s']));
