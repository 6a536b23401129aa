import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LogLine } from '@/live/events';
import { applyMessage, emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { useToasts } from '@/state/toasts';
import * as files from '@/utils/download';
import { countNewLines, filterLines, formatWaiting, getSeverity, linesToText, LogConsole } from './LogConsole';

const say = (seq: number, level: string, message: string) =>
  useLiveStore.setState(({ race }) => ({ race: applyMessage(race, { type: 'log', seq, time: 1000 + seq, level, source: 'race', message }) }));

/** The log looks twice a second. */
const later = (what: () => void) =>
  act(async () => {
    what();
    await new Promise((done) => setTimeout(done, 600));
  });

beforeEach(() => {
  useLiveStore.setState({ race: emptyRace, status: 'live' });
  say(1, 'INFO', 'the race starts');
  say(2, 'WARNING', 'GPU 1 failed');
});
afterEach(cleanup);

const log = () => screen.getByRole('log');

test('shows time, severity as a word, source and message, newest last', () => {
  render(<LogConsole />);
  const [first, last] = [...log().querySelectorAll('li')].map((each) => each.textContent);
  expect(first).toMatch(/^\d\d:\d\d:\d\dINFOracethe race starts$/);
  expect(last).toMatch(/WARNraceGPU 1 failed$/);
});

test('filters by severity and by text', async () => {
  render(<LogConsole />);
  await userEvent.selectOptions(screen.getByLabelText('Least severity'), 'warnings');
  expect(log()).not.toHaveTextContent('the race starts');
  expect(screen.getByText('1 of 2 lines')).toBeVisible();
  fireEvent.change(screen.getByLabelText('Filter lines'), { target: { value: 'nothing such' } });
  expect(screen.getByText('No lines to show')).toBeVisible();
});

test('pausing holds the lines and counts those that wait', async () => {
  render(<LogConsole />);
  await userEvent.click(screen.getByRole('button', { name: 'Pause' }));
  await later(() => [3, 4].forEach((seq) => say(seq, 'INFO', `line ${seq}`)));
  expect(log()).not.toHaveTextContent('line 3');
  await userEvent.click(screen.getByRole('button', { name: 'Resume, 2 new' }));
  expect(log()).toHaveTextContent('line 4');
});

test('follows the newest line until the person scrolls up', async () => {
  render(<LogConsole />);
  const box = log();
  Object.defineProperties(box, { scrollHeight: { value: 500, configurable: true }, clientHeight: { value: 100 } });
  await later(() => say(3, 'INFO', 'line 3'));
  expect(box.scrollTop).toBe(500);
  box.scrollTop = 50;
  fireEvent.scroll(box);
  await later(() => say(4, 'INFO', 'line 4'));
  expect(box.scrollTop).toBe(50);
  expect(box).not.toHaveTextContent('line 4');
  await userEvent.click(screen.getByRole('button', { name: 'Newest, 1 new' }));
  expect(box).toHaveTextContent('line 4');
  expect(box.scrollTop).toBe(500);
});

test('copies and saves what is shown, and says when it may not copy', async () => {
  const user = userEvent.setup();
  const saved = vi.spyOn(files, 'downloadFile').mockImplementation(() => {});
  render(<LogConsole />);
  await user.click(screen.getByLabelText('Copy the lines shown'));
  expect(await navigator.clipboard.readText()).toContain('WARN  race: GPU 1 failed\n');
  await user.click(screen.getByLabelText('Save the lines shown'));
  expect(saved).toHaveBeenCalledWith('log.txt', 'text/plain', expect.stringContaining('INFO  race: the race starts'));
  vi.spyOn(navigator.clipboard, 'writeText').mockRejectedValue(new Error('not allowed'));
  await user.click(screen.getByLabelText('Copy the lines shown'));
  expect(useToasts.getState().toasts.at(-1)).toMatchObject({ tone: 'bad' });
});

const line = (id: number, level: string, message: string, source = 'race'): LogLine => ({ id, time: 1_000_000 + id, level, source, message });
const lines = [line(1, 'debug', 'quiet'), line(2, 'info', 'task 7 placed'), line(3, 'warning', 'GPU 1 failed', 'engine'), line(4, 'error', 'the store is away')];

test('lines match by every word and by severity', () => {
  const ids = (text: string, least: number) => filterLines(lines, text, least).map((each) => each.id);
  expect(ids('', 0)).toEqual([1, 2, 3, 4]);
  expect(ids('', 2)).toEqual([3, 4]);
  expect(ids('GPU engine', 0)).toEqual([3]);
  expect(ids('gpu race', 0)).toEqual([]);
  expect(ids('warn', 0)).toEqual([3]);
});

test('an unknown level is shown as it came', () => {
  expect(getSeverity('notice')).toMatchObject({ word: 'NOTICE', rank: 1 });
});

test('counts what has come since the shown lines', () => {
  expect(countNewLines(lines.slice(0, 2), lines)).toBe(2);
  expect(countNewLines(lines, lines)).toBe(0);
  expect(countNewLines([], lines)).toBe(4);
  expect(countNewLines([line(0, 'info', 'gone')], lines)).toBeNull();
  expect([formatWaiting(3), formatWaiting(null)]).toEqual(['3 new', 'many new']);
});

test('a file has one line for each', () => {
  expect(linesToText(lines.slice(2))).toMatch(/^\d\d:\d\d:\d\d WARN  engine: GPU 1 failed\n\d\d:\d\d:\d\d ERROR race: the store is away\n$/);
});
