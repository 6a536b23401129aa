import type { Schemas } from '@/api/client';
import type { FetchResult } from '@/api/useGet';
import { Button } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { AsyncContent, Skeleton } from '../parts/Asked';

type SchedulerEntry = Schemas['SchedulerEntry'];

/** Checkboxes of all schedulers of the server, with what each does. */
export function SchedulerPicker({ answer, chosen, onChange }: { answer: FetchResult<SchedulerEntry[]>; chosen: string[]; onChange: (names: string[]) => void }) {
  return (
    <AsyncContent answer={answer} skeleton={<Skeleton heights={Array<string>(10).fill('h-9')} label="Loading the schedulers" />}>
      {(entries) => (
        <fieldset>
          <legend className="sr-only">Schedulers</legend>
          <p className="mb-2 flex gap-2">
            <Button onClick={() => onChange(entries.filter((each) => each.featured).map((each) => each.name))}>The usual ones</Button>
            <Button onClick={() => onChange(entries.map((each) => each.name))}>All</Button>
            <Button onClick={() => onChange([])}>None</Button>
          </p>
          <ul className="space-y-0.5">
            {entries.map((entry) => (
              <li key={entry.name}><SchedulerOption entry={entry} on={chosen.includes(entry.name)} onChange={(on) => onChange(entries.map(({ name }) => name).filter((name) => (name === entry.name ? on : chosen.includes(name))))} /></li>
            ))}
          </ul>
        </fieldset>
      )}
    </AsyncContent>
  );
}

function SchedulerOption({ entry, on, onChange }: { entry: SchedulerEntry; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="flex items-start gap-2.5 rounded-lg px-1.5 py-1.5 hover:bg-raised">
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-[var(--accent)]" checked={on} onChange={(event) => onChange(event.target.checked)} aria-describedby={`about-${entry.name}`} />
      <span className="min-w-0 text-sm">
        <SchedulerName name={entry.name} />
        <span id={`about-${entry.name}`} className="block text-xs text-quiet">{entry.summary}{entry.sighted === 'yes' ? '; knows the times beforehand' : ''}</span>
      </span>
    </label>
  );
}
