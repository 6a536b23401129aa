import { describe, expect, it } from 'vitest';
import { humanizeSentence } from '@/widgets/decisions';
import { formatBytes, formatClock, formatCost, formatCount, formatDevice, formatEnergy, formatMegabytes, formatNumber, formatPercent, formatRatio, formatSeconds, formatSecondsTick, isKnown } from './format';

describe.each([
  [formatNumber, [[0, '0'], [1234.5, '1,235'], [12.345, '12.3'], [0.012345, '0.0123'], [-2.5, '-2.50'], [1e-7, '1.00e-7'], [1e20, '1.00e+20'], [null, '–'], [NaN, '–'], [Infinity, '–']]],
  [formatSeconds, [[0, '0 s'], [0.0266, '26.6 ms'], [1.5, '1.50 s'], [71.5, '1.19 min'], [7200, '2.00 h'], [2e5, '2.31 d'], [3e-7, '0.300 µs'], [0.9999, '1.00 s'], [null, '–'], [-0.5, '-500 ms']]],
  [formatSecondsTick, [[100, '100 s'], [1000, '1,000 s'], [1, '1 s'], [0.01, '10 ms'], [0.0001, '100 µs']]],
  [formatEnergy, [[0, '0 J'], [5.44, '5.44 J'], [0.01, '10.0 mJ'], [12_700, '12.7 kJ'], [7.2e6, '2.00 kWh'], [undefined, '–']]],
  [formatCost, [[0, '0 $'], [8.4e-6, '8.40 µ$'], [0.07, '70.0 m$'], [2, '2.00 $']]],
  [formatBytes, [[0, '0 B'], [999, '999 B'], [1500, '1.50 kB'], [5e7, '50.0 MB']]],
  [formatMegabytes, [[250, '250 MB'], [4000, '4.00 GB'], [null, '–']]],
  [formatRatio, [[1.037, '+3.7 %'], [1, '+0.0 %'], [0.98, '−2.0 %'], [0.99999, '+0.0 %'], [1.92, '+92 %'], [300, '×300'], [null, '–']]],
  [formatCount, [[19_061, '19,061'], [0, '0'], [null, '–']]],
  [formatClock, [[233, '03:53'], [3723, '1:02:03'], [0, '00:00'], [null, '–']]],
] as [(value: number | null | undefined) => string, [number | null | undefined, string][]][])('%o', (format, cases) => {
  it.each(cases)('writes %s as %s', (value, text) => expect(format(value)).toBe(text));
});

it('writes percentages with as many places as asked for', () => {
  expect(formatPercent(0.4567)).toBe('46 %');
  expect(formatPercent(0.4567, 1)).toBe('45.7 %');
  expect(formatPercent(null)).toBe('–');
});

it('knows what is a number', () => {
  expect([0, NaN, Infinity, null, undefined].map(isKnown)).toEqual([true, false, false, false, false]);
});

describe('names of devices', () => {
  it('are written for people, and say emulated where a CPU only plays a device', () => {
    expect(['cpu', 'gpu0', 'gpu12', 'cpu (emulated)', 'gpu0 (emulated)', 'cuda:0'].map((name) => formatDevice({ name }))).toEqual([
      'CPU', 'GPU 0', 'GPU 12', 'CPU (emulated)', 'GPU 0 (emulated)', 'cuda:0',
    ]);
    expect(humanizeSentence('whole on gpu0 (emulated): 0.2 s before cpu (emulated)')).toBe('whole on GPU 0 (emulated): 0.2 s before CPU (emulated)');
  });
});
