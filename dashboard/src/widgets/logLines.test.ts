import { expect, test } from 'vitest';
import type { LogLine } from '@/live/state';
import { filterLines, countNewLines, getSeverity, linesToText, formatWaiting } from './logLines';

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

test('counts what has come since the held lines', () => {
  expect(countNewLines(lines.slice(0, 2), lines)).toBe(2);
  expect(countNewLines(lines, lines)).toBe(0);
  expect(countNewLines([], lines)).toBe(4);
  expect(countNewLines([line(0, 'info', 'gone')], lines)).toBeNull();
  expect([formatWaiting(3), formatWaiting(null)]).toEqual(['3 new', 'many new']);
});

test('a file has one line for each', () => {
  expect(linesToText(lines.slice(2))).toMatch(/^\d\d:\d\d:\d\d WARN  engine: GPU 1 failed\n\d\d:\d\d:\d\d ERROR race: the store is away\n$/);
});
