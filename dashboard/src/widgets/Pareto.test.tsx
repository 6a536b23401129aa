import { act, cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { usePreferences } from '@/state/preferences';
import { showSchedulers, stubSize, windowFigures } from '@/testing/analysis';
import { scheduler, update } from '@/testing/frames';
import { showFrames } from '@/testing/race';
import { overlapArea } from '@/utils/scale';
import { buildPoints, chooseAxis, describeFront, describeProof, Pareto, paretoFront, placeLabels, stepPath } from './Pareto';

/** Fast and dear, slow and cheap, worse than the first in both, and a reference that is best in both. */
const all = () => [
  windowFigures('hybrid_ml', { mean_turnaround: 0.2, cost: 8e-6, energy: 4 }),
  windowFigures('round_robin', { mean_turnaround: 0.8, cost: 6e-6, energy: 5 }),
  windowFigures('random', { mean_turnaround: 0.9, cost: 9e-6, energy: 6 }, { saturated: true }),
  windowFigures('oracle', { mean_turnaround: 0.1, cost: 5e-6, energy: 3 }),
];

beforeEach(() => {
  stubSize();
  usePreferences.setState({ price: 'cost' });
  showSchedulers(all());
});
afterEach(cleanup);

describe('the front', () => {
  test('holds who is not dominated; the oracle is no choice and dominates nobody', () => {
    const points = buildPoints(all(), 'cost');
    expect(paretoFront(points).map((each) => each.name)).toEqual(['hybrid_ml', 'round_robin']);
    expect(points.find((each) => each.name === 'random')!.dominatedBy).toEqual(['hybrid_ml', 'round_robin']);
    expect(paretoFront(buildPoints(all(), 'energy')).map((each) => each.name)).toEqual(['hybrid_ml']);
  });

  test('equal points do not dominate each other, a tie in one figure does', () => {
    const same = [windowFigures('greedy', { mean_turnaround: 1, cost: 1 }), windowFigures('random', { mean_turnaround: 1, cost: 1 }), windowFigures('rl_agent', { mean_turnaround: 1, cost: 2 }), windowFigures('round_robin', { mean_turnaround: 2, cost: 1 })];
    expect(buildPoints(same, 'cost').map((each) => each.dominatedBy.length)).toEqual([0, 0, 2, 2]);
  });

  test('who has no figures is left out', () => {
    expect(buildPoints([windowFigures('greedy', { mean_turnaround: null })], 'cost')).toEqual([]);
  });

  test('is drawn in steps that never cut through a dominated place', () => {
    expect(stepPath([{ x: 10, y: 50 }, { x: 30, y: 80 }], 100, 0)).toBe('M10 0V50H30V80H100');
    expect(stepPath([], 100, 0)).toBe('');
  });
});

test('axes are logarithmic only beyond a factor of 8', () => {
  expect(chooseAxis([1, 8], 5, false).log).toBe(false);
  expect(chooseAxis([1, 8.1], 5, false).log).toBe(true);
  const [low, high] = chooseAxis([2, 2], 5, false).range;
  expect(low).toBeLessThan(2);
  expect(high).toBeGreaterThan(2);
});

test('labels of points that lie close together do not overlap and stay inside', () => {
  const bounds = { x: 0, y: 0, width: 300, height: 200 };
  const points = [[20, 100], [24, 103], [22, 97], [290, 5], [285, 12]].map(([x, y]) => ({ x: x!, y: y!, width: 60 }));
  const boxes = placeLabels(points, 14, bounds);
  for (const [i, box] of boxes.entries()) {
    expect(overlapArea(box, bounds)).toBeCloseTo(60 * 14);
    for (const other of boxes.slice(i + 1)) expect(overlapArea(box, other)).toBe(0);
  }
});

test('the summary names the front and the dominated', () => {
  expect(describeFront(buildPoints(all(), 'cost'), 'cost')).toBe('Cost against mean turnaround per task. On the Pareto front: Hybrid ML, Round robin; dominated: Random');
  render(<Pareto />);
  expect(screen.getByRole('img', { name: /^Cost against mean turnaround/ })).toBeInTheDocument();
});

test('tips say where a point stands, by pointer and by keys', async () => {
  render(<Pareto />);
  await userEvent.hover(screen.getByRole('img', { name: 'Random: 900 ms, 9.00 µ$, dominated by Hybrid ML, Round robin, saturated' }));
  expect(screen.getByTestId('tip')).toHaveTextContent('Random900 ms · 9.00 µ$dominated by Hybrid ML, Round robinsaturated');
  act(() => screen.getByRole('img', { name: /^Hybrid ML: / }).focus());
  expect(screen.getByTestId('tip')).toHaveTextContent('on the Pareto front');
  await userEvent.keyboard('{End}');
  expect(screen.getByTestId('tip')).toHaveTextContent('Oracle100 ms · 5.00 µ$a reference, not a choice');
});

test('dominated points are hollow', () => {
  render(<Pareto />);
  const fill = (name: RegExp) => screen.getByRole('img', { name }).querySelector('path')!.getAttribute('fill');
  expect(fill(/^Random: /)).toBe('none');
  expect(fill(/^Hybrid ML: /)).not.toBe('none');
});

test('energy instead of cost', async () => {
  render(<Pareto />);
  await userEvent.selectOptions(screen.getByLabelText('Against time'), 'Energy');
  expect(screen.getByRole('region', { name: 'Energy against time' })).toBeInTheDocument();
  expect(screen.getByRole('img', { name: /front: Hybrid ML; dominated: Round robin, Random$/ })).toBeInTheDocument();
  cleanup();
  render(<Pareto />);
  expect(screen.getByLabelText('Against time')).toHaveValue('energy');
});

describe('the certified front', () => {
  const fronts = { cost_front: [[0.9, 5e-6], [0.1, 9e-6]], cost_front_split: [[0.8, 4e-6], [0.05, 8e-6]], energy_front: [[0.9, 3], [0.1, 5]], energy_front_split: [[0.8, 2], [0.05, 4]] };
  const window = { first_task: 400, tasks: 500, mean_turnaround: 0.1, mean_turnaround_split: 0.05, ...fronts };
  const certified = (name: string, mean_turnaround: number, splits: boolean) =>
    scheduler(name, { certified: { mean_turnaround, energy: 6, cost: 1e-5, splits }, turnaround_over_bound: mean_turnaround / (splits ? 0.05 : 0.1) });
  const show = (...schedulers: ReturnType<typeof scheduler>[]) => {
    showFrames(update(1, { schedulers, certified_window: window }));
    render(<Pareto />);
  };

  test('is drawn under the figures of the window it was proved for', async () => {
    show(certified('hybrid_ml', 0.14, false), certified('greedy', 0.2, true));
    expect(screen.getByRole('region', { name: 'Cost against time' })).toHaveTextContent('per task, 500 tasks from 400 on');
    expect(screen.getByTestId('certified-fronts').querySelectorAll('path')).toHaveLength(4);
    expect(screen.getByRole('img', { name: /Nobody can need less than 100 ms and 5.00 µ\$ a task without splitting tasks, or 50.0 ms and 4.00 µ\$ a task at all$/ })).toBeInTheDocument();
    await userEvent.hover(screen.getByRole('img', { name: /^Hybrid ML: 140 ms, 10.0 µ\$/ }));
    expect(screen.getByTestId('tip')).toHaveTextContent('1.40 × the least turnaround of whole tasks');
    await userEvent.hover(screen.getByRole('img', { name: /^Greedy: / }));
    expect(screen.getByTestId('tip')).toHaveTextContent('4.00 × the least turnaround of any schedule; it splits tasks');
  });

  test('who did not take all tasks of the window is left out, and named', () => {
    show(certified('hybrid_ml', 0.14, false), scheduler('random', { certified: null, turnaround_over_bound: null }));
    expect(screen.queryByRole('img', { name: /^Random: / })).toBeNull();
    expect(screen.getByText(/joined later or rejected a task of the window: Random/)).toBeInTheDocument();
  });

  test('before it is proved the last tasks are shown, and the page says what is missing', () => {
    render(<Pareto />);
    expect(screen.getByText('Where nobody can be is proved soon after the first 100 tasks.')).toBeInTheDocument();
    expect(screen.queryByTestId('certified-fronts')).toBeNull();
    expect(describeProof([certified('greedy', 1, true)], window)).toBe('');
  });
});
