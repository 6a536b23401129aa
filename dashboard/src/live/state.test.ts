import { describe, expect, it } from 'vitest';
import { record, result, scheduler, update } from '@/testing/frames';
import type { History, Log, Message } from './messages';
import { applyMessage, emptyRace, LIMITS, WAITING, type Race } from './state';

const after = (...messages: Message[]): Race => messages.reduce(applyMessage, emptyRace);

describe('fold', () => {
  it('changes nothing of what it was given', () => {
    const race = after(update(1));
    const before = JSON.stringify(race);
    applyMessage(race, update(2, { records: [record(1)] }));
    expect(JSON.stringify(race)).toBe(before);
  });

  it('gives the same picture for the same messages', () => {
    const messages = [update(1), update(2, { records: [record(1)] }), update(3)];
    expect(after(...messages)).toEqual(after(...messages));
  });

  it('adds a point to each series', () => {
    const race = after(update(1), update(2, { schedulers: [scheduler('greedy', { makespan_over_bound: 2 })] }));
    expect(race.times).toEqual([1, 2]);
    expect(race.series.greedy?.overBound).toEqual([1.05, 2]);
    expect(race.series.hybrid_ml).toBeUndefined();
  });

  it('gives a scheduler that joins later gaps before it', () => {
    const race = after(update(1, { schedulers: [scheduler('greedy')] }), update(2));
    expect(race.series.oracle?.turnaround).toEqual([NaN, 0.3]);
    expect(race.utilisation.oracle?.map((column) => column.length)).toEqual([2, 2]);
  });

  it('adds no point while simulated time stands still, and shows the new state', () => {
    const race = after(update(1), update(2, { sim_time: 1, tasks_processed: 10, state: 'paused' }));
    expect(race.times).toEqual([1]);
    expect(race.frame?.state).toBe('paused');
  });

  it('keeps no more than it says', () => {
    let race = emptyRace;
    for (let seq = 1; seq <= LIMITS.points + 50; seq++) {
      race = applyMessage(race, update(seq, { records: [record(seq)], spans: [['greedy', 1, seq, seq + 1, seq, 1]], marks: [{ at_task: seq, at_time: seq, change: {} }] }));
      race = applyMessage(race, { type: 'log', seq, time: seq, level: 'INFO', message: 'x', source: 'y' });
    }
    expect(race.times).toHaveLength(LIMITS.points);
    expect(race.times.at(-1)).toBe(LIMITS.points + 50);
    expect(race.series.greedy?.p95).toHaveLength(LIMITS.points);
    expect(race.records).toHaveLength(LIMITS.records);
    expect(race.marks).toHaveLength(LIMITS.marks);
    expect(race.log).toHaveLength(LIMITS.lines);
    expect(race.spans.greedy!.length).toBeLessThanOrEqual(LIMITS.spans);
  });

  it('fills in what has become known of a task that waited', () => {
    const waits = result({ status: WAITING, start: null, finish: null, turnaround: null });
    const race = after(
      update(1, { records: [record(1, { results: { greedy: result(), spt: waits } }), record(2)] }),
      update(2, { updates: [{ task_id: 1, results: { spt: result({ turnaround: 0.7 }) } }] }),
    );
    expect(race.records[0]?.results).toEqual({ greedy: result(), spt: result({ turnaround: 0.7 }) });
    expect(race.records[1]).toEqual(record(2));
  });

  it('begins anew when another run begins, and keeps the log', () => {
    const race = after(update(5), { type: 'log', seq: 6, time: 1, level: 'INFO', message: 'kept', source: 'server' }, update(7, { run_id: 2, sim_time: 0.5, tasks_processed: 3 }));
    expect(race.times).toEqual([0.5]);
    expect(race.log.map((line) => line.message)).toContain('kept');
  });

  it('starts its numbering anew when the server was restarted', () => {
    const greeting = (stream: string): Message => ({ type: 'hello', stream, seq: 0, notice: '' });
    const race = after(greeting('a'), update(9));
    expect(applyMessage(race, greeting('a')).seq).toBe(9);
    expect(applyMessage(race, greeting('b')).seq).toBe(-1);
    expect(applyMessage(race, greeting('b')).frame).not.toBeNull(); // what was seen stays until something newer comes
  });

  describe('with the history that a late page gets', () => {
    const column = [0.5, null];
    const eft = { turnaround: column, p95: column, execution: column, backlog: column, over_bound: column, turnaround_over_bound: [null, 1.3], utilisation: [column, column] };
    const line = (seq: number): Log => ({ type: 'log', seq, time: 1, level: 'INFO', message: `line ${seq}`, source: 'server' });
    const history = (change: Partial<History> = {}): History => ({
      type: 'history', seq: 9, run_id: 1, clock: [100, 102], time: [1, 3], rate: [20, null], bound: [0.9, null], schedulers: { greedy: eft },
      marks: [{ at_task: 2, at_time: 2, change: { load: 1 } }], log: [line(4), line(9)], notifications: [{ type: 'notification', seq: 5, time: 1, level: 'info', message: 'told' }], ...change,
    });

    it('begins where the race was, with gaps where nothing is known', () => {
      const race = after({ type: 'hello', stream: 'a', seq: 9, notice: '' }, history(), update(8));
      expect(race.times).toEqual([1, 3, 8]);
      expect(race.rate).toEqual([20, NaN, 20]);
      expect(race.series.greedy).toMatchObject({ overBound: [0.5, NaN, 1.05], turnaroundOverBound: [NaN, 1.3, 1.4] });
      expect(race.series.oracle?.backlog).toEqual([NaN, NaN, 0.2]);
      expect(race.utilisation.greedy).toEqual([[0.5, NaN, 0.5], [0.5, NaN, 0.9]]);
      expect(race.marks).toHaveLength(1);
      expect(race.log.slice(0, 2).map((each) => each.message)).toEqual(['line 4', 'line 9']);
      expect(race.notices.map((each) => each.message)).toEqual(['told']);
      expect(race.seq).toBe(9); // the next connection asks for what came after the history, not after the update
    });

    it('adds no line twice when a page comes back after a long time', () => {
      const race = after(line(4), update(6), history(), update(8));
      expect(race.log.filter((each) => each.source === 'server').map((each) => each.message)).toEqual(['line 4', 'line 9']);
      expect(race.notices).toEqual([]); // it had seen number 5
      expect(race.times).toEqual([1, 3, 8]);
    });

    it('forgets what it knew of another run', () => {
      const race = after(update(6, { records: [record(1)] }), history({ run_id: 2, time: [], clock: [], rate: [], bound: [], schedulers: {}, marks: [] }));
      expect([race.frame, race.times, race.records]).toEqual([null, [], []]);
    });
  });

  it('counts what was skipped', () => {
    expect(after({ type: 'skipped', count: 3 }, { type: 'skipped', count: 2 }).skipped).toBe(5);
  });

  it('keeps the analysis until a newer one comes', () => {
    const analysis = { tasks: 3 } as NonNullable<Race['analysis']>;
    expect(after(update(1, { analysis }), update(2)).analysis).toBe(analysis);
  });

  it('puts notifications among the notes, and leaves the log to the log', () => {
    const race = after({ type: 'notification', seq: 4, time: 1, level: 'warning', message: 'the disk is full' });
    expect(race.notices[0]).toMatchObject({ level: 'warning', message: 'the disk is full' });
    expect(race.log).toEqual([]);
    expect(race.seq).toBe(4);
  });

  it('replaces what a failed device had not ended by the next attempt', () => {
    const race = after(
      update(1, { spans: [['greedy', 1, 0, 5, 7, 1], ['greedy', 1, 0, 1, 6, 1]] }),
      update(2, { spans: [['greedy', 0, 2, 9, 7, 2]] }),
    );
    expect(race.spans.greedy).toEqual([
      { device: 1, start: 0, end: 1, task: 6, attempt: 1 },
      { device: 0, start: 2, end: 9, task: 7, attempt: 2 },
    ]);
  });

  it('refuses a message that it does not know', () => {
    expect(() => applyMessage(emptyRace, { type: 'news' } as unknown as Message)).toThrow('unknown kind');
  });
});
