import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { submitToken, useCommands } from '@/state/commands';
import { navigate, useRouter } from '@/state/router';
import { useToasts } from '@/state/toasts';
import { audit, auditResult, explanation, respondWith } from '@/testing/audit';
import { frame, showFrames } from '@/testing/race';
import { TryTaskForm } from './TryTask';

const outcome = {
  run_id: 1, your_id: null, task: audit().task, optimal_gpu_fraction: 0.7, optimal_time: 0.03,
  decisions: {
    greedy: { result: auditResult('greedy', 3, { gpu_fraction: 0.6 }), explanation: explanation({ why: '60% on gpu0, the rest on a CPU' }) },
    oracle: { result: auditResult('oracle', 2), explanation: explanation() },
    random: { result: auditResult('random', null, { device: -1, status: 2 }), explanation: explanation() },
  },
};
const fetchMock = vi.fn<typeof fetch>();

beforeEach(() => {
  navigate('/');
  sessionStorage.clear();
  useToasts.setState({ toasts: [] });
  useCommands.setState({ pending: 0, awaitingToken: null });
  showFrames(frame());
  fetchMock.mockReset().mockImplementation(respondWith(outcome, 201));
  vi.stubGlobal('fetch', fetchMock);
});
afterEach(cleanup);

const fill = (label: RegExp, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
const submit = () => userEvent.click(screen.getByRole('button', { name: 'Let it arrive now' }));

test('sends the task and shows every decision with its reason, first to end on top', async () => {
  render(<TryTaskForm />);
  fill(/^Size/, '900');
  fill(/^Intensity/, '0.25');
  fill(/^Memory/, '64.5');
  await submit();
  await waitFor(() => expect(fetchMock).toHaveBeenCalled());
  const [path, sent] = fetchMock.mock.calls[0]!;
  expect([path, sent?.method]).toEqual(['/api/tasks', 'POST']);
  expect(JSON.parse(String(sent?.body))).toEqual({ size: 900, compute_intensity: 0.25, memory_required: 64.5 });
  const items = within(await screen.findByRole('region', { name: 'Decisions about task 7' })).getAllByRole('listitem');
  expect(items.map((each) => each.textContent)).toEqual([
    'Oraclefirst2.00 sGPU 0whole on GPU 0: mostly because of compute intensity.',
    expect.stringMatching(/^Greedy3\.00 s60 % GPU 0, 40 % CPU60% on GPU 0/),
    expect.stringMatching(/^Random–rejected: it needs more memory/),
  ]);
  expect(screen.getByText(/Were the cluster idle/)).toHaveTextContent('70 % on a GPU would be best: 30.0 ms');
  await userEvent.click(screen.getByRole('button', { name: 'All its figures' }));
  expect(useRouter.getState().route.query.get('task')).toBe('7');
});

test('a refusal is told and shows no decisions', async () => {
  fetchMock.mockImplementation(respondWith({ error: { message: 'no simulation has been started', hint: 'start one' } }, 409));
  render(<TryTaskForm />);
  await submit();
  await waitFor(() => expect(useToasts.getState().toasts.at(-1)).toMatchObject({ tone: 'bad', title: 'no simulation has been started' }));
  expect(screen.queryByRole('region')).toBeNull();
});

test('an order that waited for the token shows its outcome too', async () => {
  fetchMock.mockImplementationOnce(respondWith({ error: { message: 'the token is missing', hint: '' } }, 401));
  render(<TryTaskForm />);
  await submit();
  await waitFor(() => expect(useCommands.getState().awaitingToken).not.toBeNull());
  expect(screen.queryByRole('region')).toBeNull();
  submitToken('secret');
  expect(await screen.findByRole('region', { name: 'Decisions about task 7' })).toBeVisible();
  expect(fetchMock.mock.lastCall![1]?.headers).toMatchObject({ authorization: 'Bearer secret' });
});

test('values that the server refuses are not sent', async () => {
  render(<TryTaskForm />);
  fill(/^Size/, '0');
  await submit();
  expect(fetchMock).not.toHaveBeenCalled();
});
