import { expect, test } from 'vitest';
import { axisEnds, barGeometry, histogramScale } from './Histogram';
import { cleanName, validateName } from './upload';
import { CSV_COLUMNS, exampleCsv } from './UploadArea';

test.each([
  ['trace.csv', 'trace.csv'],
  ['My Trace (1).CSV', 'my-trace-1.csv'],
  ['C:\\data\\Größe & Zeit.csv', 'gro-e-zeit.csv'],
  ['../../etc/passwd', 'passwd'],
  ['.hidden', 'hidden'],
  ['---', 'trace'],
  ['', 'trace'],
  ['日本.csv', 'csv'],
  [`${'x'.repeat(150)}.parquet`, `${'x'.repeat(92)}.parquet`],
])('%s becomes %s, which the server takes', (file, name) => {
  expect(cleanName(file)).toBe(name);
  expect(validateName(name)).toBe('');
});

test.each(['', 'A.csv', 'a b', '-a', '../a', 'x'.repeat(101)])('%s is no name', (name) => {
  expect(validateName(name)).toMatch(/may have up to 100/);
});

test('the example has a header with all columns that are needed, and ten tasks within their limits', () => {
  const [header, ...rows] = exampleCsv().trim().split('\n').map((line) => line.split(','));
  expect(rows).toHaveLength(10);
  for (const [name] of CSV_COLUMNS.filter(([, needed]) => needed === 'required')) expect(header).toContain(name);
  for (const row of rows) {
    expect(row).toHaveLength(header!.length);
    const of = (name: string) => Number(row[header!.indexOf(name)]);
    expect(of('size')).toBeGreaterThan(0);
    expect(of('compute_intensity')).toBeGreaterThanOrEqual(0);
    expect(of('compute_intensity')).toBeLessThanOrEqual(1);
    expect(of('memory_required')).toBeGreaterThanOrEqual(0);
  }
});

test('bars stand where their bins are, by factors if asked to', () => {
  const linear = barGeometry({ edges: [0, 1, 4], counts: [2, 4] }, histogramScale([0, 4], false));
  expect(linear).toEqual([{ x: 0, width: 0.25, height: 0.5 }, { x: 0.25, width: 0.75, height: 1 }]);
  const log = barGeometry({ edges: [1, 10, 100], counts: [1, 0] }, histogramScale([1, 100], true));
  expect(log[0]).toEqual({ x: 0, width: 0.5, height: 1 });
  expect(log[1]).toMatchObject({ x: 0.5, height: 0 });
});

test('an axis of one single value has room around it', () => {
  const [low, high] = axisEnds([2550, 2550.0000000000005]);
  expect(low).toBeLessThan(2000);
  expect(high).toBeGreaterThan(3000);
  expect(axisEnds([1, 2])).toEqual([1, 2]);
});
