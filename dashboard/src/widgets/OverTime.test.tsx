import { expect, it } from 'vitest';
import { seriesColumns } from './OverTime';
import { stackColumns } from './Utilisation';

const series = (overBound: number[]) => ({ turnaround: [0.1, 0], execution: [0, 0], overBound, backlog: [0, 0], p95: [0, 0] });

it('gives a column for each scheduler, and gaps for one without a series', () => {
  const race = { times: [1, 2], series: { greedy: series([1.5, 1.2]) } };
  expect(seriesColumns(race, ['greedy', 'eft'], 'overBound')).toEqual([[1, 2], [1.5, 1.2], [NaN, NaN]]);
});

it('keeps zero off logarithmic axes', () => {
  expect(seriesColumns({ times: [1, 2], series: { greedy: series([]) } }, ['greedy'], 'turnaround')[1]).toEqual([0.1, 1e-4]);
});

it('piles busy shares up to one when everybody is busy', () => {
  expect(stackColumns([[1, 0.5], [1, NaN]], 2)).toEqual([[0.5, 0.25], [1, 0.25]]);
});
