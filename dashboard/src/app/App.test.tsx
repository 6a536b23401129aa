import { render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { emptyRace } from '@/live/state';
import { useLiveStore } from '@/live/store';
import { navigate } from '@/state/router';
import { serve } from '@/testing/server';
import { BUILT_IN } from '@/testing/schedulers';
import { schedulerStyle, setSchedulers, useSchedulerStyles } from '@/theme/schedulers';
import { App } from './App';

beforeEach(() => {
  vi.stubGlobal('WebSocket', class { close() {} });
  useLiveStore.setState({ race: emptyRace, status: 'connecting' });
  useSchedulerStyles.setState({ styles: new Map(), requested: [] });
  navigate('/');
});
afterEach(() => {
  vi.unstubAllGlobals();
  useSchedulerStyles.setState({ requested: [] });
  setSchedulers(BUILT_IN); // as all other tests expect it
});

it('asks how schedulers are drawn before it draws a page, and later for those with options', async () => {
  const base = BUILT_IN.find((each) => each.name === 'hybrid_ml')!;
  const spec = 'hybrid_ml:retrain_interval=10';
  const described = { ...base, name: spec, label: 'Hybrid ML (retrain_interval=10)' };
  const { requests } = serve({ 'GET /api/schedulers': ({ path }: { path: string }) => (path.includes('also=') ? [...BUILT_IN, described] : BUILT_IN) });
  render(<App />);
  expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
  await waitFor(() => expect(schedulerStyle('hybrid_ml').label).toBe('Hybrid ML'));
  schedulerStyle(spec);
  await waitFor(() => expect(schedulerStyle(spec).label).toBe('Hybrid ML (retrain_interval=10)'));
  expect(requests.map((each) => each.path).filter((path) => path.startsWith('/api/schedulers'))).toEqual(['/api/schedulers', `/api/schedulers?also=${encodeURIComponent(spec)}`]);
});

it('draws pages also when the server does not answer', async () => {
  serve({});
  render(<App />);
  await waitFor(() => expect(screen.getByText('Loading the race')).toBeInTheDocument());
});
