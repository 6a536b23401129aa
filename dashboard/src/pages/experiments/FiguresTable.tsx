/** Measures down, schedulers across: mean, interval below it, a star at the best. */
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { isKnown } from '@/look/format';
import { Button } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { BOUNDED_MEASURE, sortMeasures, formatInterval, MAIN_MEASURES, measureLabel, formatMeasure, type Estimate, type Measure } from './measures';

type RunFigures = Schemas['RunFigures'];
/** So many rows are read at once; only more of them are folded. */
const MAX_ROWS = 10;

/** It tries everything with all times known, which nobody can in practice: it is there to measure the others against. */
const REFERENCE = ['oracle'];

/** The scheduler with the best mean of a measure; null if nobody has one, or all are equal. */
export function findBest(figures: Pick<RunFigures, 'schedulers'>, measure: Measure): string | null {
  const seen = figures.schedulers
    .filter(({ scheduler }) => !REFERENCE.includes(scheduler))
    .map(({ scheduler, estimates }) => ({ scheduler, mean: estimates[measure.name]?.mean }))
    .filter((each): each is { scheduler: string; mean: number } => isKnown(each.mean));
  const order = seen.toSorted((a, b) => (measure.less_is_better ? a.mean - b.mean : b.mean - a.mean));
  return order.length > 1 && order[0]!.mean !== order.at(-1)!.mean ? order[0]!.scheduler : null;
}

export function FiguresTable({ figures, chosen, onChoose }: { figures: RunFigures; chosen: string; onChoose: (measure: string) => void }) {
  const [all, setAll] = useState(false);
  const order = sortMeasures(figures.measures);
  const shown = all || order.length <= MAX_ROWS ? order : order.filter(({ name }) => MAIN_MEASURES.includes(name));
  return (
    <>
      <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Table of measures">
        <table className="w-full text-right text-sm">
          <thead>
            <tr className="border-b border-edge">
              <th className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-2 pr-3 text-left text-xs font-medium text-quiet">Measure</th>
              {figures.schedulers.map(({ scheduler }) => <th key={scheduler} className="px-2 py-2 font-semibold"><SchedulerName name={scheduler} /></th>)}
            </tr>
          </thead>
          <tbody>
            {shown.map((measure) => <MeasureRow key={measure.name} figures={figures} measure={measure} chosen={chosen === measure.name} onChoose={onChoose} />)}
          </tbody>
        </table>
      </div>
      {order.length > MAX_ROWS && <Button className="mt-2" aria-expanded={all} onClick={() => setAll(!all)}>{all ? 'Show the main measures only' : `Show all ${order.length} measures`}</Button>}
    </>
  );
}

function MeasureRow({ figures, measure, chosen, onChoose }: { figures: RunFigures; measure: Measure; chosen: boolean; onChoose: (measure: string) => void }) {
  const best = findBest(figures, measure);
  return (
    <tr className="border-b border-edge/60 last:border-0">
      <th scope="row" className="max-lg:sticky max-lg:left-0 max-lg:bg-panel py-1.5 pr-3 text-left font-normal">
        <button type="button" aria-pressed={chosen} onClick={() => onChoose(measure.name)} title={`${measure.meaning}: show it above`} className="rounded text-left underline-offset-2 hover:underline aria-pressed:font-semibold aria-pressed:text-accent">
          {measureLabel(measure.name)}
        </button>
        <span className="block text-xs text-quiet max-sm:hidden">{measure.less_is_better ? 'lower is better' : 'higher is better'}{measure.name === BOUNDED_MEASURE ? ', never below 1' : ''}</span>
      </th>
      {figures.schedulers.map(({ scheduler, estimates }) => <EstimateCell key={scheduler} estimate={estimates[measure.name]} unit={measure.unit} best={best === scheduler} />)}
    </tr>
  );
}

function EstimateCell({ estimate, unit, best }: { estimate: Estimate | undefined; unit: string; best: boolean }) {
  return (
    <td className="num px-2 py-1.5 whitespace-nowrap">
      <span className={best ? 'font-semibold text-good' : ''}>{best && <><span aria-hidden="true">★ </span><span className="sr-only">best: </span></>}{formatMeasure(estimate?.mean, unit)}</span>
      <span className="block text-xs text-quiet">{estimate ? formatInterval(estimate.low, estimate.high, unit) : '–'}</span>
    </td>
  );
}
