/** Take a file by button or by drag and drop, give it a name, send it. */
import { useRef, useState, type DragEvent } from 'react';
import { FileUp } from 'lucide-react';
import type { ApiError } from '@/api/client';
import { showToast } from '@/app/toasts';
import { formatBytes } from '@/look/format';
import { Button, ErrorMessage, Field, INPUT_CLASS } from '@/look/parts';
import { tryCommand } from '../parts/attempt';
import { ProgressBar } from '../parts/Progress';
import { pluralize } from '../parts/words';
import { cleanName, validateName } from './names';
import { uploadFile } from './upload';

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
        <Button onClick={onClose} disabled={share !== null}>Put it away</Button>
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
      <ProgressBar done={Math.round(share * 100)} of={100} label="Upload" />
      <p role="status" className="mt-1 text-xs text-quiet">{share < 1 ? 'It is being sent.' : 'It has arrived and is being read.'}</p>
    </div>
  );
}
