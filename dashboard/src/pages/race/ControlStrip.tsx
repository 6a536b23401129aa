/** What people want to turn while they watch: load, speed, workload, and GPUs that fail. */
import { Shuffle, SlidersHorizontal } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { Button, Select } from '@/components/controls';
import { Slider } from '@/components/Slider';
import { useRace } from '@/live/store';
import { changeSettings, useRaceSettings, type Settings } from '@/state/commands';
import { formatNumber } from '@/utils/format';

const PACES: (number | null)[] = [1, 5, 20, 50, 100, 500, 2000, null];
export const formatPace = (pace: number | null): string => (pace === null ? 'full speed' : `${formatNumber(pace, 2).replace(/\.0+$/, '')} tasks/s`);

/** Where "shift now" leads: work that wants the other kind of device. */
const SHIFTS: Record<string, string> = { cpu_friendly: 'gpu_friendly', gpu_friendly: 'cpu_friendly', long_tail: 'cpu_friendly' };
export const oppositePreset = (preset: string): string => SHIFTS[preset] ?? 'cpu_friendly';

export function ControlStrip({ open, onMore }: { open: boolean; onMore: () => void }) {
  const { settings, disabled } = useRaceSettings();
  const rate = useRace((race) => race.frame?.arrival_rate ?? null, 'read');
  if (!settings) return null;
  return (
    <section aria-label="Conditions of the race" className="panel flex flex-wrap items-center gap-x-5 gap-y-2 px-3.5 py-2">
      <LoadSlider settings={settings} rate={rate} disabled={disabled} />
      <label className="flex items-center gap-2 text-sm">
        <span className="text-quiet">Speed</span>
        <PaceSelect settings={settings} disabled={disabled} />
      </label>
      <WorkloadSelect settings={settings} disabled={disabled} />
      <Button disabled={disabled} title={`The work changes at once to ${oppositePreset(settings.preset)}`} onClick={() => void changeSettings(`Shifted to ${oppositePreset(settings.preset)}`, { preset: oppositePreset(settings.preset) })}>
        <Shuffle size={14} aria-hidden="true" /> Shift now
      </Button>
      <GpuSwitches settings={settings} disabled={disabled} most={8} />
      <Button aria-expanded={open} onClick={onMore} className="ml-auto">
        <SlidersHorizontal size={14} aria-hidden="true" /> All controls
      </Button>
    </section>
  );
}

/** Offered load: above 1 nobody can keep up; well below it the simple rules fall over already. */
export function LoadSlider({ settings, rate, disabled }: { settings: Settings; rate: number | null; disabled: boolean }) {
  if (settings.load === null) {
    return <Slider label="Rate" className="w-72" value={settings.rate ?? 1} min={1} max={200} step={1} format={(value) => `${formatNumber(value)} tasks/s`} disabled={disabled} onCommit={(next) => void changeSettings(`Rate ${formatNumber(next)} tasks/s`, { rate: next })} />;
  }
  return (
    <Slider
      label="Offered load"
      className="w-80 max-w-full"
      hint={`1 is all that the cluster can do at best${rate === null ? '' : `; now ${formatNumber(rate)} tasks per second of the race`}`}
      value={settings.load}
      min={0.05}
      max={1.5}
      step={0.05}
      format={(value) => value.toFixed(2)}
      disabled={disabled}
      onCommit={(next) => void changeSettings(`Offered load ${next.toFixed(2)}`, { load: next })}
    />
  );
}

export function PaceSelect({ settings, disabled }: { settings: Settings; disabled: boolean }) {
  const paces = PACES.includes(settings.pace) ? PACES : [settings.pace, ...PACES];
  return (
    <Select
      aria-label="Speed"
      value={String(settings.pace)}
      disabled={disabled}
      onChange={(event) => {
        const pace = event.target.value === 'null' ? null : Number(event.target.value);
        void changeSettings(`Speed: ${formatPace(pace)}`, { pace });
      }}
    >
      {paces.map((pace) => <option key={String(pace)} value={String(pace)}>{formatPace(pace)}</option>)}
    </Select>
  );
}


export function WorkloadSelect({ settings, disabled }: { settings: Settings; disabled: boolean }) {
  const choices = useFetch<Schemas['SettingsAnswer']>('/api/simulation/settings').data?.choices;
  const current = settings.preset.replace(/@.*$/, ''); // of an uploaded file the race notes the digest too
  const presets = choices?.presets ?? [];
  const names = presets.includes(current) ? presets : [current, ...presets];
  return (
    <label className="flex items-center gap-2 text-sm">
      <span className="text-quiet">Workload</span>
      <Select value={current} disabled={disabled} onChange={(event) => void changeSettings(`Workload ${event.target.value}`, { preset: event.target.value })}>
        {names.map((name) => <option key={name} value={name}>{name}</option>)}
      </Select>
    </label>
  );
}

/** A switch for each GPU: off means it has failed and its tasks are rescheduled. */
export function GpuSwitches({ settings, disabled, most }: { settings: Settings; disabled: boolean; most: number }) {
  const failed = new Set(settings.failed_gpus);
  const gpus = Array.from({ length: Math.min(most, settings.num_gpus) }, (_, gpu) => gpu);
  const toggle = (gpu: number) => {
    const broken = failed.has(gpu);
    const next = broken ? settings.failed_gpus.filter((each) => each !== gpu) : [...settings.failed_gpus, gpu];
    void changeSettings(broken ? `GPU ${gpu} is back` : `GPU ${gpu} has failed`, { failed_gpus: next });
  };
  return (
    <div role="group" aria-label="GPUs: switch one off to let it fail" className="flex flex-wrap items-center gap-1 text-sm">
      <span className="mr-1 text-quiet">GPUs</span>
      {gpus.map((gpu) => (
        <Button
          key={gpu}
          role="switch"
          aria-checked={!failed.has(gpu)}
          aria-label={`GPU ${gpu}`}
          disabled={disabled}
          title={failed.has(gpu) ? `Restore GPU ${gpu}` : `Let GPU ${gpu} fail`}
          onClick={() => toggle(gpu)}
          className={`num min-w-9 ${failed.has(gpu) ? 'border-bad/60 text-bad line-through' : ''}`}
        >
          {gpu}
        </Button>
      ))}
      {settings.num_gpus > most && <span className="text-xs text-quiet">+{settings.num_gpus - most}</span>}
    </div>
  );
}
