/** Models that runs have left when they ended. */
import { Database } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { formatDate } from '@/look/format';
import { EmptyState } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { CollapsibleList } from '../parts/Folded';
import { Link } from '../parts/Link';
import { Panel } from '../parts/Panel';
import { pluralize } from '../parts/words';
import { describeAccuracy, fileName, describeTraining } from './words';

type StoredModel = Schemas['StoredModel'];

export function StoredModels({ models }: { models: StoredModel[] }) {
  return (
    <Panel title="Models of runs" icon={<Database size={15} />} subtitle={models.length ? `${pluralize(models.length, 'model')}, newest first` : ''}>
      {models.length ? (
        <CollapsibleList items={models} of={(model) => model.id}>{(model) => <StoredRow model={model} />}</CollapsibleList>
      ) : (
        <EmptyState title="No run has left a model yet"><p>When a live race with a scheduler that learns is stopped, its model is kept here.</p></EmptyState>
      )}
    </Panel>
  );
}

function StoredRow({ model }: { model: StoredModel }) {
  const accuracy = describeAccuracy(model.training);
  return (
    <article className="grid gap-x-4 gap-y-1 py-2.5 text-sm sm:grid-cols-[10rem_1fr_auto]">
      <div className="font-semibold"><SchedulerName name={model.scheduler_name} /></div>
      <div className="min-w-0">
        <span className="num block truncate text-xs" title={model.path}>{fileName(model.path)}</span>
        <span className="block text-xs text-quiet">{describeTraining(model.training).join(' · ') || 'says nothing about its training'}</span>
        {accuracy.length > 0 && <span className="num block text-xs">{accuracy.join(' · ')}</span>}
      </div>
      <div className="text-xs text-quiet sm:text-right">
        <span className="num">{formatDate(model.created_at)}</span>
        <span className="block">{model.run_id === null ? 'its run is gone' : <Link to={`/experiments?run=${model.run_id}`}>run {model.run_id}</Link>}</span>
        <span className="num block" title={`SHA-256 ${model.sha256}`}>{model.sha256.slice(0, 8)}…</span>
      </div>
    </article>
  );
}
