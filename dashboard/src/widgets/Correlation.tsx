/** What goes with what: Pearson's r between features of tasks and the turnarounds of schedulers. */
import { useState } from 'react';
import { Grid3x3 } from 'lucide-react';
import { useRace } from '@/live/store';
import type { Pictures } from '@/live/messages';
import { known } from '@/look/format';
import { Empty, Select } from '@/look/parts';
import { schedulerLook } from '@/look/schedulers';
import { SchedulerName } from '@/look/Shape';
import { useTheme, type Theme } from '@/look/theme';
import { Tile } from '@/look/Tile';
import { useHold } from '@/look/useHold';
import { mixed, rgb, type Rgb } from './draw';
import { Ramp } from './drawParts';
import { Matrix, type MatrixCell, type MatrixHead } from './Matrix';

const STOPS: Record<Theme, Rgb[]> = {
  dark: [rgb('#3f7ff0'), rgb('#414a5e'), rgb('#ef4b4b')],
  light: [rgb('#3a74dc'), rgb('#e6eaf1'), rgb('#e04545')],
};

const SHORT: Record<string, string> = { intensity: 'int', memory: 'mem', 'GPU share': 'GPU', 'best time': 'best' };
const SHOWN = { tasks: 'task features', all: 'all' } as const;
type Shown = keyof typeof SHOWN;

export function Correlation() {
  const [held, hold] = useHold();
  const [shown, setShown] = useState<Shown>('tasks');
  const theme = useTheme((state) => state.theme);
  const pictures = useRace((race) => race.pictures, 'slow', held);
  const picked = pictures ? columnsOf(pictures, shown) : [];
  return (
    <Tile
      title="Correlation"
      icon={<Grid3x3 size={15} />}
      subtitle={`Pearson r${shown === 'all' ? ', schedulers: turnaround' : ''}`}
      actions={
        <>
          <Ramp from="−1" to="+1" stops={STOPS[theme]} />
          <Select aria-label="Show" value={shown} onChange={(event) => setShown(event.target.value as Shown)}>
            {Object.entries(SHOWN).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
          </Select>
        </>
      }
    >
      {pictures && pictures.tasks > 2 ? (
        <div className="h-full" {...hold}>
          <Matrix
            summary={strongest(pictures, picked)}
            heads={picked.map((i) => head(pictures.features[i]!, pictures.schedulers))}
            cell={(row, column) => cell(pictures, picked[row]!, picked[column]!, theme)}
          />
        </div>
      ) : (
        <Empty title="Not enough tasks yet" />
      )}
    </Tile>
  );
}

/** A column that is a scheduler's turnaround is called as the scheduler, or "turnaround of" it. */
function schedulerOf(feature: string, schedulers: readonly string[]): string | null {
  const name = feature.replace(/^turnaround of /, '');
  return schedulers.includes(name) ? name : null;
}

export function featureWords(feature: string, schedulers: readonly string[]): string {
  const scheduler = schedulerOf(feature, schedulers);
  return scheduler ? `turnaround of ${schedulerLook(scheduler).label}` : feature.replaceAll('_', ' ');
}

function head(feature: string, schedulers: readonly string[]): MatrixHead {
  const words = featureWords(feature, schedulers);
  const scheduler = schedulerOf(feature, schedulers);
  if (!scheduler) return { key: feature, row: words, column: SHORT[words] ?? words.slice(0, 5), words };
  return { key: feature, row: <SchedulerName name={scheduler} />, column: <abbr className="no-underline" title={words}>{schedulerLook(scheduler).short}</abbr>, words };
}

/** Which rows and columns are shown. */
export function columnsOf({ features, schedulers }: Pick<Pictures, 'features' | 'schedulers'>, shown: Shown): number[] {
  return features.map((_, i) => i).filter((i) => shown === 'all' || schedulerOf(features[i]!, schedulers) === null);
}

function cell({ features, schedulers, correlation }: Pictures, i: number, j: number, theme: Theme): MatrixCell {
  const r = correlation[i]?.[j];
  const names = `${featureWords(features[i]!, schedulers)} and ${featureWords(features[j]!, schedulers)}`;
  if (!known(r)) return { text: '–', colour: null, words: `${names}: not known` };
  if (i === j) return { text: '1', colour: mixed(STOPS[theme], 1), words: `${featureWords(features[i]!, schedulers)} with itself: always 1` };
  return { text: cellText(r), colour: mixed(STOPS[theme], (r + 1) / 2), words: `${names}: r = ${signed(r)}, ${strength(r)}` };
}

const signed = (r: number): string => `${r.toFixed(2) === '0.00' || r.toFixed(2) === '-0.00' ? '' : r > 0 ? '+' : '−'}${Math.abs(r).toFixed(2)}`;

/** Two places without the nought before the point: cells are small. */
export function cellText(r: number): string {
  const size = Math.abs(r).toFixed(2);
  const sign = r < 0 && size !== '0.00' ? '−' : '';
  return sign + (size === '1.00' ? '1' : size.slice(1));
}

export function strength(r: number): string {
  const size = Math.abs(r);
  if (size < 0.1) return 'unrelated in a straight line';
  const how = size < 0.3 ? 'weakly' : size < 0.7 ? 'clearly' : 'strongly';
  return `${how} ${r > 0 ? 'rise together' : 'one rises as the other falls'}`;
}

/** The two different columns that go together most. */
export function strongest({ features, schedulers, correlation }: Pick<Pictures, 'features' | 'schedulers' | 'correlation'>, picked: number[]): string {
  let best: { r: number; i: number; j: number } | null = null;
  for (const i of picked) {
    for (const j of picked) {
      const r = correlation[i]?.[j];
      if (j > i && known(r) && Math.abs(r) > Math.abs(best?.r ?? 0)) best = { r, i, j };
    }
  }
  if (!best) return 'Nothing goes together';
  return `Strongest: ${featureWords(features[best.i]!, schedulers)} and ${featureWords(features[best.j]!, schedulers)}, r = ${signed(best.r)}`;
}
