/** How the last training of a learner went: a line over tasks, and the fits one by one. */
import type { AgentHistory, ForestHistory, Retrain } from '@/live/messages';
import { schedulerStyle } from '@/theme/schedulers';
import { useTheme } from '@/theme/theme';
import { formatCount, formatNumber, formatSeconds, isKnown } from '@/utils/format';
import { useSize } from '@/utils/hooks';

const REASONS: Record<Retrain['reason'], string> = { first: 'first fit', interval: 'interval', drift: 'drift: the work had changed' };

export function TrainingHistory({ name, history }: { name: string; history: ForestHistory | AgentHistory }) {
  if (!history.points.length) return <p className="mt-3 text-xs text-quiet">No training in this race yet.</p>;
  if (history.kind === 'agent') {
    return (
      <div className="mt-3 grid gap-3 sm:grid-cols-2">
        <HistoryChart name={name} title="Reward" points={history.points.map((each) => [each.task, each.reward])} />
        <HistoryChart name={name} title="Loss" points={history.points.map((each) => [each.task, each.loss])} />
      </div>
    );
  }
  return (
    <div className="mt-3 space-y-2">
      <HistoryChart name={name} title="Error of the GPU share on unseen tasks" points={history.points.map((each) => [each.task, each.mae])} />
      <FitTable points={history.points} />
    </div>
  );
}

type Point = [task: number, value: number | null];
const HEIGHT = 84;

function HistoryChart({ name, title, points }: { name: string; title: string; points: Point[] }) {
  const theme = useTheme((state) => state.theme);
  const [ref, size] = useSize();
  const seen = points.filter((each): each is [number, number] => isKnown(each[1]));
  const width = size.width || 300;
  const last = seen.at(-1);
  return (
    <figure ref={ref} className="min-w-0">
      <figcaption className="flex justify-between text-xs text-quiet"><span>{title}</span><span className="num text-ink">{formatNumber(last?.[1])}</span></figcaption>
      {seen.length > 1 ? (
        <svg width={width} height={HEIGHT} role="img" aria-label={`${title}: from ${formatNumber(seen[0]![1])} to ${formatNumber(last![1])}`} className="block max-w-full">
          <HistoryLine points={seen} width={width} colour={schedulerStyle(name).colour[theme]} />
        </svg>
      ) : (
        <p className="flex items-center text-xs text-quiet" style={{ height: HEIGHT }}>A line needs two updates.</p>
      )}
    </figure>
  );
}

function HistoryLine({ points, width, colour }: { points: [number, number][]; width: number; colour: string }) {
  const values = points.map((each) => each[1]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [from, to] = [points[0]![0], points.at(-1)![0]];
  const bottom = HEIGHT - 16;
  const x = (task: number) => 4 + ((task - from) / (to - from || 1)) * (width - 8);
  const y = (value: number) => 4 + (1 - (value - low) / (high - low || 1)) * (bottom - 10);
  return (
    <>
      <line x2={width} y1={bottom} y2={bottom} stroke="var(--grid)" />
      <path d={points.map(([task, value], i) => `${i ? 'L' : 'M'}${x(task).toFixed(1)} ${y(value).toFixed(1)}`).join('')} fill="none" stroke={colour} strokeWidth={1.75} strokeLinejoin="round" />
      {points.map(([task, value]) => <circle key={task} cx={x(task)} cy={y(value)} r={2.5} fill={colour}><title>{`task ${formatCount(task)}: ${formatNumber(value)}`}</title></circle>)}
      <text x={0} y={HEIGHT - 3} fontSize="0.73rem" fill="var(--quiet)" className="num">task {formatCount(from)}</text>
      <text x={width} y={HEIGHT - 3} fontSize="0.73rem" textAnchor="end" fill="var(--quiet)" className="num">{formatCount(to)}</text>
    </>
  );
}

function FitTable({ points }: { points: Retrain[] }) {
  return (
    <div className="relative max-h-44 overflow-auto" tabIndex={0} role="group" aria-label="Fits, newest first">
      <table className="w-full text-right text-xs">
        <thead className="text-quiet">
          <tr><th className="text-left font-medium">At task</th><th className="px-2 font-medium">Fitted on</th><th className="px-2 font-medium">Error before</th><th className="px-2 font-medium">R²</th><th className="px-2 font-medium">Took</th><th className="font-medium">Why</th></tr>
        </thead>
        <tbody className="num">
          {points.toReversed().map((each) => (
            <tr key={each.task} className="border-t border-edge/60">
              <td className="py-0.5 text-left">{formatCount(each.task)}</td><td className="px-2">{formatCount(each.samples)}</td><td className="px-2">{formatNumber(each.mae)}</td><td className="px-2">{formatNumber(each.r2, 2)}</td><td className="px-2 whitespace-nowrap">{formatSeconds(each.seconds)}</td>
              <td className="font-sans sm:whitespace-nowrap">{REASONS[each.reason]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
