import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import type { AgentInsight, ForestInsight } from '@/live/messages';
import { applyMessage, emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { scheduler, update } from '@/testing/frames';
import { ModelInsight } from './ModelInsight';

const forest: ForestInsight = { kind: 'forest', version: 3, beside: true, retrains: 9, last_retrain: 450, feature_importance: { size: 0.2, memory_per_size: 0.8 }, share_mae: 0.051, share_r2: 0.97, share_tested: 50, seconds_mae: 0.004, seconds_r2: 0.9, seconds_tested: 50 };
const agent: AgentInsight = { kind: 'agent', version: 2, beside: true, epsilon: 0.05, loss: 0.12, reward: -1.5, steps: 4000, updates: 300 };

function show(...schedulers: ReturnType<typeof scheduler>[]) {
  useLiveStore.setState({ race: applyMessage(emptyRace, update(1, { schedulers })), status: 'live' });
  render(<ModelInsight />);
}

it('shows what the forest looks at, most important first, and its error', () => {
  show(scheduler('hybrid_ml', { insight: forest }), scheduler('greedy'));
  expect(screen.getAllByRole('listitem').map((item) => item.textContent)).toEqual(['memory per size80 %', 'size20 %']);
  expect(screen.getByText('±5.1 %')).toBeVisible();
  expect(screen.getByText('9×')).toBeVisible();
});

it('shows how the agent explores and what it earns', async () => {
  show(scheduler('hybrid_ml', { insight: forest }), scheduler('rl_agent', { insight: agent }));
  await userEvent.selectOptions(screen.getByLabelText('Learner'), 'rl_agent');
  expect(screen.getByText('5.0 %')).toBeVisible();
  expect(screen.getByText('-1.50')).toBeVisible();
});

it('shows whatever a plug-in tells about itself', () => {
  show(scheduler('mine', { insight: { kind: 'other', values: { lucky_number: 7.25 } } }));
  expect(screen.getByText('lucky number')).toBeVisible();
  expect(screen.getByText('7.25')).toBeVisible();
});

it('says so when nobody learns', () => {
  show(scheduler('greedy'));
  expect(screen.getByText('Nobody who learns takes part')).toBeVisible();
});
