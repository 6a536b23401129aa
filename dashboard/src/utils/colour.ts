/** Colours as numbers: mixing them, and text that can be read on them. */

export type Rgb = readonly [number, number, number];

export function parseHex(hex: string): Rgb {
  const all = parseInt(hex.slice(1), 16);
  return [all >> 16, (all >> 8) & 255, all & 255];
}

export const toCss = (colour: Rgb): string => `rgb(${colour.join(' ')})`;

/** A colour on the way through the stops; 0 is the first, 1 the last. */
export function mixColours(stops: readonly Rgb[], share: number): Rgb {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const first = Math.min(stops.length - 2, Math.floor(at));
  const [a, b] = [stops[first]!, stops[first + 1]!];
  const between = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * (at - first));
  return [between(0), between(1), between(2)];
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Contrast as WCAG counts it, 1 to 21. */
export function contrastRatio(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const [BLACK, WHITE] = [parseHex('#000000'), parseHex('#ffffff')];

/** Letters on a colour: one of the two always has a contrast of 4.58 or more. */
export const textColourOn = (colour: Rgb): string => (contrastRatio(colour, BLACK) >= contrastRatio(colour, WHITE) ? '#000' : '#fff');
