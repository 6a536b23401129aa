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

export function sparkPath(values: number[], width: number, height: number): string {
  const points = values.filter(Number.isFinite);
  if (points.length < 2) return '';
  const low = Math.min(...points);
  const spread = Math.max(...points) - low || 1;
  const x = (i: number) => ((i / (points.length - 1)) * width).toFixed(1);
  const y = (value: number) => (height - 2 - ((value - low) / spread) * (height - 4)).toFixed(1);
  return points.map((value, i) => `${i ? 'L' : 'M'}${x(i)} ${y(value)}`).join('');
}
