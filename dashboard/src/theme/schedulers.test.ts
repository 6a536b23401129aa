import { expect, it } from 'vitest';
import { MARKER_PATHS } from '@/components/Scheduler';
import { schedulerStyle } from './schedulers';

const SIX = ['hybrid_ml', 'rl_agent', 'greedy', 'round_robin', 'random', 'oracle'];
const REFERENCES = ['eft', 'price', 'min_min', 'max_min', 'sufferage', 'heft', 'peft'];

it('gives everybody of the registry a colour and a shape of their own, and a plug-in the next', () => {
  const looks = [...SIX, ...REFERENCES, 'mine', 'yours'].map(schedulerStyle);
  expect(new Set(looks.map((look) => look.shape)).size).toBe(15);
  expect(new Set(looks.map((look) => look.colour.dark)).size).toBe(15);
  expect(new Set(looks.map((look) => look.colour.light)).size).toBe(15);
  for (const look of looks) expect(MARKER_PATHS[look.shape]).toMatch(/^M/);
});

it('keeps a look once it is given', () => expect(schedulerStyle('later')).toBe(schedulerStyle('later')));

it('names them as people would', () => {
  expect(['eft', 'min_min', 'hybrid_ml:beside=50', 'my_policy'].map((name) => schedulerStyle(name).label)).toEqual(['EFT', 'Min min', 'Hybrid ml', 'My policy']);
  expect(['min_min', 'max_min', 'eft'].map((name) => schedulerStyle(name).short)).toEqual(['MIM', 'MAM', 'EFT']);
});
