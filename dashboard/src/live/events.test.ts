import { describe, expect, it } from 'vitest';
import { scheduler, update } from '@/testing/frames';
import { detectEvents } from './events';
import type { ForestInsight, SimulationUpdate } from './messages';
import { applyMessage, emptyRace } from './state';

const said = (before: SimulationUpdate | null, frame: SimulationUpdate) => detectEvents(before, frame).map((line) => `${line.level}: ${line.message}`);
const forest = (retrains: number): ForestInsight => ({ kind: 'forest', version: retrains, beside: true, retrains, last_retrain: 7, feature_importance: {}, share_mae: 0.05, share_r2: 0.9, share_tested: 5, seconds_mae: 0.01, seconds_r2: 0.9, seconds_tested: 5 });

describe('events', () => {
  it('says nothing while nothing happens', () => expect(said(update(1), update(2))).toEqual([]));

  it('tells of the beginning', () => expect(said(null, update(1))[0]).toContain('run 1: 3 schedulers on 2 devices'));

  it('tells who drowns and who recovers', () => {
    const drowning = update(2, { schedulers: [scheduler('greedy', { saturated: true, backlog: 12.34 })] });
    expect(said(update(1), drowning)).toEqual(['warning: greedy is saturated: 12.3 s of work wait before the mean device']);
    expect(said(drowning, update(3, { schedulers: [scheduler('greedy')] }))).toEqual(['info: greedy keeps up again']);
  });

  it('tells of devices that fail and come back', () => {
    const [cpu, gpu] = update(1).devices;
    const failed = update(2, { devices: [cpu!, { ...gpu!, failed: true }] });
    expect(said(update(1), failed)).toEqual(['warning: gpu0 has failed: its tasks are rescheduled']);
    expect(said(failed, update(3))).toEqual(['info: gpu0 is back']);
  });

  it('tells of states, rejections, restarts and newcomers', () => {
    const frame = update(2, { state: 'paused', schedulers: [scheduler('eft'), scheduler('greedy', { rejected: 3, restarts: 2 })] });
    expect(said(update(1), frame)).toEqual(['info: the race is paused', 'info: eft joins the race', 'warning: greedy has rejected 3 tasks so far', 'info: greedy rescheduled 2 tasks']);
  });

  it('tells of a full queue once per power of ten', () => {
    const turned = [0, 7, 9, 12, 99, 100].map((rejected, i) => update(i + 1, { schedulers: [scheduler('greedy', { rejected })] }));
    const heard = turned.slice(1).map((frame, i) => said(turned[i]!, frame).length);
    expect(heard).toEqual([1, 0, 1, 0, 1]);
  });

  it('leaves it to the server to tell of a forest that was retrained', () => {
    const frames = [3, 4].map((retrains) => update(retrains, { schedulers: [scheduler('hybrid_ml', { insight: forest(retrains) })] }));
    expect(said(frames[0]!, frames[1]!)).toEqual([]);
  });

  it('reaches the log', () => {
    const race = applyMessage(applyMessage(emptyRace, update(1)), update(2, { state: 'paused' }));
    expect(race.log.map((line) => line.message)).toContain('the race is paused');
  });
});
