import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Slider } from './Slider';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const slider = (value: number, settle: (value: number) => void) => <Slider label="Load" value={value} min={0} max={2} step={0.1} format={(each) => each.toFixed(1)} onCommit={settle} />;
const move = (to: string) => fireEvent.change(screen.getByLabelText('Load'), { target: { value: to } });

it('is not pulled back by the answer to an earlier order while it is being moved', () => {
  const settle = vi.fn();
  const { rerender } = render(slider(0.9, settle));
  move('1');
  vi.advanceTimersByTime(400);
  expect(settle).toHaveBeenLastCalledWith(1);
  move('1.2');
  rerender(slider(1, settle)); // the answer
  expect(screen.getByLabelText('Load')).toHaveValue('1.2');
  vi.advanceTimersByTime(400);
  expect(settle).toHaveBeenLastCalledWith(1.2);
});

it('follows the race when somebody else changes it', () => {
  const { rerender } = render(slider(0.9, () => {}));
  rerender(slider(0.5, () => {}));
  expect(screen.getByLabelText('Load')).toHaveValue('0.5');
});

it('gives no order after it is gone', () => {
  const settle = vi.fn();
  const { unmount } = render(slider(0.9, settle));
  move('1');
  unmount();
  vi.advanceTimersByTime(1000);
  expect(settle).not.toHaveBeenCalled();
});
