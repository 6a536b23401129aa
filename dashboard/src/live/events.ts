/** What happened in the race between two frames, as lines of the log. */
import type { SchedulerFigures, SimulationUpdate } from './messages';

export interface LogLine {
  id: number;
  time: number;
  level: string;
  source: string;
  message: string;
}

type EventText = [level: string, message: string];

/** Compare two frames of one run; `before` is null for the first. */
export function detectEvents(before: SimulationUpdate | null, frame: SimulationUpdate): LogLine[] {
  const texts = before ? [...compareRun(before, frame), ...frame.schedulers.flatMap((now) => compareScheduler(before, now))] : describeStart(frame);
  return texts.map(([level, message], i) => ({ id: frame.seq + i / 100, time: frame.time, level, source: 'race', message }));
}

function describeStart(frame: SimulationUpdate): EventText[] {
  return [['info', `run ${frame.run_id ?? '–'}: ${frame.schedulers.length} schedulers on ${frame.devices.length} devices, at task ${frame.tasks_processed}`]];
}

function compareRun(before: SimulationUpdate, frame: SimulationUpdate): EventText[] {
  const lines: EventText[] = [];
  if (before.state !== frame.state) lines.push([frame.state === 'failed' ? 'error' : 'info', `the race is ${frame.state}`]);
  for (const device of frame.devices) {
    const old = before.devices.find((each) => each.name === device.name);
    if (old && old.failed !== device.failed) lines.push(device.failed ? ['warning', `${device.name} has failed: its tasks are rescheduled`] : ['info', `${device.name} is back`]);
  }
  return lines;
}

function compareScheduler(before: SimulationUpdate, now: SchedulerFigures): EventText[] {
  const old = before.schedulers.find((each) => each.name === now.name);
  if (!old) return [['info', `${now.name} joins the race`]];
  const lines: EventText[] = [];
  if (now.saturated && !old.saturated) lines.push(['warning', `${now.name} is saturated: ${now.backlog?.toFixed(1) ?? '–'} s of work wait before the mean device`]);
  if (!now.saturated && old.saturated) lines.push(['info', `${now.name} keeps up again`]);
  if (countDigits(now.rejected) > countDigits(old.rejected)) lines.push(['warning', `${now.name} has rejected ${now.rejected} tasks so far`]);
  if (now.restarts > old.restarts) lines.push(['info', `${now.name} rescheduled ${now.restarts - old.restarts} tasks`]);
  return lines;
}

/** A full queue rejects tasks in every frame: the log mentions it once per power of ten. */
const countDigits = (count: number): number => (count > 0 ? String(count).length : 0);
