import { resolveScheduler, usePreferences } from '@/app/choices';
import { useRace } from '@/live/store';
import { Select } from '@/look/parts';
import { schedulerStyle } from '@/look/schedulers';

/** Whose lanes and ledger are shown: one choice for the whole page. */
export function SchedulerSelect() {
  const { scheduler, selectScheduler } = usePreferences();
  const names = useRace((race) => race.frame?.schedulers.map((each) => each.name).join('\n') ?? '', 'read').split('\n').filter(Boolean);
  return (
    <Select aria-label="Scheduler" value={resolveScheduler(scheduler, names)} onChange={(event) => selectScheduler(event.target.value)}>
      {names.map((name) => <option key={name} value={name}>{schedulerStyle(name).label}</option>)}
    </Select>
  );
}
