/** Draws the device lanes on a canvas: hundreds of spans are too many nodes. */
import { CHART_COLOURS, type Theme } from '@/theme/theme';
import { axisTicks, describeBacklog, durationClass, timeToPosition, type Lane, type Limits, type SelectedSpan, type View } from './lanes';

export const AXIS_HEIGHT = 22;
const LANE_GAP = 6;
const FONT = '12px "Inter Variable", system-ui, sans-serif';
const NUMBERS = '11px "JetBrains Mono Variable", monospace';

/** How strong short, medium and long spans are painted. */
export const SHADES: Record<Theme, [number, number, number]> = { dark: [0.42, 0.68, 1], light: [0.55, 0.78, 1] };

export interface LanesDrawing {
  lanes: readonly Lane[];
  view: View;
  limits: Limits;
  colours: readonly string[];
  picked: SelectedSpan | null;
  theme: Theme;
  width: number;
  height: number;
}

type Context = CanvasRenderingContext2D;

export const rowHeight = ({ lanes, height }: Pick<LanesDrawing, 'lanes' | 'height'>): number => (height - AXIS_HEIGHT) / Math.max(1, lanes.length);

export function drawLanes(pen: Context, picture: LanesDrawing): void {
  pen.clearRect(0, 0, picture.width, picture.height);
  drawAxis(pen, picture);
  const high = rowHeight(picture);
  picture.lanes.forEach((lane, row) => drawLane(pen, picture, lane, row, row * high + LANE_GAP / 2, high - LANE_GAP));
  drawNow(pen, picture);
  picture.lanes.forEach((lane, row) => drawLabels(pen, picture, lane, (row + 0.5) * high));
}

const timeToX = ({ view, width }: LanesDrawing, time: number): number => Math.min(width, Math.max(0, timeToPosition(view, time) * width));

function drawAxis(pen: Context, { view, width, height, theme }: LanesDrawing): void {
  pen.font = NUMBERS;
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'left';
  const taken: [number, number][] = [];
  // From the right, for now and the future matter most where there is not room for all.
  for (const { place, label } of axisTicks(view).toReversed().toSorted((a, b) => Number(b.label === 'now') - Number(a.label === 'now'))) {
    pen.fillStyle = CHART_COLOURS[theme].grid;
    pen.fillRect(Math.min(width - 1, Math.round(place * width)), 0, 1, height - AXIS_HEIGHT + 3);
    const wide = pen.measureText(label).width;
    const left = Math.min(width - wide, Math.max(0, place * width - wide / 2));
    if (taken.some(([from, to]) => left < to + 6 && left + wide > from - 6)) continue;
    taken.push([left, left + wide]);
    pen.fillStyle = CHART_COLOURS[theme].quiet;
    pen.fillText(label, left, height - 6);
  }
}

function drawLane(pen: Context, picture: LanesDrawing, lane: Lane, row: number, top: number, high: number): void {
  const { theme, width, view } = picture;
  pen.fillStyle = CHART_COLOURS[theme].grid;
  pen.globalAlpha = 0.55;
  pen.fillRect(0, top, width, high);
  pen.globalAlpha = 1;
  const hidden = lane.device.failed ? 0 : timeToX(picture, lane.knownFrom);
  if (hidden > 1) drawHatch(pen, 0, top, hidden, high, CHART_COLOURS[theme].quiet, 0.28, 9);
  if (lane.failedFrom !== null) drawHatch(pen, timeToX(picture, lane.failedFrom), top, width, high, CHART_COLOURS[theme].mark, 0.5, 7);
  for (const span of lane.spans) {
    const [left, right] = [timeToX(picture, span.start), timeToX(picture, Math.min(span.end, lane.failedFrom ?? Infinity))];
    const shade = SHADES[theme][durationClass(span, picture.limits)];
    const now = timeToX(picture, view.now);
    pen.fillStyle = pen.strokeStyle = picture.colours[row] ?? CHART_COLOURS[theme].quiet;
    drawBar(pen, left, Math.min(right, now), top, high, shade);
    drawQueued(pen, Math.max(left, now), right, top, high, shade);
  }
  const { picked } = picture;
  if (picked?.row === row) drawOutline(pen, timeToX(picture, picked.span.start), timeToX(picture, picked.span.end), top, high, CHART_COLOURS[theme].ink);
}

/** Neighbours stay apart, and nothing is too short to be seen. */
function drawBar(pen: Context, left: number, right: number, top: number, high: number, shade: number): void {
  if (right <= left) return;
  const wide = Math.max(1, right - left - 1);
  pen.globalAlpha = shade;
  if (wide < 5) pen.fillRect(left, top, wide, high);
  else {
    pen.beginPath();
    pen.roundRect(left, top, wide, high, 2.5);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

/** Work that has not begun: pale, with an outline. */
function drawQueued(pen: Context, left: number, right: number, top: number, high: number, shade: number): void {
  if (right <= left) return;
  drawBar(pen, left, right, top, high, shade * 0.32);
  if (right - left < 3) return;
  pen.lineWidth = 1;
  pen.setLineDash([2, 2]);
  pen.strokeRect(left + 0.5, top + 0.5, right - left - 1.75, high - 1);
  pen.setLineDash([]);
}

function drawOutline(pen: Context, left: number, right: number, top: number, high: number, colour: string): void {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.strokeRect(left - 1, top - 1, Math.max(3, right - left + 1), high + 2);
}

function drawHatch(pen: Context, left: number, top: number, right: number, high: number, colour: string, strength: number, step: number): void {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, right - left, high);
  pen.clip();
  pen.strokeStyle = colour;
  pen.globalAlpha = strength;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = left - high; x < right; x += step) {
    pen.moveTo(x, top + high);
    pen.lineTo(x + high, top);
  }
  pen.stroke();
  pen.restore();
}

function drawNow(pen: Context, picture: LanesDrawing): void {
  pen.fillStyle = CHART_COLOURS[picture.theme].ink;
  pen.fillRect(Math.round(timeToX(picture, picture.view.now)) - 1, 0, 2, picture.height - AXIS_HEIGHT + 5);
}

function drawLabels(pen: Context, picture: LanesDrawing, lane: Lane, middle: number): void {
  const { theme, width, view } = picture;
  if (lane.failedFrom !== null) return drawLabel(pen, picture, 'failed', (timeToX(picture, lane.failedFrom) + width) / 2, middle, CHART_COLOURS[theme].mark);
  const hidden = timeToX(picture, Math.min(lane.knownFrom, view.now));
  if (hidden > 130) drawLabel(pen, picture, lane.knownFrom > view.to ? 'busy with older tasks' : 'not recorded here', hidden / 2, middle, CHART_COLOURS[theme].quiet);
  const backlog = describeBacklog(lane, view);
  if (backlog) drawLabel(pen, picture, `${backlog} ▸`, width, middle, CHART_COLOURS[theme].mark);
}

/** Words on a ground of their own, so that spans behind them do not matter; kept inside the picture. */
function drawLabel(pen: Context, { theme, width }: LanesDrawing, text: string, centre: number, middle: number, colour: string): void {
  pen.font = FONT;
  const wide = pen.measureText(text).width + 12;
  const left = Math.max(0, Math.min(centre - wide / 2, width - wide - 3));
  pen.fillStyle = CHART_COLOURS[theme].panel;
  pen.fillRect(left, middle - 10, wide, 20);
  pen.fillStyle = colour;
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  pen.fillText(text, left + 6, middle + 0.5);
}
