/** Send a file and tell how far it is; fetch cannot tell that yet. */
import { ApiError, token, type Schemas } from '@/api/client';

type WorkloadLine = Schemas['WorkloadLine'];

export function uploadFile(file: Blob, name: string, progress: (share: number) => void): Promise<WorkloadLine> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `/api/workloads?name=${encodeURIComponent(name)}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    if (token.get()) request.setRequestHeader('authorization', `Bearer ${token.get()}`);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(new ApiError('the server does not answer', 'is hms serve still running?', 0));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText) as WorkloadLine);
      else reject(parseUploadError(request.status, request.responseText));
    };
    request.send(file);
  });
}

function parseUploadError(status: number, text: string): ApiError {
  try {
    const { error } = JSON.parse(text) as Schemas['ErrorAnswer'];
    return new ApiError(error.message, error.hint, status);
  } catch {
    return new ApiError(`the server answered ${status}`, 'its log says why', status);
  }
}

/** Names that the server takes: small letters, digits, dot, dash and underscore, beginning with a letter or digit. */
const MAX_LENGTH = 100;

/** A name made from that of a file: `My Trace (1).CSV` becomes `my-trace-1.csv`. */
export function cleanName(file: string): string {
  const plain = (file.split(/[/\\]/).pop() ?? '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/-+/g, '-')
    .replace(/-*\.-*/g, '.')
    .replace(/^[^a-z0-9]+|[-_.]+$/g, '');
  return truncateName(plain || 'trace');
}

/** Too long a name loses letters before its ending, not the ending. */
function truncateName(name: string): string {
  if (name.length <= MAX_LENGTH) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && name.length - dot <= 10 ? name.slice(dot) : '';
  return name.slice(0, MAX_LENGTH - ending.length) + ending;
}

/** What is wrong with a name; empty: nothing. */
export function validateName(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return '';
  return `The name may have up to ${MAX_LENGTH} of a-z, 0-9, dot, dash and underscore; the first a letter or digit.`;
}
