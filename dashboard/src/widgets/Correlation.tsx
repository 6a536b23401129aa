/** What goes with what: Pearson's r between features of tasks and the turnarounds of schedulers. */
import { useState } from 'react';
import { Grid3x3 } from 'lucide-react';
import { ColourRamp } from '@/components/chartParts';
import { EmptyState, Select } from '@/components/controls';
import { Matrix, type MatrixCell, type MatrixHead } from '@/components/Matrix';
import { Tile } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import type { Analysis } from '@/live/messages';
import { useRace } from '@/live/store';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme, type Theme } from '@/theme/theme';
import { isKnown } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';
import { mixColours, parseHex, type Rgb } from '@/utils/colour';

const STOPS: Record<Theme, Rgb[]> = {
  dark: [parseHex('#3f7ff0'), parseHex('#414a5e'), parseHex('#ef4b4b')],
  light: [parseHex('#3a74dc'), parseHex('#e6eaf1'), parseHex('#e04545')],
};

const SHORT: Record<string, string> = { intensity: 'int', memory: 'mem', 'GPU share': 'GPU', 'best time': 'best' };
const SHOWN = { tasks: 'task features', all: 'all' } as const;
type Shown = keyof typeof SHOWN;

export function Correlation() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const [shown, setShown] = useState<Shown>('tasks');
  const theme = useTheme((state) => state.theme);
  const analysis = useRace((race) => race.analysis, 'slow', paused);
  const picked = analysis ? visibleColumns(analysis, shown) : [];
  return (
    <Tile
      title="Correlation"
      icon={<Grid3x3 size={15} />}
      subtitle={`Pearson r${shown === 'all' ? ', schedulers: turnaround' : ''}`}
      actions={
        <>
          <ColourRamp from="−1" to="+1" stops={STOPS[theme]} />
          <Select aria-label="Show" value={shown} onChange={(event) => setShown(event.target.value as Shown)}>
            {Object.entries(SHOWN).map(([name, label]) => <option key={name} value={name}>{label}</option>)}
          </Select>
        </>
      }
    >
      {analysis && analysis.tasks > 2 ? (
        <div className="h-full" {...pauseHandlers}>
          <Matrix
            summary={describeStrongest(analysis, picked)}
            heads={picked.map((i) => matrixHead(analysis.features[i]!, analysis.schedulers))}
            cell={(row, column) => matrixCell(analysis, picked[row]!, picked[column]!, theme)}
          />
        </div>
      ) : (
        <EmptyState title="Not enough tasks yet" />
      )}
    </Tile>
  );
}

/** A column that is a scheduler's turnaround is called as the scheduler, or "turnaround of" it. */
function parseScheduler(feature: string, schedulers: readonly string[]): string | null {
  const name = feature.replace(/^turnaround of /, '');
  return schedulers.includes(name) ? name : null;
}

export function featureLabel(feature: string, schedulers: readonly string[]): string {
  const scheduler = parseScheduler(feature, schedulers);
  return scheduler ? `turnaround of ${schedulerStyle(scheduler).label}` : feature.replaceAll('_', ' ');
}

function matrixHead(feature: string, schedulers: readonly string[]): MatrixHead {
  const description = featureLabel(feature, schedulers);
  const scheduler = parseScheduler(feature, schedulers);
  if (!scheduler) return { key: feature, row: description, column: SHORT[description] ?? description.slice(0, 5), description };
  return { key: feature, row: <SchedulerName name={scheduler} />, column: <abbr className="no-underline" title={description}>{schedulerStyle(scheduler).short}</abbr>, description };
}

/** Which rows and columns are shown. */
export function visibleColumns({ features, schedulers }: Pick<Analysis, 'features' | 'schedulers'>, shown: Shown): number[] {
  return features.map((_, i) => i).filter((i) => shown === 'all' || parseScheduler(features[i]!, schedulers) === null);
}

function matrixCell({ features, schedulers, correlation }: Analysis, i: number, j: number, theme: Theme): MatrixCell {
  const r = correlation[i]?.[j];
  const names = `${featureLabel(features[i]!, schedulers)} and ${featureLabel(features[j]!, schedulers)}`;
  if (!isKnown(r)) return { text: '–', colour: null, description: `${names}: not known` };
  if (i === j) return { text: '1', colour: mixColours(STOPS[theme], 1), description: `${featureLabel(features[i]!, schedulers)} with itself: always 1` };
  return { text: formatCell(r), colour: mixColours(STOPS[theme], (r + 1) / 2), description: `${names}: r = ${formatSigned(r)}, ${describeStrength(r)}` };
}

const formatSigned = (r: number): string => `${r.toFixed(2) === '0.00' || r.toFixed(2) === '-0.00' ? '' : r > 0 ? '+' : '−'}${Math.abs(r).toFixed(2)}`;

/** Two places without the nought before the point: cells are small. */
export function formatCell(r: number): string {
  const size = Math.abs(r).toFixed(2);
  const sign = r < 0 && size !== '0.00' ? '−' : '';
  return sign + (size === '1.00' ? '1' : size.slice(1));
}

export function describeStrength(r: number): string {
  const size = Math.abs(r);
  if (size < 0.1) return 'unrelated in a straight line';
  const how = size < 0.3 ? 'weakly' : size < 0.7 ? 'clearly' : 'strongly';
  return `${how} ${r > 0 ? 'rise together' : 'one rises as the other falls'}`;
}

/** The two different columns that go together most. */
export function describeStrongest({ features, schedulers, correlation }: Pick<Analysis, 'features' | 'schedulers' | 'correlation'>, picked: number[]): string {
  let best: { r: number; i: number; j: number } | null = null;
  for (const i of picked) {
    for (const j of picked) {
      const r = correlation[i]?.[j];
      if (j > i && isKnown(r) && Math.abs(r) > Math.abs(best?.r ?? 0)) best = { r, i, j };
    }
  }
  if (!best) return 'Nothing goes together';
  return `Strongest: ${featureLabel(features[best.i]!, schedulers)} and ${featureLabel(features[best.j]!, schedulers)}, r = ${formatSigned(best.r)}`;
}
