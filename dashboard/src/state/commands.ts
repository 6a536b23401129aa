/** Commands to the server. Each reports what it did; an error shows the server's own message. */
import { useMemo } from 'react';
import { create } from 'zustand';
import { ApiError, patch, post, token, type Schemas } from '@/api/client';
import { useConnectionStatus, useLiveStore } from '@/live/store';
import { showToast } from './toasts';

export type Settings = Schemas['LiveSettings'];
export type SettingsChange = Partial<Schemas['SettingsChange-Input']>;

/** How many commands are pending, and the one that waits for the control token. */
export const useCommands = create<{ pending: number; awaitingToken: (() => void) | null }>(() => ({ pending: 0, awaitingToken: null }));

/** Run a command and show its outcome as a toast; null if it failed. */
export async function runCommand<T>(title: string, act: () => Promise<T>, describe: (answer: T) => string = () => ''): Promise<T | null> {
  useCommands.setState(({ pending }) => ({ pending: pending + 1 }));
  try {
    const answer = await act();
    showToast('good', title, describe(answer));
    return answer;
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(String(error), '', 0);
    if (problem.status === 401) useCommands.setState({ awaitingToken: () => void runCommand(title, act, describe) });
    else showToast('bad', problem.message, problem.message.includes(problem.hint) ? '' : problem.hint);
    return null;
  } finally {
    useCommands.setState(({ pending }) => ({ pending: pending - 1 }));
  }
}

/** Keep the token for this tab and run the command that waited for it. */
export function submitToken(value: string): void {
  const { awaitingToken } = useCommands.getState();
  token.set(value);
  useCommands.setState({ awaitingToken: null });
  awaitingToken?.();
}

type Status = Schemas['Status'];
const formatTask = (status: Status): string => `at task ${status.tasks_processed.toLocaleString('en-US')}`;

/** Show what the server has answered before its next frame comes. */
async function applyStatus(request: Promise<Status>): Promise<Status> {
  const status = await request;
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

/** Run a command whose error is shown where it was given; a missing token is asked for, then the command runs again. */
export async function tryCommand<T>(act: () => Promise<T>, done: (answer: T) => void, failed: (problem: ApiError) => void): Promise<void> {
  try {
    done(await act());
  } catch (error) {
    const problem = error instanceof ApiError ? error : new ApiError(String(error), '', 0);
    if (problem.status === 401) useCommands.setState({ awaitingToken: () => void tryCommand(act, done, failed) });
    else failed(problem);
  }
}

/** The settings of the race, and whether they cannot be changed now. */
export function useRaceSettings(): { settings: Settings | null; disabled: boolean } {
  const lost = useConnectionStatus() === 'lost';
  const state = useLiveStore(({ race }) => race.frame?.state);
  // Frames repeat the settings: as text they are the same until something is changed, and that shows at once.
  const text = useLiveStore(({ race }) => JSON.stringify(race.frame?.settings ?? null));
  const settings = useMemo(() => JSON.parse(text) as Settings | null, [text]);
  return { settings, disabled: lost || !settings || state === 'stopped' || state === 'failed' };
}
