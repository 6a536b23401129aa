/** Who ran what: a lane for each device, with idle gaps on the left of now and queued work on its right. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type RefObject } from 'react';
import { ChartNoAxesGantt } from 'lucide-react';
import { Chip, EmptyState, Select } from '@/components/controls';
import { Tile } from '@/components/Panel';
import { SchedulerSelect } from '@/components/Scheduler';
import type { Race, Span } from '@/live/state';
import { useRace } from '@/live/store';
import { resolveScheduler, usePreferences } from '@/state/preferences';
import { setQuery } from '@/state/router';
import { schedulerStyle } from '@/theme/schedulers';
import { deviceColour, useTheme, type Theme } from '@/theme/theme';
import { formatDevice, formatNumber, formatPercent, formatSeconds, formatSeconds as written } from '@/utils/format';
import { useSize } from '@/utils/hooks';
import { buildLanes, dropRoundoff, durationLimits, findSpan, makeView, moveSelection, summarizeLanes, timeToPosition, WINDOWS, type Lane, type Limits, type SelectedSpan, type View } from './lanes';
import { AXIS_HEIGHT, drawLanes, rowHeight, SHADES, type LanesDrawing } from './lanesCanvas';

const MIN_ROW = 26;
/** A span that is this near to the pointer is meant, for many are thinner than a pixel. */
const SLACK_PIXELS = 4;

export function DeviceLanes() {
  const [chosenSpan, setSpan] = useState<number | null>(null);
  const [picked, pick] = useState<SelectedSpan | null>(null);
  const [hovered, setHovered] = useState(false);
  const paused = hovered || picked !== null;
  const race = useRace((each) => each, 'frame', paused);
  const span = chosenSpan ?? (race.frame?.measured ? 1 : 10);
  const wanted = usePreferences((state) => state.scheduler);
  const name = resolveScheduler(wanted, race.frame?.schedulers.map((each) => each.name) ?? []);
  const seen = useMemo(() => buildLaneView(race, name, span), [race, name, span]);
  const sampled = race.frame !== null && race.frame.spans_total > race.frame.spans.length;
  return (
    <Tile
      title="Device lanes"
      icon={<ChartNoAxesGantt size={15} />}
      subtitle={paused ? 'paused while you look' : race.frame?.measured ? 'who ran what, measured seconds' : 'who ran what, simulated time'}
      actions={
        <>
          {sampled && <Chip tone="warn" title="The race is faster than the page: not every span is sent, so a gap may be work">sampled</Chip>}
          <Select aria-label="Seconds to show" value={span} onChange={(event) => setSpan(Number(event.target.value))}>
            {WINDOWS.map((each) => <option key={each} value={each}>{each} s</option>)}
          </Select>
          <SchedulerSelect />
        </>
      }
    >
      {seen.lanes.length ? (
        <div className="flex h-full flex-col gap-1" onMouseEnter={() => setHovered(true)} onMouseLeave={() => setHovered(false)}>
          <LaneLegend limits={seen.limits} />
          <LaneChart race={race} name={name} {...seen} picked={picked} pick={pick} />
        </div>
      ) : (
        <EmptyState title="No devices yet" />
      )}
    </Tile>
  );
}

interface LaneView {
  lanes: Lane[];
  view: View;
  limits: Limits;
}

function buildLaneView(race: Race, name: string, span: number): LaneView {
  const view = makeView(race.frame?.sim_time ?? 0, span);
  const spans = race.spans[name] ?? [];
  const busy = race.frame?.schedulers.find((each) => each.name === name)?.utilisation ?? [];
  return { lanes: buildLanes({ devices: race.frame?.devices ?? [], spans, busy, marks: race.marks, view }), view, limits: durationLimits(spans) };
}

function LaneLegend({ limits: [low, high] }: { limits: Limits }) {
  const theme = useTheme((state) => state.theme);
  const upTo = (limit: number) => `up to ${written(limit).replace(/\.0+ /, ' ')}`;
  const words = [`short, ${upTo(low)}`, `medium, ${upTo(high)}`, 'long'];
  const swatch = 'h-2.5 w-4 rounded-[3px]';
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-3 gap-y-0.5 text-xs text-quiet">
      {words.map((word, i) => (
        <li key={i} className="flex items-center gap-1 whitespace-nowrap">
          <span aria-hidden="true" className={swatch} style={{ background: deviceColour('gpu', 1, 3, theme), opacity: SHADES[theme][i] }} />
          {word}
        </li>
      ))}
      <li className="flex items-center gap-1 whitespace-nowrap">
        <span aria-hidden="true" className={`${swatch} border border-dashed border-quiet`} />queued
      </li>
    </ul>
  );
}

interface LaneChartProps extends LaneView {
  race: Race;
  name: string;
  picked: SelectedSpan | null;
  pick: (picked: SelectedSpan | null) => void;
}

