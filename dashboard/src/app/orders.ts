/** Orders to the race. Each says what it did; a refusal shows the server's own line. */
import { create } from 'zustand';
import { Problem, patch, post, token, type Schemas } from '@/api/client';
import { useStore } from '@/live/store';
import { toast } from './toasts';

export type Settings = Schemas['LiveSettings'];
export type SettingsChange = Partial<Schemas['SettingsChange-Input']>;

/** An order that waits for the control token, and whether orders are under way. */
export const useOrders = create<{ busy: number; waiting: (() => void) | null }>(() => ({ busy: 0, waiting: null }));

export async function order<T>(title: string, act: () => Promise<T>, said: (answer: T) => string = () => ''): Promise<T | null> {
  useOrders.setState(({ busy }) => ({ busy: busy + 1 }));
  try {
    const answer = await act();
    toast('good', title, said(answer));
    return answer;
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem(String(error), '', 0);
    if (problem.status === 401) useOrders.setState({ waiting: () => void order(title, act, said) });
    else toast('bad', problem.message, problem.message.includes(problem.hint) ? '' : problem.hint);
    return null;
  } finally {
    useOrders.setState(({ busy }) => ({ busy: busy - 1 }));
  }
}

/** Keep the token for this tab and carry out the order that waited for it. */
export function giveToken(value: string): void {
  const { waiting } = useOrders.getState();
  token.set(value);
  useOrders.setState({ waiting: null });
  waiting?.();
}

type Status = Schemas['Status'];
const at = (status: Status): string => `at task ${status.tasks_processed.toLocaleString('en-US')}`;

/** Show what the server has answered before its next frame comes. */
async function standing(asked: Promise<Status>): Promise<Status> {
  const status = await asked;
  const { state } = status;
  if (state !== 'none') useStore.setState(({ race }) => (race.frame ? { race: { ...race, frame: { ...race.frame, state } } } : {}));
  return status;
}

export const pause = () => order('Paused', () => standing(post<Status>('/api/simulation/pause')), at);
export const resume = () => order('Running', () => standing(post<Status>('/api/simulation/resume')), at);
export const step = (tasks: number) =>
  order(tasks === 1 ? 'One task' : `${tasks} tasks`, () => post<Status>('/api/simulation/step', { tasks }), at);
export const stop = () => order('Stopped', () => standing(post<Status>('/api/simulation/stop')), () => 'its summary is stored');
export const start = (values: SettingsChange = {}) =>
  order('A new run has started', () => post<Status>('/api/simulation/start', values), (status) => `run ${status.run_id}`);

export const change = (title: string, values: SettingsChange) =>
  order(title, () => changed(values), (answer) => `from task ${answer.at_task.toLocaleString('en-US')} on`);

async function changed(values: SettingsChange): Promise<Schemas['ChangeAnswer']> {
  const answer = await patch<Schemas['ChangeAnswer']>('/api/simulation/settings', values);
  const { settings } = answer;
  useStore.setState(({ race }) => (race.frame ? { race: { ...race, frame: { ...race.frame, settings } } } : {}));
  return answer;
}
