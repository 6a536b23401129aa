/** Take a file by button or by drag and drop, give it a name, send it. */
import { useRef, useState, type DragEvent } from 'react';
import { Download, FileUp } from 'lucide-react';
import type { ApiError } from '@/api/client';
import { ProgressBar } from '@/components/AsyncContent';
import { Button, ErrorMessage, Field, INPUT_CLASS } from '@/components/controls';
import { tryCommand } from '@/state/commands';
import { showToast } from '@/state/toasts';
import { downloadFile } from '@/utils/download';
import { formatBytes, pluralize } from '@/utils/format';
import { cleanName, uploadFile, validateName } from './upload';

export function UploadArea({ most, formats, onDone }: { most: number; formats: string[]; onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement | null>(null);
  const take = (files: FileList | null) => files?.[0] && setFile(files[0]);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    <section
      aria-label="Upload a workload"
      data-testid="drop"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`rounded-2xl border-2 border-dashed p-4 ${over ? 'border-accent bg-accent/10' : 'border-strong'}`}
    >
      <div className="flex flex-wrap items-center gap-3">
        <FileUp size={22} className="text-quiet" aria-hidden="true" />
        <p className="min-w-0 flex-1 basis-48 text-sm">
          <span className="block font-semibold">{over ? 'Let go to take the file' : 'Drop a trace here, or choose one'}</span>
          <span className="text-quiet">{formats.join(', ')}; {formatBytes(most)} at most. It stays on the machine of the server.</span>
        </p>
        <input ref={input} id="workload-file" type="file" className="sr-only" aria-label="File with tasks" onChange={(event) => { take(event.target.files); event.target.value = ''; }} />
        <Button kind="main" onClick={() => input.current?.click()}>Choose a file</Button>
      </div>
      {file && <UploadForm key={`${file.name} ${file.lastModified} ${file.size}`} file={file} most={most} onClose={() => setFile(null)} onDone={onDone} />}
    </section>
  );
}

function UploadForm({ file, most, onClose, onDone }: { file: File; most: number; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(() => cleanName(file.name));
  const [share, setShare] = useState<number | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const fault = file.size > most ? `The file has ${formatBytes(file.size)}, at most ${formatBytes(most)} can be taken.` : validateName(name);
  const send = () => {
    setProblem(null);
    setShare(0);
    const refused = (found: ApiError) => {
      setShare(null);
      setProblem(found);
    };
    return tryCommand(
      () => uploadFile(file, name, setShare),
      (line) => {
        showToast('good', `${line.name} is uploaded`, pluralize(line.tasks, 'task'));
        onClose();
        onDone();
      },
      refused,
    );
  };
  return (
    <form
      className="mt-3 space-y-3 border-t border-edge pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fault && share === null) void send();
      }}
    >
      <div className="flex flex-wrap items-end gap-2">
        <div className="min-w-0 flex-1 basis-56"><Field label="Name" hint={`${file.name}, ${formatBytes(file.size)}`}><input className={INPUT_CLASS} value={name} autoFocus spellCheck={false} disabled={share !== null} onChange={(event) => setName(event.target.value)} /></Field></div>
        <Button kind="main" type="submit" disabled={fault !== '' || share !== null}>Upload</Button>
        <Button onClick={onClose} disabled={share !== null}>Discard</Button>
      </div>
      {share !== null && <UploadProgress share={share} />}
      {fault && <ErrorMessage message={fault} />}
      {problem && <ErrorMessage message={problem.message} hint={problem.hint} />}
    </form>
  );
}

function UploadProgress({ share }: { share: number }) {
  return (
    <div>
      <ProgressBar done={Math.round(share * 100)} total={100} label="Upload" />
      <p role="status" className="mt-1 text-xs text-quiet">{share < 1 ? 'It is being sent.' : 'It has arrived and is being read.'}</p>
    </div>
  );
}

/** What a CSV of tasks must look like. */
export function FormatHelp({ formats }: { formats: string[] }) {
  return (
    <details className="panel px-4 py-3 text-sm">
      <summary className="font-semibold">What a file must look like</summary>
      <p className="mt-2 text-quiet">
        A CSV with a header and a task a line{formats.length > 1 ? `; ${formats.filter((each) => each !== 'csv').join(', ')} can be read too, the format is recognised` : ''}.
      </p>
      <div className="relative my-2 overflow-x-auto" tabIndex={0} role="group" aria-label="Columns">
        <table className="w-full text-left">
          <thead className="text-xs text-quiet"><tr><th className="py-1 pr-3 font-medium">Column</th><th className="pr-3 font-medium">Needed</th><th className="font-medium">Meaning</th></tr></thead>
          <tbody>
            {CSV_COLUMNS.map(([name, needed, meaning]) => (
              <tr key={name} className="border-t border-edge/60">
                <td className="num py-1 pr-3 text-xs whitespace-nowrap">{name}</td>
                <td className={`pr-3 text-xs ${needed === 'required' ? 'font-semibold' : 'text-quiet'}`}>{needed}</td>
                <td className="text-xs">{meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Button onClick={() => downloadFile('example.csv', 'text/csv', exampleCsv())}><Download size={15} aria-hidden="true" /> Example of ten tasks</Button>
    </details>
  );
}

/** A small trace to begin with, made here so that it is there even without a server. */
export const CSV_COLUMNS: [name: string, needed: string, meaning: string][] = [
  ['size', 'required', 'problem size N, above 0'],
  ['compute_intensity', 'required', 'how much it gains from a GPU, from 0 to 1'],
  ['memory_required', 'required', 'MB, 0 or more'],
  ['arrival_time', 'optional', 'seconds, 0 or more; 0 if absent'],
  ['task_id', 'optional', 'whole number, unique; the row number if absent'],
  ['dependencies', 'optional', 'ids of parents, like 1;2'],
  ['duration_estimate', 'optional', 'base duration in seconds; the formula if absent or empty'],
  ['time_<class>', 'optional', 'measured seconds on that class, like time_cpu; inf: cannot run there; empty: the formula'],
];

const EXAMPLE_ROWS = [
  [0, 4000, 0.58, 260, 0.03], [1, 1300, 0.53, 395, 0.06], [2, 2100, 0.8, 416, 0.07], [3, 3200, 0.45, 306, 0.1], [4, 4100, 0.81, 438, 0.11],
  [5, 2900, 0.7, 427, 0.12], [6, 3900, 0.17, 381, 0.14], [7, 4200, 0.85, 152, 0.15], [8, 2200, 0.67, 312, 0.23], [9, 3800, 0.2, 251, 0.24],
];

export const exampleCsv = (): string => ['task_id,size,compute_intensity,memory_required,arrival_time', ...EXAMPLE_ROWS.map((row) => row.join(','))].join('\n') + '\n';
