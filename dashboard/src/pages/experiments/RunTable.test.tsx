import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, test } from 'vitest';
import { runLine } from '@/testing/runs';
import { RunHeadline } from './RunTable';
import type { Row } from './runs';

afterEach(cleanup);

const row = (headline: Row['headline']): Row => ({ ...runLine(1), state: 'finished', experiment: null, headline });

test('the best scheduler stands with its turnaround', () => {
  render(<RunHeadline row={row({ scheduler: 'eft', mean_turnaround: 0.25, tied: [] })} />);
  expect(screen.getByText('EFT')).toBeInTheDocument();
  expect(screen.queryByText(/tie/)).not.toBeInTheDocument();
});

test('schedulers that cannot be told apart are called a tie', () => {
  render(<RunHeadline row={row({ scheduler: 'eft', mean_turnaround: 0.25, tied: ['oracle'] })} />);
  expect(screen.getByText('Oracle')).toBeInTheDocument();
  expect(screen.getByText(/tie at 250 ms/)).toBeInTheDocument();
});
