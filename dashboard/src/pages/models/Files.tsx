/** Model files of this machine, folder by folder. */
import { FileBox } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { Chip, Empty } from '@/look/parts';
import { SchedulerName } from '@/look/Shape';
import { Command } from '../parts/Command';
import { Folded } from '../parts/Folded';
import { Panel } from '../parts/Panel';
import { plural } from '../parts/words';
import { accuracyOf, isCache, retrain, trainingOf } from './words';

type File = Schemas['ModelFile'];

export function Files({ files }: { files: File[] }) {
  const folders = [...new Set(files.map((each) => each.folder))].toSorted((a, b) => Number(isCache(a)) - Number(isCache(b)));
  if (!folders.length) {
    return <Panel title="Model files" icon={<FileBox size={15} />}><Empty title="No model files on this machine"><p>Train one with the commands on this page: it appears here.</p></Empty></Panel>;
  }
  return <>{folders.map((folder) => <Folder key={folder} folder={folder} files={files.filter((each) => each.folder === folder)} />)}</>;
}

function Folder({ folder, files }: { folder: string; files: File[] }) {
  // What is damaged must not hide below the fold.
  const order = files.toSorted((a, b) => Number(a.intact) - Number(b.intact));
  return (
    <Panel title={isCache(folder) ? 'Taught before the race' : 'Model files'} icon={<FileBox size={15} />} subtitle={<span>{plural(files.length, 'file')} in <span className="num [overflow-wrap:anywhere]">{folder}</span>{isCache(folder) ? '; one for each cluster and version, made again if deleted' : ''}</span>}>
      <Folded items={order} of={(file) => file.file}>{(file) => <Line file={file} />}</Folded>
    </Panel>
  );
}

function Line({ file }: { file: File }) {
  const accuracy = accuracyOf(file.training);
  return (
    <article className="py-2.5 text-sm">
      <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[10rem_1fr_auto]">
        <div className="font-semibold"><SchedulerName name={file.kind} /></div>
        <div className="min-w-0">
          <span className="num block truncate text-xs" title={file.file}>{file.file}</span>
          <span className="block text-xs text-quiet">{trainingOf(file.training).join(' · ') || 'says nothing about its training'} · version {file.version}</span>
          {accuracy.length > 0 && <span className="num block text-xs">{accuracy.join(' · ')}</span>}
        </div>
        <div>{file.intact ? <Chip tone="good">✓ intact</Chip> : <Chip tone="bad">✕ damaged</Chip>}</div>
      </div>
      {!file.intact && <Damaged file={file} />}
    </article>
  );
}

function Damaged({ file }: { file: File }) {
  return (
    <div className="mt-2 space-y-1">
      <p className="text-xs text-bad">It is not the file that its manifest describes, so it will not be read. {isCache(file.folder) ? 'Delete it: it is made again when it is needed.' : 'Train it again:'}</p>
      {!isCache(file.folder) && <Command text={retrain(file.kind, file.folder, file.file)} />}
    </div>
  );
}
