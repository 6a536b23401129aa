/** Small pieces of charts: sparkline, colour legend, tooltip, hatching. */
import type { ReactNode } from 'react';
import { mixColours, toCss, type Rgb } from '@/utils/colour';

/** A small line without axes; the figure beside it says the value. */
export function Sparkline({ values, colour, width = 110, height = 30 }: { values: number[]; colour: string; width?: number; height?: number }) {
  const path = sparkPath(values, width, height);
  if (!path) return null;
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" className="shrink-0">
      <path d={`${path}V${height}H0Z`} fill={colour} opacity={0.14} />
      <path d={path} fill="none" stroke={colour} strokeWidth={1.5} strokeLinejoin="round" />
    </svg>
  );
}

function sparkPath(values: number[], width: number, height: number): string {
  const points = values.filter(Number.isFinite);
  if (points.length < 2) return '';
  const low = Math.min(...points);
  const spread = Math.max(...points) - low || 1;
  const x = (i: number) => ((i / (points.length - 1)) * width).toFixed(1);
  const y = (value: number) => (height - 2 - ((value - low) / spread) * (height - 4)).toFixed(1);
  return points.map((value, i) => `${i ? 'L' : 'M'}${x(i)} ${y(value)}`).join('');
}

/** What the colours mean, from one end to the other. */
export function ColourRamp({ from, to, stops }: { from: ReactNode; to: ReactNode; stops: readonly Rgb[] }) {
  const colours = [0, 0.25, 0.5, 0.75, 1].map((share) => toCss(mixColours(stops, share)));
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-quiet">
      {from}
      <span className="inline-block h-2 w-14 rounded-full" style={{ background: `linear-gradient(90deg, ${colours.join()})` }} aria-hidden="true" />
      {to}
    </span>
  );
}

/** Pixels that most tips need. */
const TOOLTIP_WIDTH = 230;

/** Lines beside a place in a picture, on the side that has room. The place has its own accessible name, so this is for the eye. */
export function Tooltip({ x, y, width, height, children }: { x: number; y: number; width: number; height: number; children: ReactNode }) {
  const across = x > Math.max(width / 2, width - TOOLTIP_WIDTH) ? { right: width - x + 12 } : { left: x + 12 };
  const down = y > height / 2 ? { bottom: Math.max(0, height - y - 8) } : { top: Math.max(0, y - 8) };
  return (
    <div
      aria-hidden="true"
      data-testid="tip"
      className="pointer-events-none absolute z-10 w-max max-w-64 rounded-lg border border-strong bg-raised px-2.5 py-1.5 text-xs shadow-lg"
      style={{ ...across, ...down }}
    >
      {children}
    </div>
  );
}

/** Lines through a cell in which there is nothing. */
export function HatchPattern({ id }: { id: string }) {
  return (
    <pattern id={id} width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={6} height={6} fill="var(--well)" />
      <line x1={0} y1={0} x2={0} y2={6} stroke="var(--edge-strong)" strokeWidth={1.5} />
    </pattern>
  );
}
