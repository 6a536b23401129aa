/** What every scheduler made of one task, the first to end it on top; a row can be selected to see its reasons. */
import type { ReactNode } from 'react';
import { Check, Crown } from 'lucide-react';
import { DeviceSwatch, PlacementText, SplitBar } from '@/components/Placement';
import { SchedulerName } from '@/components/Scheduler';
import { formatCost, formatDevice, formatEnergy, formatNumber, formatRatio, formatSeconds, isKnown } from '@/utils/format';
import { describeStatus, dropRoundoff, humanizeSentence, listOptions, predictionRatio, rankContributions, type AuditRow, type Contribution, type Explanation, type Option } from './decisions';

const COLUMN_HEADS = ['Scheduler', 'Placed on', 'Waited', 'Execution', 'Turnaround', 'Energy'];

export function DecisionTable({ rows, selected, select }: { rows: readonly AuditRow[]; selected: string; select: (name: string) => void }) {
  return (
    <div className="overflow-x-auto">
      <table className="w-full border-collapse text-xs">
        <thead>
          <tr className="border-b border-edge text-left text-quiet">
            {COLUMN_HEADS.map((head) => <th key={head} scope="col" className="px-1 py-1 font-medium whitespace-nowrap">{head}</th>)}
          </tr>
        </thead>
        <tbody>{rows.map((row) => <DecisionRow key={row.name} row={row} chosen={row.name === selected} select={select} />)}</tbody>
      </table>
    </div>
  );
}

function DecisionRow({ row, chosen, select }: { row: AuditRow; chosen: boolean; select: (name: string) => void }) {
  const { name, result, first, attempts, explanation } = row;
  const error = predictionRatio(row);
  const note = describeStatus(result);
  return (
    <tr onClick={() => select(name)} className={`cursor-pointer border-b border-edge/50 align-top hover:bg-raised ${chosen ? 'bg-raised' : ''}`}>
      <td className={`border-l-2 px-1 py-1.5 ${chosen ? 'border-accent' : 'border-transparent'}`}>
        <button type="button" aria-pressed={chosen} title="Show its reasons" className="font-semibold"><SchedulerName name={name} /></button>
        {first && <span className="mt-0.5 flex items-center gap-1 text-good"><Crown size={11} aria-hidden="true" />first</span>}
        {attempts > 1 && <span className="mt-0.5 block text-warn">{attempts} attempts</span>}
      </td>
      <td className="min-w-20 px-1 py-1.5">
        <span className="mb-1 block"><PlacementText place={result} /></span>
        <SplitBar place={result} />
        {note && <span className="mt-0.5 block text-warn">{note}</span>}
      </td>
      <TwoLineCell top={formatSeconds(dropRoundoff(result.waiting_time))} />
      <TwoLineCell top={formatSeconds(result.actual_time)} below={explanation && (error === null ? 'no forecast' : <Forecast expected={explanation.expected_time} ratio={error} />)} />
      <TwoLineCell top={formatSeconds(dropRoundoff(result.turnaround_time))} below={result.finish_time === null ? null : `at ${result.finish_time.toFixed(1)} s`} />
      <TwoLineCell top={formatEnergy(result.energy_consumption)} below={formatCost(result.execution_cost)} />
    </tr>
  );
}

function TwoLineCell({ top, below = null }: { top: string; below?: ReactNode }) {
  return (
    <td className="num px-1 py-1.5 whitespace-nowrap">
      <span className="block">{top}</span>
      {below !== null && <span className="block text-quiet">{below}</span>}
    </td>
  );
}

function Forecast({ expected, ratio }: { expected: number | null; ratio: number }) {
  return <><span className="block"><span className="font-sans">expected</span> {formatSeconds(expected)}</span><PredictionError ratio={ratio} /></>;
}

/** How far what it got is from what it expected; more than a tenth off is worth a look. */
export function PredictionError({ ratio }: { ratio: number }) {
  return <span className={Math.abs(ratio - 1) > 0.1 ? 'text-warn' : 'text-good'} title="what it got against what it expected">{formatRatio(ratio)}</span>;
}

