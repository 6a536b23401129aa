import { describe, expect, it } from 'vitest';
import { formatTicks, leaveGaps } from './TimeChart';

describe('timeLabels', () => {
  it('has as many places as tell neighbours apart', () => {
    expect(formatTicks([0.1, 0.12, 0.14], 0.2)).toEqual(['0.10 s', '0.12 s', '0.14 s']);
    expect(formatTicks([0, 0.5, 1], 1)).toEqual(['0.0 s', '0.5 s', '1.0 s']);
    expect(formatTicks([0, 20, 40], 40)).toEqual(['0 s', '20 s', '40 s']);
  });

  it('counts long races in minutes', () => expect(formatTicks([600, 660, 720], 720)).toEqual(['10 min', '11 min', '12 min']));

  it('leaves gaps where nothing is known', () => expect(leaveGaps([[1, 2, 3], [NaN, 5, NaN]])).toEqual([[1, 2, 3], [null, 5, null]]));

  it('counts back from now', () => expect(formatTicks([2, 4, 6], 6, true)).toEqual(['−4 s', '−2 s', 'now']));
});
