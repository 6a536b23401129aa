/** What was changed while a live run went on. */
import { History } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { formatClock, formatCount, formatDate } from '@/look/format';
import { Panel } from '../parts/Panel';
import { formatValue, pluralize, humanize } from '../parts/words';

export function Changes({ changes }: { changes: Schemas['SettingsChange-Output'][] }) {
  return (
    <Panel title="Changes" icon={<History size={15} />} subtitle={changes.length ? `${pluralize(changes.length, 'change')}, oldest first` : undefined}>
      {changes.length ? (
        <ol className="relative max-h-72 space-y-1 overflow-y-auto text-sm" tabIndex={0} aria-label="Changes">
          {changes.map((each, i) => (
            <li key={i} className="flex flex-wrap gap-x-3">
              <span className="num w-24 shrink-0 text-quiet" title={formatDate(each.created_at)}>{formatClock(each.at_time)}</span>
              <span className="num w-28 shrink-0 text-quiet">task {formatCount(each.at_task)}</span>
              <span className="min-w-0 break-words">{Object.entries(each.change).map(([name, value]) => `${humanize(name)}: ${formatValue(value)}`).join('; ')}</span>
            </li>
          ))}
        </ol>
      ) : (
        <p className="text-sm text-quiet">Nothing was changed: the run went through as it began.</p>
      )}
    </Panel>
  );
}