/** Why a scheduler decided as it did: the sentence, the rule, the devices it could have taken, what pushed it. */
export function Reasons({ explanation }: { explanation: Explanation }) {
  const { options, more } = listOptions(explanation);
  const pushes = rankContributions(explanation.contributions);
  return (
    <div className="space-y-4 text-sm">
      <div className="space-y-1">
        <p><strong className="text-accent">Why:</strong> {humanizeSentence(explanation.why)}.</p>
        <p className="text-quiet">Its rule: {humanizeSentence(explanation.rule)}.</p>
      </div>
      <section aria-label="Devices it could take">
        <h4 className="mb-1.5 flex flex-wrap items-center gap-x-3 text-xs text-quiet">
          <span className="font-semibold text-ink">Devices as it saw them, whole task</span>
          <span className="flex items-center gap-1"><span aria-hidden="true" className="h-2 w-4 rounded-sm" style={{ background: WAIT_PATTERN }} />waits</span>
          <span className="flex items-center gap-1"><span aria-hidden="true" className="h-2 w-4 rounded-sm bg-accent" />runs, as predicted</span>
        </h4>
        <ol className="space-y-1">{options.map((option) => <OptionBar key={option.candidate.device} option={option} />)}</ol>
        {more > 0 && <p className="mt-1 text-xs text-quiet">and {more} more that would end later</p>}
      </section>
      {pushes.length > 0 && <ContributionList pushes={pushes} />}
    </div>
  );
}

/** Waiting is hatched, so that both parts differ without their colours. */
const WAIT_PATTERN = 'repeating-linear-gradient(115deg, var(--quiet) 0 2px, transparent 2px 5px)';

function OptionBar({ option: { candidate, wait, work, waitShare, workShare, rest } }: { option: Option }) {
  return (
    <li className={`grid ${candidate.device_name.endsWith(')') ? 'grid-cols-[8rem_1fr_8.4rem_4.9rem]' : 'grid-cols-[4.4rem_1fr_8.4rem_4.9rem]'} items-center gap-2 rounded px-1 py-0.5 text-xs ${candidate.chosen ? 'bg-raised ring-1 ring-strong' : ''}`}>
      <span className="flex items-center gap-1.5 whitespace-nowrap"><DeviceSwatch index={candidate.device} />{formatDevice({ name: candidate.device_name })}</span>
      <span aria-hidden="true" className="flex h-2.5 overflow-hidden rounded-sm bg-well ring-1 ring-edge">
        <span style={{ width: `${waitShare * 100}%`, background: WAIT_PATTERN }} />
        <span className="bg-accent" style={{ width: `${workShare * 100}%`, minWidth: workShare > 0 ? 2 : 0 }} />
      </span>
      <span className="num text-right whitespace-nowrap" title="waits, then runs">{formatSeconds(wait)}{isKnown(work) ? ` + ${formatSeconds(work)}` : ' + ?'}</span>
      <span className="flex items-center gap-1 whitespace-nowrap">
        {candidate.chosen ? <><Check size={12} className="text-good" aria-hidden="true" /><strong>chosen</strong></> : rest ? <span className="text-quiet">the rest</span> : <Score value={candidate.score} />}
      </span>
    </li>
  );
}

function Score({ value }: { value: number | null }) {
  return isKnown(value) ? <span className="num text-quiet" title="its own judgement, larger is better">score {formatNumber(value, 2)}</span> : null;
}

function ContributionList({ pushes }: { pushes: Contribution[] }) {
  return (
    <section aria-label="What pushed it">
      <h4 className="mb-1.5 text-xs"><span className="font-semibold">What moved its prediction</span> <span className="text-quiet">left: down, right: up</span></h4>
      <ul className="space-y-1">
        {pushes.map(({ feature, value, share }) => (
          <li key={feature} className="grid grid-cols-[8rem_1fr_4rem] items-center gap-2 px-1 text-xs">
            <span className="truncate">{feature}</span>
            <span aria-hidden="true" className="relative h-2.5 rounded-sm bg-well ring-1 ring-edge">
              <span className="absolute inset-y-0 left-1/2 w-px bg-quiet" />
              <span className={`absolute inset-y-0 rounded-sm ${value < 0 ? 'right-1/2 bg-warn' : 'left-1/2 bg-accent'}`} style={{ width: `${share * 50}%` }} />
            </span>
            <span className="num text-right">{value < 0 ? '−' : '+'}{formatNumber(Math.abs(value), 2)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
