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
