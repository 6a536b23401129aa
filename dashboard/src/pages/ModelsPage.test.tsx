import { act, cleanup, render, screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Schemas } from '@/api/client';
import type { ForestInsight, SimulationUpdate } from '@/live/messages';
import { emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { ErrorReply, serve } from '@/testing/server';
import { describeAccuracy, describeTraining, isCache } from './models/ModelFiles';
import ModelsPage from './ModelsPage';

const file = (name: string, change: Partial<Schemas['ModelFile']> = {}): Schemas['ModelFile'] => ({ folder: 'models', file: name, kind: 'hybrid_ml', version: '0.1.0', training: { retrains: 8, classes: ['cpu', 'gpu'] }, intact: true, ...change });
const forest: ForestInsight = {
  kind: 'forest', version: 3, beside: false, retrains: 11, last_retrain: 500, feature_importance: { size: 0.25, compute_intensity: 0.75 },
  share_mae: 0.0235, share_r2: 0.94, share_tested: 1000, seconds_mae: 0.0052, seconds_r2: 0.99, seconds_tested: 900,
};

beforeEach(() => useLiveStore.setState({ race: emptyRace }));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test('what a model says about itself: accuracy apart from the rest', () => {
  const training = { retrains: 8, share_mae: 0.02, classes: ['cpu', 'gpu'], r2: null };
  expect(describeAccuracy(training)).toEqual(['share error 0.0200']);
  expect(describeTraining(training)).toEqual(['retrains 8', 'classes cpu, gpu']);
  expect([isCache('/home/me/.cache/x/models'), isCache('models'), isCache('/home/me/my-cache-of/models')]).toEqual([true, false, false]);
});

test('models of runs link to their run; files that are damaged come first and say what to do', async () => {
  const stored = [{ id: 1, run_id: 4, scheduler_name: 'rl_agent', path: 'data/models/run4-rl_agent.model', sha256: 'cd'.repeat(32), training: { steps: 5872 }, created_at: '2026-11-16T01:00:00Z' }];
  serve({ 'GET /api/models': { stored, files: [file('good.model'), file('bad.model', { intact: false })], problems: ['other/x.json is damaged'] } });
  render(<ModelsPage />);
  expect(await screen.findByRole('link', { name: 'run 4' })).toHaveAttribute('href', '/experiments?run=4');
  expect(screen.getByText('run4-rl_agent.model')).toBeVisible();
  expect(screen.getByRole('alert')).toHaveTextContent('other/x.json is damaged');
  const files = within(screen.getByRole('region', { name: 'Model files' })).getAllByRole('article');
  expect(files[0]).toHaveTextContent('bad.model');
  expect(files[0]).toHaveTextContent('hms train hybrid_ml -o models/bad.model');
  expect(files[1]).toHaveTextContent('✓ intact');
});

test('many files are folded, and unfold', async () => {
  serve({ 'GET /api/models': { stored: [], files: Array.from({ length: 9 }, (_, i) => file(`m${i}.model`, { folder: '/x/.cache/models' })), problems: [] } });
  render(<ModelsPage />);
  const panel = await screen.findByRole('region', { name: 'Pretrained models' });
  expect(within(panel).getAllByRole('article')).toHaveLength(6);
  await userEvent.click(within(panel).getByRole('button', { name: 'Show all 9' }));
  expect(within(panel).getAllByRole('article')).toHaveLength(9);
});

test('without models it says how to get one; a failure is one line and can be tried again', async () => {
  const { replies } = serve({ 'GET /api/models': new ErrorReply(503, 'the database does not answer') });
  render(<ModelsPage />);
  expect(await screen.findByRole('alert')).toHaveTextContent('the database does not answer');
  expect(screen.getByText(/hms train rl_agent/)).toBeVisible();
  replies['GET /api/models'] = { stored: [], files: [], problems: [] };
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(await screen.findByText('No run has left a model yet')).toBeVisible();
  expect(screen.getByText('No model files on this machine')).toBeVisible();
});

test('a learner of the live race shows what it looks at, most important first, and its fits', async () => {
  serve({ 'GET /api/models': { stored: [], files: [], problems: [] } });
  render(<ModelsPage />);
  expect(screen.getByText('Nobody learns at the moment')).toBeVisible();
  const frame = { schedulers: [{ name: 'hybrid_ml', insight: forest }, { name: 'greedy', insight: null }] } as unknown as SimulationUpdate;
  const points = [54, 500].map((task) => ({ task, samples: task, mae: 30 / task, r2: 0.5, tested: 5, reason: 'drift' as const, seconds: 0.4 }));
  act(() => useLiveStore.setState({ race: { ...emptyRace, frame, analysis: { histories: { hybrid_ml: { kind: 'forest', points } } } as unknown as (typeof emptyRace)['analysis'] } }));
  const panel = await screen.findByRole('region', { name: 'Hybrid ML' }, { timeout: 3000 });
  expect(within(panel).getAllByRole('listitem').map((each) => each.textContent)).toEqual(['compute intensity75 %', 'size25 %']);
  expect(within(panel).getByText('0.0235 on 1,000 unseen tasks')).toBeVisible();
  const fits = within(within(panel).getByRole('group', { name: 'Fits, newest first' })).getAllByRole('row');
  expect(fits[1]).toHaveTextContent('500');
  expect(fits[2]).toHaveTextContent('54');
  expect(screen.queryByRole('region', { name: 'Greedy' })).toBeNull();
});
