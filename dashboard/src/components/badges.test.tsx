import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { MeasuredBadge } from './badges';

describe('the badge', () => {
  it('tells a measured race in a word, a picture and a sentence', () => {
    const { container } = render(<MeasuredBadge measured />);
    expect(screen.getByText('measured')).toHaveAttribute('title', expect.stringContaining('Queues and waiting are those that these measured times make'));
    expect(container.querySelector('svg')).toBeInTheDocument();
  });

  it('calls everything else simulated', () => {
    render(<MeasuredBadge measured={false} />);
    expect(screen.getByText('simulated')).toHaveAttribute('title', expect.stringContaining('Nothing really runs'));
  });
});
