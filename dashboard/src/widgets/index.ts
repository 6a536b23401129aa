/** All widgets of the race page: what they are called, where they stand at first, what the tour says of them. */
import type { ComponentType } from 'react';
import { GlobalComparison } from './GlobalComparison';
import { Utilisation } from './Utilisation';

export interface Widget {
  id: string;
  title: string;
  /** Two sentences for people who see it for the first time. */
  about: string;
  /** Place on the wide grid of 24 columns: column, row, width, height. */
  at: [number, number, number, number];
  least: [number, number];
  component: ComponentType;
}

export const WIDGETS: Widget[] = [
  {
    id: 'comparison',
    title: 'Global comparison',
    about: 'Every bar is one scheduler, and shorter is better. The white line is the certified bound or the best figure: nobody can cross it.',
    at: [0, 0, 10, 8],
    least: [6, 6],
    component: GlobalComparison,
  },
  {
    id: 'utilisation',
    title: 'Utilisation',
    about: 'The coloured layers are the devices, and the height of a layer is how busy that device is. A layer that thins out is a device that the chosen scheduler leaves idle.',
    at: [10, 0, 8, 8],
    least: [5, 6],
    component: Utilisation,
  },
];
