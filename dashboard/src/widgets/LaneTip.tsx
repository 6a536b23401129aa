/** What is known of the span under the pointer or the keyboard. */
import type { Race, Span } from '@/live/state';
import { formatNumber, formatPercent, formatSeconds } from '@/look/format';
import { formatDevice } from './devices';
import { timeToPosition, dropRoundoff, type Lane, type SelectedSpan, type View } from './lanes';

export interface LaneTooltipProps {
  picked: SelectedSpan;
  lane: Lane | undefined;
  view: View;
  race: Race;
  scheduler: string;
  width: number;
  rowHigh: number;
  height: number;
}

export function LaneTooltip({ picked: { row, span }, lane, view, race, scheduler, width, rowHigh, height }: LaneTooltipProps) {
  if (!lane) return null;
  const middle = Math.min(1, Math.max(0, timeToPosition(view, (span.start + span.end) / 2)));
  const below = row * rowHigh < height / 2;
  return (
    <dl
      className="pointer-events-none absolute z-10 grid grid-cols-[auto_auto] gap-x-3 rounded-lg border border-strong bg-raised px-2.5 py-1.5 text-xs whitespace-nowrap shadow-lg"
      style={{ [middle > 0.5 ? 'right' : 'left']: middle > 0.5 ? (1 - middle) * width + 8 : middle * width + 8, [below ? 'top' : 'bottom']: below ? (row + 1) * rowHigh + 3 : height - row * rowHigh + 3 }}
    >
      {spanFacts(span, lane, view, race, scheduler).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{name}</dt>
          <dd className="num text-right">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Shares and sizes are those of the ledger's tasks; of older ones only the times are known. */
export function spanFacts(span: Span, lane: Lane, view: View, race: Race, scheduler: string): [string, string][] {
  const record = race.records.findLast((each) => each.task_id === span.task);
  const share = record?.results[scheduler]?.gpu_fraction ?? null;
  const here = share === null ? null : lane.device.kind === 'gpu' ? share : 1 - share;
  const facts: [string, string][] = [
    ['task', `#${span.task} on ${formatDevice(lane.device)}`],
    ['start', `${formatOffset(dropRoundoff(span.start - view.now))}, at ${span.start.toFixed(2)} s`],
    ['length', formatSeconds(span.end - span.start)],
    ['share here', formatPercent(here)],
  ];
  if (record) facts.push(['size', formatNumber(record.size)], ['intensity', record.compute_intensity.toFixed(2)]);
  if (span.attempt > 1) facts.push(['attempt', String(span.attempt)]);
  return facts;
}

const formatOffset = (value: number): string => (value < 0 ? `−${formatSeconds(-value)}` : `+${formatSeconds(value)}`);
