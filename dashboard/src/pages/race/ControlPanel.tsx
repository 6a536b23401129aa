/** Everything that can be set, beside the race: nothing covers what the change does to it. */
import { useState, type ReactNode } from 'react';
import { X } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { Button, INPUT_CLASS, Select } from '@/components/controls';
import { SchedulerName } from '@/components/Scheduler';
import { Slider } from '@/components/Slider';
import { useRace } from '@/live/store';
import { changeSettings, start, step, stop, useRaceSettings, type Settings } from '@/state/commands';
import { TryTaskForm } from '@/widgets/TryTask';
import { GpuSwitches, LoadSlider, PaceSelect, WorkloadSelect } from './ControlStrip';
import { SHORTCUTS } from './shortcuts';

export function ControlPanel({ onClose }: { onClose: () => void }) {
  const { settings, disabled } = useRaceSettings();
  return (
    <aside aria-label="All controls" className="panel floating fixed inset-x-2 bottom-2 z-20 max-h-[60dvh] overflow-y-auto sm:inset-x-auto sm:top-16 sm:right-3 sm:max-h-none sm:w-[22rem]" onKeyDown={(event) => event.key === 'Escape' && onClose()}>
      <header className="sticky top-0 z-10 flex items-center border-b border-edge bg-panel px-4 py-2.5">
        <h2 className="flex-1 font-semibold">All controls</h2>
        <Button kind="bare" aria-label="Close the controls" autoFocus onClick={onClose}><X size={16} aria-hidden="true" /></Button>
      </header>
      {settings ? <ControlGroups settings={settings} disabled={disabled} /> : <p className="p-4 text-sm text-quiet">No race yet: start one, then everything here can be changed while it runs.</p>}
    </aside>
  );
}

function ControlGroups({ settings, disabled }: { settings: Settings; disabled: boolean }) {
  const rate = useRace((race) => race.frame?.arrival_rate ?? null, 'read');
  return (
    <div className="divide-y divide-edge">
      <Group title="Load and workload">
        <LoadSlider settings={settings} rate={rate} disabled={disabled} />
        <LoadOrRate settings={settings} rate={rate} disabled={disabled} />
        <WorkloadSelect settings={settings} disabled={disabled} />
        <Row label="Speed"><PaceSelect settings={settings} disabled={disabled} /></Row>
      </Group>
      <Group title="What counts">
        <Slider label="Energy weight" hint="0: only time counts, 1: only energy" value={settings.energy_weight} min={0} max={1} step={0.05} format={(value) => value.toFixed(2)} disabled={disabled} onCommit={(next) => void changeSettings(`Energy weight ${next.toFixed(2)}`, { energy_weight: next })} />
      </Group>
      <Group title="Devices">
        {settings.backend === 'simulated' ? (
          <Slider label="Number of GPUs" value={settings.num_gpus} min={0} max={16} step={1} format={String} disabled={disabled} onCommit={(next) => void changeSettings(`${next} GPUs`, { num_gpus: next })} />
        ) : (
          <p className="text-sm text-quiet">Tasks really run here: the devices are those the server was started with. A GPU that is switched off is not used.</p>
        )}
        <GpuSwitches settings={settings} disabled={disabled} most={64} />
        <QueueLimit settings={settings} disabled={disabled} />
      </Group>
      <Group title="Who races"><SchedulerCheckboxes settings={settings} disabled={disabled} /></Group>
      <Group title="Step and run"><StepControls disabled={disabled} seed={settings.seed} /></Group>
      <Group title="A task by hand"><TryTaskForm /></Group>
      <Group title="Keys">
        <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-sm">
          {SHORTCUTS.map(([key, what]) => (
            <div key={key} className="contents"><dt><kbd className="num rounded border border-edge px-1.5">{key}</kbd></dt><dd className="text-quiet">{what}</dd></div>
          ))}
        </dl>
      </Group>
    </div>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="space-y-2.5 px-4 py-3">
      <legend className="float-left mb-2 w-full text-xs font-semibold tracking-wide text-quiet uppercase">{title}</legend>
      <div className="clear-both space-y-2.5">{children}</div>
    </fieldset>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }) {
  return <label className="flex items-center justify-between gap-3 text-sm"><span className="text-quiet">{label}</span>{children}</label>;
}

