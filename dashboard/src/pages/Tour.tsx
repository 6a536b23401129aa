/** A guided tour for people who see a scheduler for the first time, one stop at a time. */
import { useEffect } from 'react';
import { ArrowLeft, ArrowRight, FlaskConical } from 'lucide-react';
import { follow } from '@/app/Header';
import { setQuery, useRouter } from '@/app/router';
import { useRaceSettings } from '@/app/ControlStrip';
import { Button } from '@/look/parts';
import { ErrorBoundary } from '@/look/Tile';
import { WIDGETS } from '@/widgets';
import { STOPS, type Stop } from './tour/story';

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
          <a href="/" onClick={(event) => follow(event, '/')} className="rounded-lg bg-accent px-3 py-1.5 text-sm font-semibold text-on-accent">To the live race</a>
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
  const { off } = useRaceSettings();
  return (
    <article className="panel space-y-4 p-6" aria-live="polite">
      <h2 className="text-2xl font-semibold">{stop.title}</h2>
      {stop.text.map((paragraph) => <p key={paragraph} className="text-[1.05rem] leading-relaxed">{paragraph}</p>)}
      {number === 1 && <Kitchen />}
      {stop.act && (
        <div className="space-y-2 rounded-xl border border-edge bg-well p-4">
          <p className="flex items-center gap-2 text-sm font-semibold"><FlaskConical size={15} aria-hidden="true" /> Try it</p>
          <Button kind="main" disabled={off} onClick={() => void stop.act!.run()}>{stop.act.label}</Button>
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
