/** Send a file and tell how far it is; fetch cannot tell that yet. */
import { Problem, token, type Schemas } from '@/api/client';

type Line = Schemas['WorkloadLine'];

export function upload(file: Blob, name: string, progress: (share: number) => void): Promise<Line> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `/api/workloads?name=${encodeURIComponent(name)}`);
    request.setRequestHeader('content-type', 'application/octet-stream');
    if (token.get()) request.setRequestHeader('authorization', `Bearer ${token.get()}`);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(new Problem('the server does not answer', 'is hms serve still running?', 0));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText) as Line);
      else reject(problemOf(request.status, request.responseText));
    };
    request.send(file);
  });
}

function problemOf(status: number, text: string): Problem {
  try {
    const { error } = JSON.parse(text) as Schemas['ErrorAnswer'];
    return new Problem(error.message, error.hint, status);
  } catch {
    return new Problem(`the server answered ${status}`, 'its log says why', status);
  }
}
