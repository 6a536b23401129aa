/** Who ended more tasks before whom. */
import { Swords } from 'lucide-react';
import { ColourRamp } from '@/components/chartParts';
import { EmptyState } from '@/components/controls';
import { Matrix, type MatrixCell, type MatrixHead } from '@/components/Matrix';
import { Tile } from '@/components/Panel';
import { SchedulerMarker, SchedulerName } from '@/components/Scheduler';
import type { Analysis } from '@/live/messages';
import { useRace } from '@/live/store';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme, type Theme } from '@/theme/theme';
import { formatCount } from '@/utils/format';
import { usePauseOnHover } from '@/utils/hooks';
import { mixColours, parseHex, type Rgb } from '@/utils/colour';

/** Teal and orange, so that red never means good. */
const STOPS: Record<Theme, Rgb[]> = {
  dark: [parseHex('#e0812a'), parseHex('#39435a'), parseHex('#2ad1bd')],
  light: [parseHex('#e08433'), parseHex('#e6ebf2'), parseHex('#18a596')],
};

export function WinMatrix() {
  const [paused, pauseHandlers] = usePauseOnHover();
  const theme = useTheme((state) => state.theme);
  const analysis = useRace((race) => race.analysis, 'slow', paused);
  const order = analysis ? rankByWins(analysis) : [];
  const enough = analysis !== null && analysis.tasks > 0 && order.length > 1;
  return (
    <Tile title="Head to head" icon={<Swords size={15} />} subtitle="row beats column, % of tasks" actions={<ColourRamp from="loses" to="wins" stops={STOPS[theme]} />}>
      {enough ? (
        <div className="h-full" {...pauseHandlers}>
          <Matrix
            summary={describeMatrix(analysis, order)}
            heads={order.map((i) => matrixHead(analysis.schedulers[i]!))}
            cell={(row, column) => matrixCell(analysis, order[row]!, order[column]!, theme)}
            lines={2}
          />
        </div>
      ) : (
        <EmptyState title={order.length === 1 ? 'One scheduler has nobody to beat' : 'No tasks yet'} />
      )}
    </Tile>
  );
}

function matrixHead(name: string): MatrixHead {
  const { label, short } = schedulerStyle(name);
  const column = <span className="inline-flex items-center gap-0.5"><SchedulerMarker name={name} size={9} /><abbr title={label} className="no-underline">{short}</abbr></span>;
  return { key: name, row: <SchedulerName name={name} />, column, description: label };
}

function matrixCell(analysis: Analysis, i: number, j: number, theme: Theme): MatrixCell {
  const one = schedulerStyle(analysis.schedulers[i]!).label;
  if (i === j) return { text: '', colour: null, description: `${one} is not compared with itself` };
  const found = countDuel(analysis, i, j);
  return {
    text: formatWholePercent(found.wins, found.tasks),
    colour: mixColours(STOPS[theme], 0.5 + (found.wins - found.losses) / found.tasks / 2),
    description: describeDuel(found, one, schedulerStyle(analysis.schedulers[j]!).label),
  };
}

interface Duel {
  wins: number;
  losses: number;
  /** Ended at the same moment, or one of the two did not end it at all. */
  neither: number;
  tasks: number;
}

export function countDuel({ wins, tasks }: Pick<Analysis, 'wins' | 'tasks'>, i: number, j: number): Duel {
  const [won, lost] = [wins[i]?.[j] ?? 0, wins[j]?.[i] ?? 0];
  return { wins: won, losses: lost, neither: Math.max(0, tasks - won - lost), tasks: Math.max(1, tasks) };
}

/** Whole percent; what is not nothing and not everything is not rounded to that. */
export function formatWholePercent(part: number, whole: number): string {
  const rounded = Math.round((part / whole) * 100);
  if (rounded === 0 && part > 0) return '<1';
  return rounded === 100 && part < whole ? '>99' : String(rounded);
}

export function describeDuel({ wins, losses, neither, tasks }: Duel, one: string, other: string): string {
  const share = (part: number) => `${formatWholePercent(part, tasks)} %`;
  const rest = neither ? `, ${share(neither)} neither (same moment, or not ended by both)` : '';
  return `${one} ended ${share(wins)} of the tasks before ${other}, ${share(losses)} after it${rest}`;
}

/** Schedulers by wins less losses, best first. */
export function rankByWins({ wins, schedulers }: Pick<Analysis, 'wins' | 'schedulers'>): number[] {
  const net = schedulers.map((_, i) => schedulers.reduce((sum, _each, j) => sum + (wins[i]?.[j] ?? 0) - (wins[j]?.[i] ?? 0), 0));
  return schedulers.map((_, i) => i).toSorted((a, b) => net[b]! - net[a]!);
}

function describeMatrix(analysis: Analysis, order: number[]): string {
  const names = order.map((i) => schedulerStyle(analysis.schedulers[i]!).label);
  return `Last ${formatCount(analysis.tasks)} tasks: ${names[0]} wins most, ${names.at(-1)} least. Colour: wins less losses.`;
}
