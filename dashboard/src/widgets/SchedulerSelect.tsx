import { chosen, useChoices } from '@/app/choices';
import { useRace } from '@/live/store';
import { Select } from '@/look/parts';
import { schedulerLook } from '@/look/schedulers';

/** Whose lanes and ledger are shown: one choice for the whole page. */
export function SchedulerSelect() {
  const { scheduler, choose } = useChoices();
  const names = useRace((race) => race.frame?.schedulers.map((each) => each.name).join('\n') ?? '', 'read').split('\n').filter(Boolean);
  return (
    <Select aria-label="Scheduler" value={chosen(scheduler, names)} onChange={(event) => choose(event.target.value)}>
      {names.map((name) => <option key={name} value={name}>{schedulerLook(name).label}</option>)}
    </Select>
  );
}
