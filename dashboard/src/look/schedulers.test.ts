import { expect, it } from 'vitest';
import { OUTLINES } from './Shape';
import { schedulerLook } from './schedulers';

const SIX = ['hybrid_ml', 'rl_agent', 'greedy', 'round_robin', 'random', 'oracle'];
const REFERENCES = ['eft', 'price', 'min_min', 'max_min', 'sufferage', 'heft', 'peft'];

it('gives everybody of the registry a colour and a shape of their own, and a plug-in the next', () => {
  const looks = [...SIX, ...REFERENCES, 'mine', 'yours'].map(schedulerLook);
  expect(new Set(looks.map((look) => look.shape)).size).toBe(15);
  expect(new Set(looks.map((look) => look.colour.dark)).size).toBe(15);
  expect(new Set(looks.map((look) => look.colour.light)).size).toBe(15);
  for (const look of looks) expect(OUTLINES[look.shape]).toMatch(/^M/);
});

it('keeps a look once it is given', () => expect(schedulerLook('later')).toBe(schedulerLook('later')));

it('names them as people would', () => {
  expect(['eft', 'min_min', 'hybrid_ml:beside=50', 'my_policy'].map((name) => schedulerLook(name).label)).toEqual(['EFT', 'Min min', 'Hybrid ml', 'My policy']);
  expect(['min_min', 'max_min', 'eft'].map((name) => schedulerLook(name).short)).toEqual(['MIM', 'MAM', 'EFT']);
});
