/** Model files of this machine, folder by folder. */
import { useState, type ReactNode } from 'react';
import { Database, FileBox } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { CommandLine } from '@/components/CommandLine';
import { Button, Chip, EmptyState, Link } from '@/components/controls';
import { Panel } from '@/components/Panel';
import { SchedulerName } from '@/components/Scheduler';
import { formatDate, formatNumber, formatSeconds, isKnown, formatValue, humanize, pluralize } from '@/utils/format';

type ModelFile = Schemas['ModelFile'];

export function ModelFiles({ files }: { files: ModelFile[] }) {
  const folders = [...new Set(files.map((each) => each.folder))].toSorted((a, b) => Number(isCache(a)) - Number(isCache(b)));
  if (!folders.length) {
    return <Panel title="Model files" icon={<FileBox size={15} />}><EmptyState title="No model files on this machine"><p>Train one with the commands on this page: it appears here.</p></EmptyState></Panel>;
  }
  return <>{folders.map((folder) => <Folder key={folder} folder={folder} files={files.filter((each) => each.folder === folder)} />)}</>;
}

function Folder({ folder, files }: { folder: string; files: ModelFile[] }) {
  // What is damaged must not hide below the fold.
  const order = files.toSorted((a, b) => Number(a.intact) - Number(b.intact));
  return (
    <Panel title={isCache(folder) ? 'Pretrained models' : 'Model files'} icon={<FileBox size={15} />} subtitle={<span>{pluralize(files.length, 'file')} in <span className="num [overflow-wrap:anywhere]">{folder}</span>{isCache(folder) ? '; one for each cluster and version, made again if deleted' : ''}</span>}>
      <CollapsibleList items={order} itemKey={(file) => file.file}>{(file) => <FileRow file={file} />}</CollapsibleList>
    </Panel>
  );
}

function FileRow({ file }: { file: ModelFile }) {
  const accuracy = describeAccuracy(file.training);
  return (
    <article className="py-2.5 text-sm">
      <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[10rem_1fr_auto]">
        <div className="font-semibold"><SchedulerName name={file.kind} /></div>
        <div className="min-w-0">
          <span className="num block truncate text-xs" title={file.file}>{file.file}</span>
          <span className="block text-xs text-quiet">{describeTraining(file.training).join(' · ') || 'says nothing about its training'} · version {file.version}</span>
          {accuracy.length > 0 && <span className="num block text-xs">{accuracy.join(' · ')}</span>}
        </div>
        <div>{file.intact ? <Chip tone="good">✓ intact</Chip> : <Chip tone="bad">✕ damaged</Chip>}</div>
      </div>
      {!file.intact && <DamagedFile file={file} />}
    </article>
  );
}

function DamagedFile({ file }: { file: ModelFile }) {
  return (
    <div className="mt-2 space-y-1">
      <p className="text-xs text-bad">It is not the file that its manifest describes, so it will not be read. {isCache(file.folder) ? 'Delete it: it is made again when it is needed.' : 'Train it again:'}</p>
      {!isCache(file.folder) && <CommandLine text={retrainCommand(file.kind, file.folder, file.file)} />}
    </div>
  );
}

type StoredModel = Schemas['StoredModel'];

/** Models that runs have left when they ended. */
export function StoredModels({ models }: { models: StoredModel[] }) {
  return (
    <Panel title="Models of runs" icon={<Database size={15} />} subtitle={models.length ? `${pluralize(models.length, 'model')}, newest first` : ''}>
      {models.length ? (
        <CollapsibleList items={models} itemKey={(model) => model.id}>{(model) => <StoredRow model={model} />}</CollapsibleList>
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

const COLLAPSED_COUNT = 6;

/** The first few lines of a list; the others when asked for. */
function CollapsibleList<T>({ items, itemKey, children }: { items: readonly T[]; itemKey: (item: T) => string | number; children: (item: T) => ReactNode }) {
  const [all, setAll] = useState(false);
  return (
    <>
      <ul className="divide-y divide-edge/60">{(all ? items : items.slice(0, COLLAPSED_COUNT)).map((item) => <li key={itemKey(item)}>{children(item)}</li>)}</ul>
      {items.length > COLLAPSED_COUNT && <Button className="mt-2" aria-expanded={all} onClick={() => setAll(!all)}>{all ? 'Show fewer' : `Show all ${items.length}`}</Button>}
    </>
  );
}

type Training = Record<string, unknown>;

/** Figures of how well a model does, as far as it tells them. */
const ACCURACY: [key: string, label: string, text: (value: number) => string][] = [
  ['share_mae', 'share error', (value) => formatNumber(value)],
  ['share_r2', 'share R²', (value) => formatNumber(value)],
  ['seconds_mae', 'time error', (value) => formatSeconds(value)],
  ['seconds_r2', 'time R²', (value) => formatNumber(value)],
  ['mae', 'error', (value) => formatNumber(value)],
  ['r2', 'R²', (value) => formatNumber(value)],
  ['loss', 'loss', (value) => formatNumber(value)],
  ['reward_mean', 'reward', (value) => formatNumber(value)],
];

/** What models say about their training, in words. */
export function describeAccuracy(training: Training): string[] {
  return ACCURACY.flatMap(([key, label, text]) => {
    const value = training[key];
    return typeof value === 'number' && isKnown(value) ? [`${label} ${text(value)}`] : [];
  });
}

/** The rest of what is known: retrains 8, classes cpu, gpu. */
export function describeTraining(training: Training): string[] {
  const told = new Set(ACCURACY.map(([key]) => key));
  return Object.entries(training).filter(([key]) => !told.has(key)).map(([key, value]) => `${humanize(key)} ${formatValue(value)}`);
}

/** The file of a path, without its folders. */
const fileName = (path: string): string => path.split(/[/\\]/).pop() ?? path;

/** Models that the server keeps for itself, one for each cluster, against those that a person has trained. */
export const isCache = (folder: string): boolean => /(^|[/\\])(\.?cache|Caches)[/\\]/.test(folder);

/** How to train a model of this kind anew, over the file that is damaged. */
const retrainCommand = (kind: string, folder: string, file: string): string => `hms train ${kind} -o ${folder}/${file}`;
