/** What every scheduler made of one task, the first to end it on top; a row can be selected to see its reasons. */
import type { ReactNode } from 'react';
import { Crown } from 'lucide-react';
import { formatCost, formatEnergy, formatRatio, formatSeconds } from '@/look/format';
import { SchedulerName } from '@/look/Shape';
import { dropRoundoff, describeStatus, predictionRatio, type AuditRow } from './auditFacts';
import { PlacementText, SplitBar } from './PlacedOn';

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
