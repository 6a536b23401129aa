/** The tour: a kitchen first, then every widget in two sentences, with something to try. */
import { changeSettings } from '@/app/orders';
import { WIDGETS } from '@/widgets';

export interface Stop {
  title: string;
  /** Paragraphs. */
  text: string[];
  /** The widget that is shown live beside the text. */
  widget?: string;
  /** Something to do, and what to watch while it happens. */
  act?: { label: string; watch: string; run: () => Promise<unknown> };
}

const INTRODUCTION: Stop[] = [
  {
    title: 'A kitchen at noon',
    text: [
      'Think of a kitchen with one prep cook and four master chefs. The cook stands beside the door and starts at once. The chefs are many times faster at grand dishes, but they work at the far end, and everything must be carried to them first.',
      'Orders keep coming. For an onion the walk takes longer than the chopping; for a soufflé the walk is nothing. And a chef who is best for this dish may have twenty others waiting.',
      'The cook is the CPU, the chefs are GPUs, the walk is the transfer of data, an order is a task. Somebody has to say, order by order, who cooks what. That somebody is a scheduler.',
    ],
  },
  {
    title: 'Six managers, one stream of orders',
    text: [
      'Here six managers get exactly the same orders at the same moments, each with a kitchen of its own. Round robin hands them out in turn. Random draws lots. Greedy splits each order so that it alone would be fastest, and forgets the queues.',
      'Hybrid ML has studied past orders and predicts how long each would take where; it goes on learning while it works. The RL agent began knowing nothing and learnt from what its decisions cost. The oracle knows every time before it happens: nobody can hire it, but it shows how good one could be.',
      'Below them all lies the certified bound: a proof, made anew with every order, that no manager whatsoever could have finished sooner.',
    ],
    widget: 'comparison',
  },
];

const ACTIONS: Record<string, Stop['act']> = {
  turnaround: {
    label: 'Raise the load to 1.05',
    watch: 'Now more comes in than anybody can do: every line climbs, and those that waste time climb first. Set it back to 0.6 and see who recovers.',
    run: () => changeSettings('Offered load 1.05', { load: 1.05 }),
  },
  lanes: {
    label: 'Let GPU 1 fail',
    watch: 'Its lane empties, its tasks are placed anew, and the other lanes fill up. Restore it with the switch on the race page.',
    run: () => changeSettings('GPU 1 has failed', { failed_gpus: [1] }),
  },
  model: {
    label: 'Shift the work to small, transfer-heavy tasks',
    watch: 'What the forest learnt is wrong at once: its error jumps, it notices, and it trains again.',
    run: () => changeSettings('Shifted to cpu_friendly', { preset: 'cpu_friendly' }),
  },
  bound: {
    label: 'Back to calm: load 0.6, mixed work, all GPUs',
    watch: 'With little to do, everybody ends soon after the last order has come, and all lines lean towards 1.',
    run: () => changeSettings('Load 0.6, mixed work, all GPUs', { load: 0.6, preset: 'mixed', failed_gpus: [] }),
  },
};

export const STOPS: Stop[] = [
  ...INTRODUCTION,
  ...WIDGETS.filter((widget) => widget.id !== 'comparison').map(({ id, title, about }): Stop => ({ title, text: [about], widget: id, ...(ACTIONS[id] ? { act: ACTIONS[id] } : {}) })),
  {
    title: 'Your turn',
    text: [
      'Go to the live race, push the load until somebody falls over, and click any task to see why each manager decided as it did.',
      'Then bring your own: upload a trace under Workloads, race on it, and compare with intervals under Experiments. A policy of your own is ten lines of Python; it joins this race like the others.',
    ],
  },
];
