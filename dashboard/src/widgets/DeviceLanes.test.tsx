import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { navigate, useRouter } from '@/state/router';
import { device, frame, record, result, showFrames } from '@/testing/race';
import { DeviceLanes } from './DeviceLanes';

type Call = [string, ...unknown[]];
const calls: Call[] = [];

/** A pen that notes what it is told. */
const pen = new Proxy({} as Record<string, unknown>, {
  get: (_all, name: string) => (name === 'measureText' ? () => ({ width: 60 }) : (...values: unknown[]) => void calls.push([name, ...values])),
  set: () => true,
});
const texts = () => calls.filter(([name]) => name === 'fillText').map((call) => call[1]);

class Sized {
  constructor(private readonly told: (entries: unknown[]) => void) {}
  observe() {
    this.told([{ contentRect: { width: 800, height: 222 } }]);
  }
  disconnect() {}
}

beforeEach(() => {
  calls.length = 0;
  vi.stubGlobal('ResizeObserver', Sized);
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(pen as never);
  navigate('/');
  usePreferences.setState({ scheduler: 'hybrid_ml' });
  showFrames(
    frame({
      spans: [['hybrid_ml', 1, 15, 16, 7, 1], ['hybrid_ml', 1, 19, 21, 8, 1], ['hybrid_ml', 0, 18, 18.5, 9, 1], ['greedy', 0, 91, 92, 8, 1]],
      records: [record(8, { hybrid_ml: result(1, 2, { gpu_fraction: 0.75 }), greedy: result(0, 72) })],
    }),
  );
});

afterEach(cleanup);

const canvas = () => screen.getByRole('application');

test('sums up the lanes and draws now, ticks and queued work', () => {
  render(<DeviceLanes />);
  expect(canvas()).toHaveAccessibleName(/Lanes of Hybrid ML, last 10 s: CPU 50 % busy, 1 spans; GPU 0 90 % busy, 2 spans\./);
  expect(texts()).toEqual(expect.arrayContaining(['−10 s', 'now', '+2.5 s']));
  // Task 8 crosses now: what lies ahead gets the dashed outline.
  expect(calls.some(([name, left]) => name === 'strokeRect' && left === 0.8 * 800 + 0.5)).toBe(true);
});

test('another scheduler shows its backlog', async () => {
  render(<DeviceLanes />);
  await userEvent.selectOptions(screen.getByLabelText('Scheduler'), 'greedy');
  expect(usePreferences.getState().scheduler).toBe('greedy');
  expect(texts()).toContain('backlog 1.20 min ▸');
});

test('a failed device is marked', () => {
  showFrames(frame({ devices: [device(0), device(1, true)] }));
  render(<DeviceLanes />);
  expect(texts()).toContain('failed');
  expect(screen.getByText('failed')).toBeVisible();
});

test('arrow keys walk over spans, tell about them, and Enter opens the audit', async () => {
  render(<DeviceLanes />);
  canvas().focus();
  await userEvent.keyboard('{ArrowRight}{ArrowDown}');
  expect(screen.getByText('#8 on GPU 0')).toBeVisible();
  expect(screen.getByText('75 %')).toBeVisible();
  expect(screen.getByText('−1.00 s, at 19.00 s')).toBeVisible();
  await userEvent.keyboard('{ArrowLeft}{Enter}');
  expect(useRouter.getState().route.query.get('task')).toBe('7');
});

test('a click on a span opens its task, a click beside does not', () => {
  render(<DeviceLanes />);
  const at = (time: number) => ({ clientX: ((time - 10) / 12.5) * 800, clientY: 150 });
  fireEvent.mouseMove(canvas(), at(13));
  fireEvent.click(canvas());
  expect(useRouter.getState().route.query.get('task')).toBeNull();
  fireEvent.mouseMove(canvas(), at(15.5));
  fireEvent.click(canvas());
  expect(useRouter.getState().route.query.get('task')).toBe('7');
});

test('hovering holds the picture still', async () => {
  render(<DeviceLanes />);
  await userEvent.hover(canvas());
  expect(screen.getByText('paused while you look')).toBeVisible();
  await act(async () => {
    showFrames(frame({ sim_time: 40 }));
    await new Promise((done) => setTimeout(done, 80));
  });
  expect(canvas()).toHaveAccessibleName(/2 spans/);
  await userEvent.unhover(canvas());
  expect(canvas()).toHaveAccessibleName(/GPU 0 90 % busy, 0 spans/);
});

test('says when the race is too fast to send every span', () => {
  showFrames(frame({ spans: [['hybrid_ml', 1, 15, 16, 7, 1]], spans_total: 900 }));
  render(<DeviceLanes />);
  expect(screen.getByText('sampled')).toBeVisible();
});
