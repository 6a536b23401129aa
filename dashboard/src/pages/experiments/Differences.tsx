/** How each scheduler differs between the runs, said only as far as the intervals reach. */
import type { Schemas } from '@/api/client';
import { EmptyState } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { formatSigned, type Measure } from './measures';
import { listSchedulers } from './beside';
import { formatDifferenceInterval, runLetter, judgeDifference, type Difference } from './wording';

type Comparison = Schemas['RunComparison'];
const VERDICT_TONES = { good: 'text-good', bad: 'text-bad', quiet: 'text-quiet' };

export function Differences({ comparison, measure }: { comparison: Comparison; measure: Measure }) {
  const here = comparison.differences.filter((each) => each.measure === measure.name);
  if (!here.length) return <EmptyState title="Nothing to compare"><p>No scheduler took part in run A and in another one.</p></EmptyState>;
  const others = comparison.runs.map((run, i) => ({ id: run.run_id, letter: runLetter(i) })).filter(({ id }) => id !== comparison.baseline);
  const names = listSchedulers(comparison).filter((name) => here.some((each) => each.scheduler === name));
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of differences">
      <table className="w-full text-left text-sm">
        <thead className="text-xs text-quiet">
          <tr className="border-b border-edge">
            <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-2 font-medium">Scheduler</th>
            {others.map((run) => <th key={run.id} className="px-2 font-medium">{run.letter} minus A</th>)}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name} className="border-b border-edge/60 last:border-0">
              <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-2 pr-2 font-normal"><SchedulerName name={name} /></th>
              {others.map((run) => <DifferenceCell key={run.id} difference={here.find((each) => each.scheduler === name && each.run_id === run.id)} measure={measure} />)}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-2 text-xs text-quiet">{describePairing(here)}</p>
    </div>
  );
}

function DifferenceCell({ difference, measure }: { difference: Difference | undefined; measure: Measure }) {
  if (!difference) return <td className="px-2 text-xs text-quiet">did not take part</td>;
  const { tone, text } = judgeDifference(difference, measure.less_is_better);
  return (
    <td className="px-2 py-1.5">
      <span className={`block ${VERDICT_TONES[tone]} ${tone === 'quiet' ? '' : 'font-semibold'}`}>{text}</span>
      <span className="num block text-xs text-quiet">{formatSigned(difference.mean, measure.unit)} ({formatDifferenceInterval(difference, measure.unit)})</span>
    </td>
  );
}

function describePairing(differences: readonly Difference[]): string {
  const same = differences.filter((each) => each.paired).length;
  if (same === differences.length) return 'Paired: the same seeds drew the same tasks for both, so that luck cancels.';
  if (same === 0) return 'Not paired: the runs drew different tasks, so luck is part of the difference.';
  return 'Some are paired (the same tasks for both), some are not.';
}
