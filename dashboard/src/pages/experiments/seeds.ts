/** Seeds as people write them: a number of them, or a list. */

/** 0 to 9 rather than ten numbers, where they follow one another. */
export function formatSeeds(seeds: readonly number[]): string {
  const inRow = seeds.length > 2 && seeds.every((seed, i) => i === 0 || seed === seeds[i - 1]! + 1);
  return inRow ? `${seeds[0]} to ${seeds.at(-1)}` : seeds.join(', ');
}

export const MAX_SEEDS = 30;

/** `10`: so many seeds from 0 on; `3, 7` or `5,`: these. A string says what is wrong. */
export function parseSeeds(text: string): number | number[] | string {
  const given = text.trim();
  if (!/^\d+(\s*,\s*\d*)*$/.test(given)) return 'Seeds: write how many, like 10, or a list, like 1, 5, 9.';
  const list = given.split(',').map((part) => part.trim()).filter(Boolean).map(Number);
  if (!given.includes(',')) {
    const many = list[0]!;
    return many >= 1 && many <= MAX_SEEDS ? many : `Seeds: 1 to ${MAX_SEEDS} of them.`;
  }
  if (list.length > MAX_SEEDS) return `Seeds: ${MAX_SEEDS} at most.`;
  if (new Set(list).size < list.length) return 'Seeds: each number once.';
  if (list.some((seed) => !Number.isSafeInteger(seed))) return 'Seeds: these numbers are too large.';
  return list;
}
