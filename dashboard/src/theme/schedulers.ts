/** How each scheduler looks: colour, shape, dash and short name. Never colour alone. */
import type { Theme } from './theme';

export type MarkerShape = 'diamond' | 'hexagon' | 'triangle' | 'square' | 'circle' | 'star' | 'cross' | 'pentagon' | 'drop' | 'bar' | 'ring' | 'chevron' | 'arrow' | 'hourglass' | 'slant';

export interface SchedulerStyle {
  label: string;
  short: string;
  kind: string;
  shape: MarkerShape;
  /** Lengths of dashes and gaps of its lines; empty: solid. */
  dash: number[];
  colour: Record<Theme, string>;
  /** Lighter where its colour is too dark for text. */
  text: Record<Theme, string>;
}

function look(label: string, short: string, kind: string, shape: MarkerShape, dash: number[], dark: string, light: string, text = dark): SchedulerStyle {
  return { label, short, kind, shape, dash, colour: { dark, light }, text: { dark: text, light } };
}

const KNOWN: Record<string, SchedulerStyle> = {
  hybrid_ml: look('Hybrid ML', 'ML', 'learns: forest', 'diamond', [], '#0fd7ff', '#0b7a96'),
  rl_agent: look('RL agent', 'RL', 'learns: agent', 'hexagon', [10, 3], '#9e66ff', '#6a35d0', '#c3a3ff'),
  greedy: look('Greedy', 'GRD', 'rule', 'triangle', [6, 4], '#e8d030', '#7d6500'),
  round_robin: look('Round robin', 'RR', 'rule', 'square', [2, 3], '#d47454', '#a8431f', '#e08a6c'),
  random: look('Random', 'RND', 'chance', 'circle', [1, 4], '#8d97a5', '#586475', '#a6afbc'),
  oracle: look('Oracle', 'ORC', 'sees all times', 'star', [8, 3, 2, 3], '#f8fafc', '#101a2b'),
};

/** For references and plug-ins. */
const NEXT: [MarkerShape, string, string][] = [
  ['cross', '#5ee6a8', '#0c6b45'],
  ['pentagon', '#ff9ecb', '#a3216b'],
  ['drop', '#ffb454', '#8a4f00'],
  ['bar', '#7aa8ff', '#1f4fb0'],
  ['ring', '#d0e86a', '#566600'],
  ['chevron', '#ff8f8f', '#a92222'],
  ['arrow', '#a5f3fc', '#155e75'],
  ['hourglass', '#e3b5ff', '#7a2fa0'],
  ['slant', '#cdb891', '#6b4f1d'],
];
/** References keep their looks; plug-ins get the next ones in the order in which they are met. */
const REFERENCES = ['eft', 'price', 'min_min', 'max_min', 'sufferage', 'heft', 'peft'];
const met = new Map<string, SchedulerStyle>();

export function schedulerStyle(name: string): SchedulerStyle {
  const known = KNOWN[name] ?? met.get(name);
  if (known) return known;
  const reference = REFERENCES.indexOf(name);
  const number = reference >= 0 ? reference : REFERENCES.length + [...met.keys()].filter((each) => !REFERENCES.includes(each)).length;
  const [shape, dark, light] = NEXT[number % NEXT.length]!;
  const dash = [4 + 2 * (number % 3), 2 + (number % 2) * 2];
  const made = look(words(name), initials(name), reference >= 0 ? 'rule, sees all times' : 'plug-in', shape, dash, dark, light);
  met.set(name, made);
  return made;
}

function words(name: string): string {
  const plain = name.split(':')[0]!.replaceAll('_', ' ');
  return plain.length <= 5 && !name.includes('_') ? plain.toUpperCase() : plain.charAt(0).toUpperCase() + plain.slice(1);
}

function initials(name: string): string {
  const parts = name.split(':')[0]!.split('_');
  return (parts.length > 1 ? parts.map((part, i) => part.slice(0, i ? 1 : 2)).join('') : parts[0]!.slice(0, 4)).toUpperCase();
}
