import { render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { beforeEach, describe, expect, it } from 'vitest';
import { applyMessage, emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { usePreferences } from '@/state/preferences';
import { scheduler, update } from '@/testing/frames';
import { barScale, GlobalComparison } from './GlobalComparison';

const turnaround = (name: string, mean_turnaround: number, values = {}) => scheduler(name, { window: { ...scheduler(name).window, mean_turnaround }, ...values });
const show = (...schedulers: ReturnType<typeof scheduler>[]) => {
  useLiveStore.setState({ race: applyMessage(emptyRace, update(1, { schedulers })), status: 'live' });
  render(<GlobalComparison />);
  return screen.getAllByRole('button').filter((each) => each.hasAttribute('aria-pressed'));
};

beforeEach(() => useLiveStore.setState({ race: emptyRace }));

describe('GlobalComparison', () => {
  it('puts the best first and says how far the others are', () => {
    const rows = show(turnaround('greedy', 0.9), turnaround('hybrid_ml', 0.3), turnaround('oracle', 0.25));
    expect(rows.map((row) => row.textContent)).toEqual([expect.stringContaining('Oracle'), expect.stringContaining('Hybrid ML'), expect.stringContaining('Greedy')]);
    expect(within(rows[1]!).getByText('+0.0 %')).toBeVisible();
    expect(within(rows[2]!).getByText('+200 %')).toBeVisible();
  });

  it('names who drowns instead of a percentage', () => {
    const rows = show(turnaround('greedy', 71, { saturated: true }), turnaround('hybrid_ml', 0.3));
    expect(within(rows[1]!).getByText('saturated')).toBeVisible();
    expect(screen.getByText('log axis')).toBeVisible();
  });

  it('chooses the scheduler that the other tiles show', async () => {
    const rows = show(turnaround('greedy', 0.9), turnaround('hybrid_ml', 0.3));
    await userEvent.click(rows[1]!);
    expect(usePreferences.getState().scheduler).toBe('greedy');
  });

  it('compares by another figure', async () => {
    show(scheduler('greedy', { makespan_over_bound: 1.25 }), scheduler('hybrid_ml', { makespan_over_bound: 1.0123 }));
    await userEvent.selectOptions(screen.getByLabelText('Compare by'), 'makespan');
    expect(screen.getByText('1.012')).toBeVisible();
    expect(screen.getByText('1.250')).toBeVisible();
  });

  it('puts who has done nothing last', () => {
    const rows = show(turnaround('eft', 0, { tasks: 0 }), turnaround('greedy', 0.9));
    expect(rows.at(-1)).toHaveTextContent('EFT');
  });
});

describe('barScale', () => {
  it('is linear while figures are close', () => {
    const { log, width } = barScale([1, 2, 4], false);
    expect(log).toBe(false);
    expect(width(2) / width(1)).toBeCloseTo(2);
    expect(width(4)).toBeLessThanOrEqual(1);
  });
  it('is logarithmic when they lie far apart, and every bar is seen', () => {
    const { log, width } = barScale([0.01, 100, null], false);
    expect(log).toBe(true);
    expect(width(0.01)).toBeGreaterThan(0.05);
    expect(width(100)).toBeLessThanOrEqual(1);
    expect(width(1)).toBeGreaterThan(width(0.1));
  });
  it('survives nothing at all', () => expect(barScale([], true).width(1)).toBeGreaterThan(0));
});
