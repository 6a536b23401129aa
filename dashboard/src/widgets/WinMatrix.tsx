/** Who ended more tasks before whom. */
import { Swords } from 'lucide-react';
import { useRace } from '@/live/store';
import type { Pictures } from '@/live/messages';
import { count } from '@/look/format';
import { Empty } from '@/look/parts';
import { schedulerLook } from '@/look/schedulers';
import { SchedulerName, Shape } from '@/look/Shape';
import { useTheme, type Theme } from '@/look/theme';
import { Tile } from '@/look/Tile';
import { useHold } from '@/look/useHold';
import { mixed, rgb, type Rgb } from './draw';
import { Ramp } from './drawParts';
import { Matrix, type MatrixCell, type MatrixHead } from './Matrix';

/** Teal and orange, so that red never means good. */
const STOPS: Record<Theme, Rgb[]> = {
  dark: [rgb('#e0812a'), rgb('#39435a'), rgb('#2ad1bd')],
  light: [rgb('#e08433'), rgb('#e6ebf2'), rgb('#18a596')],
};

export function WinMatrix() {
  const [held, hold] = useHold();
  const theme = useTheme((state) => state.theme);
  const pictures = useRace((race) => race.pictures, 'slow', held);
  const order = pictures ? winners(pictures) : [];
  const enough = pictures !== null && pictures.tasks > 0 && order.length > 1;
  return (
    <Tile title="Head to head" icon={<Swords size={15} />} subtitle="row beats column, % of tasks" actions={<Ramp from="loses" to="wins" stops={STOPS[theme]} />}>
      {enough ? (
        <div className="h-full" {...hold}>
          <Matrix
            summary={matrixWords(pictures, order)}
            heads={order.map((i) => head(pictures.schedulers[i]!))}
            cell={(row, column) => cell(pictures, order[row]!, order[column]!, theme)}
            lines={2}
          />
        </div>
      ) : (
        <Empty title={order.length === 1 ? 'One scheduler has nobody to beat' : 'No tasks yet'} />
      )}
    </Tile>
  );
}

function head(name: string): MatrixHead {
  const { label, short } = schedulerLook(name);
  const column = <span className="inline-flex items-center gap-0.5"><Shape name={name} size={9} /><abbr title={label} className="no-underline">{short}</abbr></span>;
  return { key: name, row: <SchedulerName name={name} />, column, words: label };
}

function cell(pictures: Pictures, i: number, j: number, theme: Theme): MatrixCell {
  const one = schedulerLook(pictures.schedulers[i]!).label;
  if (i === j) return { text: '', colour: null, words: `${one} is not compared with itself` };
  const found = duel(pictures, i, j);
  return {
    text: wholePercent(found.wins, found.tasks),
    colour: mixed(STOPS[theme], 0.5 + (found.wins - found.losses) / found.tasks / 2),
    words: duelWords(found, one, schedulerLook(pictures.schedulers[j]!).label),
  };
}

export interface Duel {
  wins: number;
  losses: number;
  /** Ended at the same moment, or one of the two did not end it at all. */
  neither: number;
  tasks: number;
}

export function duel({ wins, tasks }: Pick<Pictures, 'wins' | 'tasks'>, i: number, j: number): Duel {
  const [won, lost] = [wins[i]?.[j] ?? 0, wins[j]?.[i] ?? 0];
  return { wins: won, losses: lost, neither: Math.max(0, tasks - won - lost), tasks: Math.max(1, tasks) };
}

/** Whole percent; what is not nothing and not everything is not rounded to that. */
export function wholePercent(part: number, whole: number): string {
  const rounded = Math.round((part / whole) * 100);
  if (rounded === 0 && part > 0) return '<1';
  return rounded === 100 && part < whole ? '>99' : String(rounded);
}

export function duelWords({ wins, losses, neither, tasks }: Duel, one: string, other: string): string {
  const share = (part: number) => `${wholePercent(part, tasks)} %`;
  const rest = neither ? `, ${share(neither)} neither (same moment, or not ended by both)` : '';
  return `${one} ended ${share(wins)} of the tasks before ${other}, ${share(losses)} after it${rest}`;
}

/** Schedulers by wins less losses, best first. */
export function winners({ wins, schedulers }: Pick<Pictures, 'wins' | 'schedulers'>): number[] {
  const net = schedulers.map((_, i) => schedulers.reduce((sum, _each, j) => sum + (wins[i]?.[j] ?? 0) - (wins[j]?.[i] ?? 0), 0));
  return schedulers.map((_, i) => i).toSorted((a, b) => net[b]! - net[a]!);
}

function matrixWords(pictures: Pictures, order: number[]): string {
  const names = order.map((i) => schedulerLook(pictures.schedulers[i]!).label);
  return `Last ${count(pictures.tasks)} tasks: ${names[0]} wins most, ${names.at(-1)} least. Colour: wins less losses.`;
}