/** Tasks come by a share of what the cluster can do, or at a rate that stays when the cluster changes. */
function LoadOrRate({ settings, rate, disabled }: { settings: Settings; rate: number | null; disabled: boolean }) {
  const byLoad = settings.load !== null;
  const turn = () => (byLoad ? changeSettings('Tasks come at a fixed rate', { rate: Math.round(rate ?? 10) }) : changeSettings('Tasks come by offered load', { load: 0.9 }));
  return <Button kind="bare" disabled={disabled} onClick={() => void turn()}>{byLoad ? 'Use a fixed rate instead' : 'Use offered load instead'}</Button>;
}

const QUEUE_LIMITS = [null, 10, 50, 200, 1000];

function QueueLimit({ settings, disabled }: { settings: Settings; disabled: boolean }) {
  const limits = QUEUE_LIMITS.includes(settings.max_queue) ? QUEUE_LIMITS : [settings.max_queue, ...QUEUE_LIMITS];
  return (
    <Row label="Longest queue, further tasks are rejected">
      <Select value={String(settings.max_queue)} disabled={disabled} onChange={(event) => void changeSettings(`Longest queue: ${event.target.value === 'null' ? 'any' : event.target.value}`, { max_queue: event.target.value === 'null' ? null : Number(event.target.value) })}>
        {limits.map((most) => <option key={String(most)} value={String(most)}>{most === null ? 'any' : `${most} tasks`}</option>)}
      </Select>
    </Row>
  );
}

function SchedulerCheckboxes({ settings, disabled }: { settings: Settings; disabled: boolean }) {
  const { data, problem } = useFetch<Schemas['SchedulerEntry'][]>('/api/schedulers');
  if (problem) return <p className="text-sm text-bad">{problem.message}</p>;
  const toggle = (name: string, joins: boolean) =>
    void changeSettings(`${name} ${joins ? 'joins the race' : 'has left'}`, { schedulers: joins ? [...settings.schedulers, name] : settings.schedulers.filter((each) => each !== name) });
  return (
    <ul className="space-y-1 text-sm">
      {data?.map(({ name, summary }) => (
        <li key={name}>
          <label className="flex items-start gap-2" title={summary}>
            <input type="checkbox" className="mt-1 accent-[var(--accent)]" checked={settings.schedulers.includes(name)} disabled={disabled || (settings.schedulers.length === 1 && settings.schedulers[0] === name)} onChange={(event) => toggle(name, event.target.checked)} />
            <span><SchedulerName name={name} /> <span className="text-xs text-quiet">{summary}</span></span>
          </label>
        </li>
      ))}
    </ul>
  );
}

function StepControls({ disabled, seed }: { disabled: boolean; seed: number }) {
  const state = useRace((race) => race.frame?.state, 'read');
  const [tasks, setTasks] = useState(10);
  const [nextSeed, setNextSeed] = useState(seed + 1);
  const again = async () => {
    if (state !== 'stopped' && state !== 'failed') await stop();
    await start({ seed: nextSeed });
  };
  return (
    <div className="space-y-2 text-sm">
      <div className="flex items-center gap-2">
        <input aria-label="Tasks to step" type="number" min={1} max={10000} className={INPUT_CLASS} value={tasks} onChange={(event) => setTasks(Math.max(1, Math.min(10000, Number(event.target.value) || 1)))} />
        <Button disabled={disabled || state !== 'paused'} title={state === 'paused' ? '' : 'Pause first'} onClick={() => void step(tasks)}>Step</Button>
      </div>
      <div className="flex items-center gap-2">
        <input aria-label="Seed of the new run" type="number" min={0} className={INPUT_CLASS} value={nextSeed} onChange={(event) => setNextSeed(Math.max(0, Math.floor(Number(event.target.value) || 0)))} />
        <Button onClick={() => void again()}>New run with this seed</Button>
      </div>
    </div>
  );
}
