import { expect, test } from 'vitest';
import { runLine } from '@/testing/runs';
import { describeSize, newExperimentPath, parseForm, parseSeeds, toRequest, validateForm, type Form } from './form';

const good: Form = { ...parseForm(new URLSearchParams()), schedulers: ['greedy', 'eft'] };

test('a form that was just opened lacks schedulers only', () => {
  expect(Object.keys(validateForm(parseForm(new URLSearchParams())))).toEqual(['schedulers']);
  expect(validateForm(good)).toEqual({});
});

test.each<[Partial<Form>, keyof Form]>([
  [{ load: '0' }, 'load'], [{ load: '' }, 'load'], [{ load: '101' }, 'load'], [{ load: 'x' }, 'load'],
  [{ arrivals: 'rate', rate: '-1' }, 'rate'],
  [{ gpus: '65' }, 'gpus'], [{ gpus: '-1' }, 'gpus'], [{ gpus: '1.5' }, 'gpus'], [{ gpus: '' }, 'gpus'],
  [{ tasks: '0' }, 'tasks'], [{ tasks: '100001' }, 'tasks'], [{ tasks: '2.5' }, 'tasks'],
  [{ seeds: '0' }, 'seeds'], [{ seeds: '31' }, 'seeds'], [{ seeds: 'ten' }, 'seeds'], [{ seeds: '' }, 'seeds'],
  [{ title: 'x'.repeat(201) }, 'title'],
  [{ schedulers: Array.from({ length: 21 }, (_, i) => `s${i}`) }, 'schedulers'],
])('%o is refused at its field', (change, field) => {
  expect(Object.keys(validateForm({ ...good, ...change }))).toEqual([field]);
});

test('fields that do not count are not looked at', () => {
  expect(validateForm({ ...good, arrivals: 'own', load: 'x', rate: 'x' })).toEqual({});
  expect(validateForm({ ...good, gpus: '0', tasks: '' })).toEqual({});
});

test('seeds are a number of them or a list', () => {
  expect(parseSeeds('10')).toBe(10);
  expect(parseSeeds(' 1, 5 ,9 ')).toEqual([1, 5, 9]);
  expect(parseSeeds('42,')).toEqual([42]);
  expect(parseSeeds('3,3')).toMatch(/once/);
  expect(parseSeeds('99999999999999999,1')).toMatch(/too large/);
  expect(parseSeeds(Array.from({ length: 31 }, (_, i) => i).join(','))).toMatch(/30 at most/);
});

test('the order holds what was filled in, and null for what was left open', () => {
  expect(toRequest({ ...good, title: '  night ', seeds: '4,7', tasks: '500' })).toEqual({
    title: 'night', schedulers: ['greedy', 'eft'], workload: 'mixed', load: 0.9, rate: null, num_gpus: 4, tasks: 500, seeds: [4, 7], mode: 'queued',
  });
  expect(toRequest({ ...good, arrivals: 'own' })).toMatchObject({ title: null, load: null, rate: null, tasks: null, seeds: 10 });
  expect(toRequest({ ...good, arrivals: 'rate', rate: '30' })).toMatchObject({ load: null, rate: 30 });
});

test('an address fills the form in; a file keeps its own arrivals', () => {
  expect(parseForm(new URLSearchParams('workload=upload:a.csv'))).toMatchObject({ workload: 'upload:a.csv', arrivals: 'own' });
  const path = newExperimentPath(runLine(1, { workload: 'upload:a.csv@12345678', load: 1.2, num_gpus: 8 }));
  expect(parseForm(new URL(path, 'http://x').searchParams)).toMatchObject({ workload: 'upload:a.csv', arrivals: 'load', load: '1.2', gpus: '8', schedulers: ['greedy', 'oracle'] });
  expect(parseForm(new URL(newExperimentPath(runLine(1, { load: null, rate: 30 })), 'http://x').searchParams)).toMatchObject({ arrivals: 'rate', rate: '30' });
});

test('says how much work it will be', () => {
  expect(describeSize({ ...good, tasks: '500', seeds: '10' })).toBe('2 schedulers × 10 seeds × 500 tasks = 10,000 decisions');
  expect(describeSize({ ...good, seeds: '7,' })).toBe('2 schedulers × 1 seed on all tasks of the workload');
  expect(describeSize({ ...good, seeds: 'x' })).toBe('');
});
