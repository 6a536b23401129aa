import { afterEach, describe, expect, it } from 'vitest';
import { MARKER_PATHS } from '@/components/Scheduler';
import { BUILT_IN } from '@/testing/schedulers';
import { isReference, schedulerStyle, setSchedulers, useSchedulerStyles } from './schedulers';

afterEach(() => setSchedulers(BUILT_IN));

describe('styles of the registry', () => {
  const styles = BUILT_IN.map(({ name }) => schedulerStyle(name));
  it('differ in colour, and every marker can be drawn', () => {
    for (const values of [styles.map((each) => each.colour.dark), styles.map((each) => each.colour.light)]) {
      expect(new Set(values).size).toBe(BUILT_IN.length);
    }
    for (const { marker } of styles) expect(MARKER_PATHS[marker]).toMatch(/^M/);
  });

  it('name every built-in scheduler and call none a plug-in', () => {
    expect(['eft', 'min_min', 'search', 'optimal', 'cpop'].map((name) => schedulerStyle(name).label)).toEqual(['EFT', 'Min-min', 'Search', 'Optimal', 'CPOP']);
    expect(styles.filter((each) => each.kind === 'plug-in')).toEqual([]);
    expect(BUILT_IN.map((each) => each.name).filter(isReference)).toEqual(['oracle']);
  });
});

describe('a scheduler with options', () => {
  const spec = 'hybrid_ml:retrain_interval=10';
  it('looks like its scheduler until the server has described it, and is asked for', async () => {
    expect(schedulerStyle(spec)).toMatchObject({ label: spec, colour: schedulerStyle('hybrid_ml').colour });
    await Promise.resolve();
    expect(useSchedulerStyles.getState().requested).toContain(spec);
    const base = BUILT_IN.find((each) => each.name === 'hybrid_ml')!;
    setSchedulers([...BUILT_IN, { ...base, name: spec, label: 'Hybrid ML (retrain_interval=10)', style: { ...base.style, marker: 'kite' } }]);
    expect(schedulerStyle(spec)).toMatchObject({ label: 'Hybrid ML (retrain_interval=10)', marker: 'kite' });
  });
});

it('draws what nobody has described as well', () => {
  expect(schedulerStyle('my_policy')).toMatchObject({ label: 'my_policy', short: 'my_p', kind: 'plug-in', marker: 'circle' });
});
