/** Model files of this machine, folder by folder. */
import { FileBox } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { Chip, EmptyState } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { CommandLine } from '../parts/Command';
import { CollapsibleList } from '../parts/Folded';
import { Panel } from '../parts/Panel';
import { pluralize } from '../parts/words';
import { describeAccuracy, isCache, retrainCommand, describeTraining } from './words';

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
    <Panel title={isCache(folder) ? 'Taught before the race' : 'Model files'} icon={<FileBox size={15} />} subtitle={<span>{pluralize(files.length, 'file')} in <span className="num [overflow-wrap:anywhere]">{folder}</span>{isCache(folder) ? '; one for each cluster and version, made again if deleted' : ''}</span>}>
      <CollapsibleList items={order} of={(file) => file.file}>{(file) => <FileRow file={file} />}</CollapsibleList>
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
