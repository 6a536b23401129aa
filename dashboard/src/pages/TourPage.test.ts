import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { STOPS } from './TourPage';

it("tells greedy's rule as the code has it", () => {
  const code = readFileSync(join(import.meta.dirname, '../../../src/hybrid_scheduler/schedulers/greedy.py'), 'utf-8');
  expect(code).toContain('GPU share = compute intensity, on the least-loaded GPU; ignores transfers and the CPU\'s queue');
  const told = STOPS.flatMap((stop) => stop.text.join(' ').split('. ')).filter((sentence) => sentence.includes('Greedy'));
  expect(told).toEqual([expect.stringMatching(/a share .*compute intensity.*forgets the walk, and the cook’s queue/)]);
});
