/** Which letter is which run, and in what they differ. */
import type { ReactNode } from 'react';
import type { Schemas } from '@/api/client';
import { formatCount } from '@/look/format';
import { Link } from '../parts/Link';
import { Panel } from '../parts/Panel';
import { formatLoad, workloadName } from '../parts/words';
import { runTitle } from './rows';
import { formatSeeds } from './seeds';
import { runLetter } from './wording';

type RunFigures = Schemas['RunFigures'];

const COLUMNS: [string, (run: RunFigures) => string][] = [
  ['Kind', (run) => run.kind],
  ['Workload', (run) => workloadName(run.workload)],
  ['Load', formatLoad],
  ['GPUs', (run) => formatCount(run.num_gpus)],
  ['Tasks', (run) => formatCount(run.tasks)],
  ['Seeds', (run) => formatSeeds(run.seeds)],
  ['Intervals', (run) => (run.method === 'seeds' ? 'over seeds' : 'batch means')],
];

/** Names of the columns in which the runs are not all alike. */
export function differingColumns(runs: readonly RunFigures[]): string[] {
  return COLUMNS.filter(([, of]) => new Set(runs.map(of)).size > 1).map(([name]) => name);
}

export function ComparedRuns({ runs }: { runs: RunFigures[] }) {
  const differing = differingColumns(runs);
  const cell = (name: string, text: string): ReactNode => (differing.includes(name) ? <strong className="font-semibold text-warn">{text}</strong> : text);
  return (
    <Panel title="Runs" subtitle={differing.length ? `they differ in ${differing.join(', ').toLowerCase()} (bold)` : 'with the same settings'}>
      <div className="relative overflow-x-auto" tabIndex={0} role="group" aria-label="Runs that are compared">
        <table className="w-full min-w-[44rem] text-left text-sm">
          <thead className="text-xs text-quiet">
            <tr className="border-b border-edge">
              <th className="w-8 py-1.5 font-medium"><span className="sr-only">Letter</span></th>
              <th className="px-2 font-medium">Run</th>
              {COLUMNS.map(([name]) => <th key={name} className="px-2 font-medium">{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {runs.map((run, i) => (
              <tr key={run.run_id} className="border-b border-edge/60 last:border-0">
                <td className="num py-1.5 font-semibold">{runLetter(i)}</td>
                <td className="px-2"><Link to={`/experiments?run=${run.run_id}`}>{runTitle({ id: run.run_id, kind: run.kind, title: run.title })}</Link>{i === 0 && <span className="text-xs text-quiet"> · baseline</span>}</td>
                {COLUMNS.map(([name, of]) => <td key={name} className="px-2 whitespace-nowrap">{cell(name, of(run))}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
