/** All widgets of the race page: what they are called, where they stand at first, what the tour says of them. */
import type { ComponentType } from 'react';
import { DecisionAudit } from './Audit';
import { Correlation } from './Correlation';
import { DeviceLanes } from './DeviceLanes';
import { GlobalComparison } from './GlobalComparison';
import { HeatMap } from './HeatMap';
import { LatencyCdf } from './LatencyCdf';
import { Ledger } from './Ledger';
import { LogConsole } from './LogConsole';
import { ModelInsight } from './ModelInsight';
import { DistanceToBound, TurnaroundOverTime } from './OverTime';
import { Pareto } from './Pareto';
import { Radar } from './Radar';
import { SizeHistogram } from './SizeHistogram';
import { Utilisation } from './Utilisation';
import { WinMatrix } from './WinMatrix';

export interface Widget {
  id: string;
  title: string;
  /** Two sentences for people who see it for the first time. */
  about: string;
  /** Place on the wide grid of 24 columns: column, row, width, height. */
  at: [number, number, number, number];
  component: ComponentType;
}

export const WIDGETS: Widget[] = [
  {
    id: 'comparison',
    title: 'Global comparison',
    about: 'Every bar is one scheduler, and shorter is better. The white line marks the best figure, or the certified bound that nobody can cross.',
    at: [0, 0, 10, 7],
    component: GlobalComparison,
  },
  {
    id: 'utilisation',
    title: 'Utilisation',
    about: 'The coloured layers are the devices, and the height of a layer says how busy that device is. A layer that thins out is a device that the chosen scheduler leaves idle.',
    at: [10, 0, 8, 7],
    component: Utilisation,
  },
  {
    id: 'radar',
    title: 'Trade-off',
    about: 'The chosen scheduler against the oracle in time, energy and cost: the smaller its triangle, the better. A corner that sticks out is what it pays for being good elsewhere.',
    at: [18, 0, 6, 7],
    component: Radar,
  },
  {
    id: 'bound',
    title: 'Distance to the bound',
    about: 'Each line is the time a scheduler needs for everything so far, or the mean turnaround of its last tasks, divided by a time that is proved to be needed by anyone. At 1.0 nothing could be better; the line there is the one nobody crosses.',
    at: [0, 7, 8, 7],
    component: DistanceToBound,
  },
  {
    id: 'turnaround',
    title: 'Turnaround over time',
    about: 'How long tasks take from arrival to finish, on an axis where each step up is ten times more. A line that keeps climbing belongs to a scheduler that no longer keeps up.',
    at: [8, 7, 8, 7],
    component: TurnaroundOverTime,
  },
  {
    id: 'lanes',
    title: 'Device lanes',
    about: 'Every lane is a device and every block a task, or a share of one. Gaps are time in which a device had nothing to do although somebody may have been waiting.',
    at: [16, 7, 8, 7],
    component: DeviceLanes,
  },
  {
    id: 'ledger',
    title: 'Task ledger',
    about: 'The newest tasks one by one: what they were, where the chosen scheduler put them, and the time, energy and cost that took, against the fastest of all. Click a row to see what everybody else did with the same task, and why.',
    at: [0, 14, 12, 7],
    component: Ledger,
  },
  {
    id: 'audit',
    title: 'Decision audit',
    about: 'One decision taken apart: what each scheduler expected of every device, what it got, and its reason in a sentence. It opens for any task that you click, here or elsewhere.',
    at: [12, 14, 6, 7],
    component: DecisionAudit,
  },
  {
    id: 'log',
    title: 'Live log',
    about: 'What the server says while it works: settings that changed, models that were trained, devices that failed. Filter it, or pause it to read in peace.',
    at: [18, 14, 6, 7],
    component: LogConsole,
  },
  {
    id: 'wins',
    title: 'Head to head',
    about: 'How often the scheduler of a row finished a task before the scheduler of a column. A full teal row beats everybody; an orange one loses.',
    at: [0, 21, 6, 7],
    component: WinMatrix,
  },
  {
    id: 'correlation',
    title: 'Correlation',
    about: 'What goes with what: red means both grow together, blue that one shrinks as the other grows. A strong red between memory and the time of a scheduler says that transfers hurt it.',
    at: [6, 21, 6, 7],
    component: Correlation,
  },
  {
    id: 'heatmap',
    title: 'Where the GPU wins',
    about: 'Tasks sorted by size and by how much they gain from a GPU: blue cells belong on a GPU, pink ones on the CPU. The border between them is what every scheduler tries to learn.',
    at: [12, 21, 6, 7],
    component: HeatMap,
  },
  {
    id: 'sizes',
    title: 'Task sizes',
    about: 'How large the last tasks were. A long tail to the right is what makes queues hard: one giant blocks many dwarfs.',
    at: [18, 21, 6, 7],
    component: SizeHistogram,
  },
  {
    id: 'cdf',
    title: 'Latency',
    about: 'For every turnaround time, the share of tasks that were done by then: the further left a line, the better. Where it bends to the right at the top you see the unlucky few.',
    at: [0, 28, 9, 7],
    component: LatencyCdf,
  },
  {
    id: 'pareto',
    title: 'Cost against time',
    about: 'Left is fast and low is cheap, so one wants to be as near to the lower left corner as the shaded ground allows: nobody can stand on it, and that is proved. Schedulers on the stepped line are the sensible choices; for any other there is one that is both faster and cheaper.',
    at: [9, 28, 7, 7],
    component: Pareto,
  },
  {
    id: 'model',
    title: 'Model insight',
    about: 'What the learners look at when they decide, and how wrong they were lately about tasks they had not seen. When the work shifts, the error jumps first, and then the model is trained again.',
    at: [16, 28, 8, 7],
    component: ModelInsight,
  },
];
