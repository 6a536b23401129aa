import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { applyGlass, canBlur } from './glass';

test.each([
  ['a graphics card', false, 'ANGLE (NVIDIA GeForce RTX 3060)', true],
  ['a phone', true, 'Adreno (TM) 640', false],
  ['a processor that plays a graphics card', false, 'ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device), SwiftShader driver)', false],
  ['another one', false, 'llvmpipe (LLVM 15.0.7, 256 bits)', false],
  ['no graphics at all', false, null, false],
])('%s', (_what, touch, renderer, blurred) => {
  expect(canBlur(touch, renderer)).toBe(blurred);
});

test('without graphics panels are clear, not blurred', () => {
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  const root = document.createElement('html');
  applyGlass(root);
  expect(root.dataset.glass).toBe('clear');
});

type Colour = [number, number, number];
const css = readFileSync(join(import.meta.dirname, 'theme.css'), 'utf-8');
const parse = (hex: string): Colour => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Colour;
const over = (top: Colour, share: number, below: Colour): Colour => top.map((value, i) => value * share + below[i]! * (1 - share)) as Colour;

function luminance(colour: Colour): number {
  const [r, g, b] = colour.map((each) => (each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4)) as Colour;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: Colour, b: Colour): number {
  const [low, high] = [luminance(a), luminance(b)].toSorted((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** The checker of the pages cannot look through glass, so the worst case is reckoned: every glow at its centre, all in one place. */
test.each([['dark', ':root {'], ['light', ":root[data-theme='light'] {"]])('text on glass is readable over the strongest glow: %s', (_theme, selector) => {
  const block = css.slice(css.indexOf(selector)).split('}')[0]!;
  const read = (name: string) => new RegExp(`--${name}: ([^;]+);`).exec(block)![1]!;
  const glows = ['glow', 'glow-accent', 'glow'].map((name) => read(name).split(' ') as [string, string]);
  const behind = glows.reduce((below, [colour, share]) => over(parse(colour), parseFloat(share) / 100, below), parse(read('page')));
  for (const surface of ['panel', 'panel-top']) {
    const glass = over(parse(read(surface)), parseFloat(read('glass')) / 100, behind);
    for (const text of ['ink', 'quiet', 'accent', 'good', 'warn', 'bad']) expect(contrast(parse(read(text)), glass), `${text} on ${surface}`).toBeGreaterThan(4.6);
  }
});