function LaneChart({ race, name, lanes, view, limits, picked, pick }: LaneChartProps) {
  const theme = useTheme((state) => state.theme);
  const [box, size] = useSize();
  const [under, setUnder] = useState<SelectedSpan | null>(null);
  const canvas = useRef<HTMLCanvasElement | null>(null);
  const height = Math.max(size.height, lanes.length * MIN_ROW + AXIS_HEIGHT);
  const shown = picked ?? under;
  const colours = laneColours(lanes, theme);
  const picture: LanesDrawing = { lanes, view, limits, colours, picked: shown, theme, width: size.width, height };
  useCanvas(canvas, picture);
  const open = (at: SelectedSpan | null) => at && setQuery('task', String(at.span.task));
  const onMouseMove = (event: MouseEvent<HTMLCanvasElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const row = Math.floor((event.clientY - top) / rowHeight(picture));
    setUnder(findSpan(lanes, view, row, (event.clientX - left) / size.width, SLACK_PIXELS / size.width));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') return open(picked);
    if (event.key === 'Escape') return pick(null);
    if (!/^(Arrow|Home$|End$)/.test(event.key)) return;
    event.preventDefault();
    pick(moveSelection(lanes, picked, event.key, view));
  };
  return (
    <div className="flex min-h-0 flex-1 overflow-y-auto">
      <LaneNames lanes={lanes} colours={colours} height={height} />
      <div ref={box} className="relative min-w-0 flex-1">
        <canvas
          ref={canvas}
          role="application"
          aria-roledescription="timeline"
          aria-label={`${summarizeLanes(lanes, view, schedulerStyle(name).label)} Arrow keys walk over the spans, Enter tells why.`}
          tabIndex={0}
          className={`absolute top-0 left-0 w-full -outline-offset-2 ${under ? 'cursor-pointer' : ''}`}
          style={{ height }}
          onMouseMove={onMouseMove}
          onMouseLeave={() => setUnder(null)}
          onClick={() => open(under)}
          onKeyDown={onKeyDown}
          onBlur={() => pick(null)}
        />
        <div aria-live="polite">
          {shown && <LaneTooltip picked={shown} lane={lanes[shown.row]} view={view} race={race} scheduler={name} width={size.width} rowHigh={rowHeight(picture)} height={height} />}
        </div>
      </div>
    </div>
  );
}

function laneColours(lanes: readonly Lane[], theme: Theme): string[] {
  const gpus = lanes.filter((lane) => lane.device.kind === 'gpu').length;
  return lanes.map(({ device }, i) => deviceColour(device.kind, i - (lanes.length - gpus), gpus, theme));
}

function useCanvas(canvas: RefObject<HTMLCanvasElement | null>, picture: LanesDrawing): void {
  useEffect(() => {
    const node = canvas.current;
    const pen = node?.getContext('2d');
    if (!node || !pen || picture.width < 20) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(picture.width * ratio), Math.round(picture.height * ratio)];
    // Setting a size clears the canvas and its memory, so only when it has changed.
    if (node.width !== width || node.height !== height) [node.width, node.height] = [width, height];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawLanes(pen, picture);
  });
}

function LaneNames({ lanes, colours, height }: { lanes: readonly Lane[]; colours: readonly string[]; height: number }) {
  const high = rowHeight({ lanes, height });
  const narrow = high < 36;
  return (
    <ul className={`${lanes.some((lane) => lane.device.name.endsWith(')')) ? 'w-36' : 'w-24'} shrink-0 pr-2 text-xs`} style={{ height }}>
      {lanes.map((lane, i) => (
        <li key={lane.device.index} className={`flex min-w-0 justify-center leading-tight ${narrow ? 'flex-row items-center justify-between gap-1' : 'flex-col'}`} style={{ height: high }}>
          <span className="flex items-center gap-1 truncate font-semibold">
            <span aria-hidden="true" className="size-2 shrink-0 rounded-[3px]" style={{ background: colours[i] }} />
            {formatDevice(lane.device)}
          </span>
          <span className={`num whitespace-nowrap ${lane.device.failed ? 'text-warn' : 'text-quiet'}`}>
            {lane.device.failed ? 'failed' : `${formatPercent(lane.busy)}${narrow ? '' : ' busy'}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface LaneTooltipProps {
  picked: SelectedSpan;
  lane: Lane | undefined;
  view: View;
  race: Race;
  scheduler: string;
  width: number;
  rowHigh: number;
  height: number;
}

/** What is known of the span under the pointer or the keyboard. */
function LaneTooltip({ picked: { row, span }, lane, view, race, scheduler, width, rowHigh, height }: LaneTooltipProps) {
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
function spanFacts(span: Span, lane: Lane, view: View, race: Race, scheduler: string): [string, string][] {
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
