import { cleanup, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { navigate, useRouter } from '@/state/router';
import { audit, auditResult, respondWith } from '@/testing/audit';
import { frame, record, result, showFrames } from '@/testing/race';
import { AuditDialog, AuditPanel, DecisionAudit } from './Audit';

const fetchMock = vi.fn<typeof fetch>();

beforeEach(() => {
  navigate('/');
  usePreferences.setState({ scheduler: 'hybrid_ml' });
  showFrames(frame({ records: [record(7, { hybrid_ml: result(1, 2) }), record(8, {}, { explained: false })] }));
  fetchMock.mockReset().mockImplementation(respondWith(audit()));
  vi.stubGlobal('fetch', fetchMock);
});
afterEach(cleanup);

const row = (name: string) => screen.getByRole('button', { name }).closest('tr')!;

test('shows a state of loading, then the task and one row for each scheduler', async () => {
  render(<AuditPanel id={7} />);
  expect(screen.getByRole('status')).toHaveTextContent('Loading the audit');
  expect(await screen.findByText('2,500')).toBeVisible();
  expect(fetchMock.mock.calls[0]![0]).toBe('/api/tasks/7');
  expect([...document.querySelectorAll('tbody tr')].map((each) => each.querySelector('button')!.textContent)).toEqual(['Oracle', 'Hybrid ML', 'Greedy']);
  expect(row('Oracle')).toHaveTextContent('first');
  expect(row('Hybrid ML')).not.toHaveTextContent('first');
  expect(row('Hybrid ML')).toHaveTextContent('expected 1.00 s+20 %');
  expect(row('Greedy')).toHaveTextContent('70 % GPU 0, 30 % CPU');
  expect(row('Greedy')).toHaveTextContent('no forecast');
});

test('tells the reasons of the chosen scheduler, then of the one that is selected', async () => {
  render(<AuditPanel id={7} />);
  const reasons = within(await screen.findByRole('region', { name: 'Reasons' }));
  expect(reasons.getByText(/mostly because of compute intensity/)).toBeVisible();
  expect(reasons.getByText('chosen').closest('li')).toHaveTextContent('GPU 0500 ms + 1.00 s');
  expect(reasons.getByText('size').closest('li')).toHaveTextContent('+0.30');
  await userEvent.click(row('Greedy'));
  expect(reasons.getByText(/half on GPU 0/)).toBeVisible();
  expect(reasons.queryByText('size')).toBeNull();
  expect(screen.getByRole('button', { name: 'Greedy' })).toHaveAttribute('aria-pressed', 'true');
});

test('attempts, rejections and missing reasons are told', async () => {
  fetchMock.mockImplementation(respondWith(audit({ results: [auditResult('hybrid_ml', 3), auditResult('hybrid_ml', 4, { attempt: 2 }), auditResult('greedy', null, { device: -1, status: 2 })], explanations: {} })));
  render(<AuditPanel id={7} />);
  expect(await screen.findByText('2 attempts')).toBeVisible();
  expect(row('Greedy')).toHaveTextContent('rejected');
  expect(row('Greedy')).toHaveTextContent('more memory than any device has');
  expect(screen.getByText(/Its reasons are not kept/)).toBeVisible();
});

test('a task that is too old, and a server that does not answer, are one clear line; asking again helps', async () => {
  fetchMock.mockImplementationOnce(respondWith({ error: { message: 'task 7 is not stored', hint: '' } }, 404));
  const { unmount } = render(<AuditPanel id={7} />);
  expect(await screen.findByRole('alert')).toHaveTextContent('Task #7 is not kept any more, or never was.');
  unmount();
  fetchMock.mockRejectedValueOnce(new TypeError('no network'));
  render(<AuditPanel id={7} />);
  expect(await screen.findByRole('alert')).toHaveTextContent('the server does not answer');
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(await screen.findByText('2,500')).toBeVisible();
});

test('the dialog is there when the link names a task, asks for its run, and closes', async () => {
  const { container } = render(<AuditDialog />);
  expect(container).toBeEmptyDOMElement();
  cleanup();
  navigate('/?task=7&run=2');
  render(<AuditDialog />);
  expect(await screen.findByText('2,500')).toBeInTheDocument();
  expect(fetchMock.mock.calls[0]![0]).toBe('/api/tasks/7?run=2');
  await userEvent.click(screen.getByLabelText('Close'));
  expect(useRouter.getState().route.query.has('task')).toBe(false);
});

test('a link with something else than a number says so and asks nothing', () => {
  navigate('/?task=abc');
  render(<AuditDialog />);
  expect(screen.getByText(/is no number of a task/)).toBeInTheDocument();
  expect(fetchMock).not.toHaveBeenCalled();
});

test('the tile shows the newest explained task in short and opens the whole audit', async () => {
  render(<DecisionAudit />);
  expect(await screen.findByText(/mostly because of compute intensity/)).toBeVisible();
  expect(fetchMock.mock.calls[0]![0]).toBe('/api/tasks/7');
  expect(screen.getByText('regret').nextSibling).toHaveTextContent('+20 %');
  expect(screen.getByText(/first was Oracle/)).toHaveTextContent('Expected 1.00 s, took 1.20 s (+20 %); first was Oracle after 2.00 s.');
  await userEvent.click(screen.getByLabelText('Open the whole audit'));
  expect(useRouter.getState().route.query.get('task')).toBe('7');
});

test('another task can be picked, and the newest again', async () => {
  render(<DecisionAudit />);
  await screen.findByText(/mostly because/);
  await userEvent.click(screen.getByRole('button', { name: 'Pick a task' }));
  await userEvent.type(screen.getByLabelText('Number of the task'), 'x');
  expect(screen.getByRole('button', { name: 'Show' })).toBeDisabled();
  await userEvent.clear(screen.getByLabelText('Number of the task'));
  await userEvent.type(screen.getByLabelText('Number of the task'), '3{Enter}');
  expect(await screen.findByText(/#3, picked/)).toBeVisible();
  await waitFor(() => expect(fetchMock.mock.lastCall![0]).toBe('/api/tasks/3'));
  await userEvent.click(screen.getByRole('button', { name: 'Pick a task' }));
  await userEvent.click(screen.getByRole('button', { name: 'Newest' }));
  expect(await screen.findByText(/#7, newest/)).toBeVisible();
});

test('nothing is asked before a task has reasons', () => {
  showFrames(frame({ records: [record(8, {}, { explained: false })] }));
  render(<DecisionAudit />);
  expect(screen.getByText('No decision with reasons yet')).toBeVisible();
  expect(fetchMock).not.toHaveBeenCalled();
});
