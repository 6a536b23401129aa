/** A guided tour for people who see a scheduler for the first time, one stop at a time. */
import { useEffect } from 'react';
import { ArrowLeft, ArrowRight, FlaskConical } from 'lucide-react';
import { Button, Link } from '@/components/controls';
import { ErrorBoundary } from '@/components/Panel';
import { changeSettings, useRaceSettings } from '@/state/commands';
import { setQuery, useRouter } from '@/state/router';
import { WIDGETS } from '@/widgets';

export default function TourPage() {
  const wanted = Number(useRouter((state) => state.route.query.get('stop')) ?? 1);
  const number = Math.min(STOPS.length, Math.max(1, Number.isInteger(wanted) ? wanted : 1));
  const to = (next: number) => setQuery('stop', String(Math.min(STOPS.length, Math.max(1, next))));
  useArrowKeys(number, to);
  const stop = STOPS[number - 1]!;
  return (
    <div className="mx-auto max-w-7xl space-y-4 py-2">
      <TourProgress number={number} to={to} />
      <div className={`grid items-start gap-5 ${stop.widget ? 'lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]' : 'mx-auto max-w-3xl'}`}>
        <StopText stop={stop} number={number} />
        {stop.widget && <LiveWidget id={stop.widget} key={stop.widget} />}
      </div>
      <div className="flex items-center justify-between gap-3">
        <Button disabled={number === 1} onClick={() => to(number - 1)}><ArrowLeft size={15} aria-hidden="true" /> Back</Button>
        <span className="num text-sm text-quiet">{number} of {STOPS.length}</span>
        {number < STOPS.length ? (
          <Button kind="main" onClick={() => to(number + 1)}>Next <ArrowRight size={15} aria-hidden="true" /></Button>
        ) : (
          <Link to="/" className="rounded-lg bg-accent px-3 py-1.5 text-sm font-semibold text-on-accent">To the live race</Link>
        )}
      </div>
    </div>
  );
}

function useArrowKeys(number: number, to: (next: number) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.target as HTMLElement).closest('input,select,textarea,canvas,[role=grid],[role=slider]')) return;
      if (event.key === 'ArrowRight') to(number + 1);
      if (event.key === 'ArrowLeft') to(number - 1);
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  });
}

function TourProgress({ number, to }: { number: number; to: (next: number) => void }) {
  return (
    <ol aria-label="Stops of the tour" className="flex gap-1">
      {STOPS.map((stop, i) => (
        <li key={stop.title} className="flex-1">
          <button type="button" aria-label={`Stop ${i + 1}: ${stop.title}`} aria-current={i + 1 === number ? 'step' : undefined} onClick={() => to(i + 1)} className="block w-full py-2">
            <span className={`block h-1.5 rounded-full ${i + 1 <= number ? 'bg-accent' : 'bg-edge'}`} />
          </button>
        </li>
      ))}
    </ol>
  );
}

function StopText({ stop, number }: { stop: Stop; number: number }) {
  const { disabled } = useRaceSettings();
  return (
    <article className="panel space-y-4 p-6" aria-live="polite">
      <h2 className="text-2xl font-semibold">{stop.title}</h2>
      {stop.text.map((paragraph) => <p key={paragraph} className="text-[1.05rem] leading-relaxed">{paragraph}</p>)}
      {number === 1 && <Kitchen />}
      {stop.act && (
        <div className="space-y-2 rounded-xl border border-edge bg-well p-4">
          <p className="flex items-center gap-2 text-sm font-semibold"><FlaskConical size={15} aria-hidden="true" /> Try it</p>
          <Button kind="main" disabled={disabled} onClick={() => void stop.act!.run()}>{stop.act.label}</Button>
          <p className="text-sm text-quiet">{stop.act.watch}</p>
        </div>
      )}
    </article>
  );
}

function LiveWidget({ id }: { id: string }) {
  const widget = WIDGETS.find((each) => each.id === id);
  if (!widget) return null;
  const Content = widget.component;
  return <div className="h-[26rem]"><ErrorBoundary title={widget.title}><Content /></ErrorBoundary></div>;
}

/** One cook near the door, four chefs far away. */
function Kitchen() {
  return (
    <svg viewBox="0 0 600 190" role="img" aria-label="Orders come in at a door; a cook stands beside it, four chefs at the far end" className="w-full">
      <g fill="none" stroke="var(--edge-strong)" strokeWidth="2"><rect x="2" y="2" width="596" height="186" rx="14" /><path d="M2 70v50" stroke="var(--accent)" strokeWidth="6" /></g>
      <g fill="none" stroke="var(--quiet)" strokeWidth="2" strokeDasharray="5 6"><path d="M70 95H120" />{[35, 75, 115, 155].map((y) => <path key={y} d={`M165 95C300 95 330 ${y} 460 ${y}`} />)}</g>
      <text x="22" y="60" fill="var(--quiet)" fontSize="14">orders</text>
      <circle cx="143" cy="95" r="22" fill="#ff7eb6" /><text x="143" y="100" textAnchor="middle" fontSize="14" fontWeight="700" fill="#3a0a22">CPU</text>
      {[35, 75, 115, 155].map((y, i) => <g key={y}><rect x="462" y={y - 15} width="92" height="30" rx="8" fill="#2f6fe4" /><text x="508" y={y + 5} textAnchor="middle" fontSize="14" fontWeight="700" fill="#ffffff">GPU {i}</text></g>)}
      <text x="300" y="176" textAnchor="middle" fill="var(--quiet)" fontSize="14">the walk: moving data takes time</text>
    </svg>
  );
}

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
      'Here six managers get exactly the same orders at the same moments, each with a kitchen of its own. Round robin goes round the cooks, one after the other. Random picks at random. Greedy gives a chef as large a share of an order as it is hard to cook (its compute intensity) and the cook the rest; it forgets the walk, and the cook’s queue.',
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
    watch: 'Its lane empties, its tasks are rescheduled, and the other lanes fill up. Restore it with the switch on the race page.',
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

/** The tour: a kitchen first, then every widget in two sentences, with something to try. */
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
