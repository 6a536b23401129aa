import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubSize } from '@/testing/analysis';
import { WIDGETS, type Widget } from '@/widgets';
import { Grid } from './Grid';
import { useLayout } from './layout';

const ALL = [...WIDGETS];
const BROKEN: Widget = { id: 'broken', title: 'Broken', about: '', at: [0, 0, 6, 7], component: () => { throw new Error('no such column'); } };
const WHOLE: Widget = { id: 'whole', title: 'Whole', about: '', at: [6, 0, 6, 7], component: () => <p>still here</p> };

function setWidgets(widgets: Widget[]) {
  WIDGETS.splice(0, WIDGETS.length, ...widgets);
  useLayout.getState().reset();
}

beforeEach(() => {
  stubSize(1600, 900);
  vi.spyOn(console, 'error').mockImplementation(() => {});
  setWidgets([BROKEN, WHOLE]);
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  setWidgets(ALL);
});

test('an error in a widget, outside its tile too, leaves the others alive', () => {
  render(<Grid />);
  expect(screen.getByRole('alert')).toHaveTextContent('Broken cannot be drawn');
  expect(screen.getByText('still here')).toBeInTheDocument();
});
