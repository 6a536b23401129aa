/** Orders to the race. Each says what it did; a refusal shows the server's own line. */
import { create } from 'zustand';
import { ApiError, patch, post, token, type Schemas } from '@/api/client';
import { useLiveStore } from '@/live/store';
import { showToast } from './toasts';

export type Settings = Schemas['LiveSettings'];
export type SettingsChange = Partial<Schemas['SettingsChange-Input']>;

/** An order that waits for the control token, and whether orders are under way. */
export const useCommands = create<{ pending: number; awaitingToken: (() => void) | null }>(() => ({ pending: 0, awaitingToken: null }));

export async function runCommand<T>(title: string, act: () => Promise<T>, said: (answer: T) => string = () => ''): Promise<T | null> {
  useCommands.setState(({ pending }) => ({ pending: pending + 1 }));
  try {
    const answer = await act();
    showToast('good', title, said(answer));
    return answer;
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(String(error), '', 0);
    if (problem.status === 401) useCommands.setState({ awaitingToken: () => void runCommand(title, act, said) });
    else showToast('bad', problem.message, problem.message.includes(problem.hint) ? '' : problem.hint);
    return null;
  } finally {
    useCommands.setState(({ pending }) => ({ pending: pending - 1 }));
  }
}

/** Keep the token for this tab and carry out the order that waited for it. */
export function submitToken(value: string): void {
  const { awaitingToken } = useCommands.getState();
  token.set(value);
  useCommands.setState({ awaitingToken: null });
  awaitingToken?.();
}

type Status = Schemas['Status'];
const formatTask = (status: Status): string => `at task ${status.tasks_processed.toLocaleString('en-US')}`;

/** Show what the server has answered before its next frame comes. */
async function applyStatus(asked: Promise<Status>): Promise<Status> {
  const status = await asked;
  const { state } = status;
  if (state !== 'none') useLiveStore.setState(({ race }) => (race.frame ? { race: { ...race, frame: { ...race.frame, state } } } : {}));
  return status;
}

export const pause = () => runCommand('Paused', () => applyStatus(post<Status>('/api/simulation/pause')), formatTask);
export const resume = () => runCommand('Running', () => applyStatus(post<Status>('/api/simulation/resume')), formatTask);
export const step = (tasks: number) =>
  runCommand(tasks === 1 ? 'One task' : `${tasks} tasks`, () => post<Status>('/api/simulation/step', { tasks }), formatTask);
export const stop = () => runCommand('Stopped', () => applyStatus(post<Status>('/api/simulation/stop')), () => 'its summary is stored');
export const start = (values: SettingsChange = {}) =>
  runCommand('A new run has started', () => post<Status>('/api/simulation/start', values), (status) => `run ${status.run_id}`);

export const changeSettings = (title: string, values: SettingsChange) =>
  runCommand(title, () => patchSettings(values), (answer) => `from task ${answer.at_task.toLocaleString('en-US')} on`);

async function patchSettings(values: SettingsChange): Promise<Schemas['ChangeAnswer']> {
  const answer = await patch<Schemas['ChangeAnswer']>('/api/simulation/settings', values);
  const { settings } = answer;
  useLiveStore.setState(({ race }) => (race.frame ? { race: { ...race, frame: { ...race.frame, settings } } } : {}));
  return answer;
}
