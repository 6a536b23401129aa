/** Requests to the server, with one kind of error: a line to show and what to do next. */
import type { components } from './rest';

export type Schemas = components['schemas'];

export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string,
    readonly status: number,
  ) {
    super(message);
  }
}

const TOKEN = 'hms.token';
export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? '',
  set: (value: string) => sessionStorage.setItem(TOKEN, value),
};

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

export async function request<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = {};
  const raw = body instanceof Blob;
  if (body !== undefined) headers['content-type'] = raw ? 'application/octet-stream' : 'application/json';
  if (method !== 'GET' && token.get()) headers.authorization = `Bearer ${token.get()}`;
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: raw ? body : body === undefined ? null : JSON.stringify(body) });
  } catch {
    throw new ApiError('the server does not answer', 'is hms serve still running?', 0);
  }
  if (!response.ok) throw await parseError(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

async function parseError(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as { error: { message: string; hint: string } };
    return new ApiError(error.message, error.hint, response.status);
  } catch {
    return new ApiError(`the server answered ${response.status}`, 'its log says why', response.status);
  }
}

export const get = <T>(path: string) => request<T>('GET', path);
export const post = <T>(path: string, body?: unknown) => request<T>('POST', path, body);
export const patch = <T>(path: string, body: unknown) => request<T>('PATCH', path, body);
export const remove = (path: string) => request<void>('DELETE', path);
