/** Calls to the service: JSON both ways, with the token if one is needed; problems become errors. */
import type { Problem } from './types'
import { guestOf } from './guest'
import { askForToken, authorization } from './token.svelte'

/** A refused call, with the service's message. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? `The service returned ${status}.`)
  }
}

/** The service cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super('The service is not responding. Is `moot serve` running?')
  }
}

type Query = Record<string, string | number | string[] | null | undefined>

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await call(path + search(query), { signal })
  return (await response.json()) as T
}

type Headers = Record<string, string>

export const post = <T>(path: string, body: object = {}, headers: Headers = {}): Promise<T> => send('POST', path, body, headers)
export const put = <T>(path: string, body: object): Promise<T> => send('PUT', path, body)
export const patch = <T>(path: string, body: object): Promise<T> => send('PATCH', path, body)

/** Returns the response body, if there is one. */
export async function del<T = void>(path: string): Promise<T> {
  const response = await call(path, { method: 'DELETE' })
  return (response.status === 204 ? undefined : await response.json()) as T
}

async function send<T>(method: string, path: string, body: object, headers: Headers = {}): Promise<T> {
  const response = await call(path, {
    method,
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
  return (await response.json()) as T
}

/** A file from the service, to save: a plain link could not send the token. */
export async function download(path: string): Promise<Blob> {
  return (await call(path, {})).blob()
}

async function call(path: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const sent = authorization()
    const response = await fetch(path, { ...init, headers: { ...init.headers, ...sent } }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') throw error
      throw new Unreachable()
    })
    if (response.ok) return response
    if (response.status !== 401 || guestOf !== null) throw new Refused(response.status, await problem(response, path))
    await askForToken(sent.Authorization)
  }
}

async function problem(response: Response, path: string): Promise<Partial<Problem>> {
  try {
    const found = (await response.json()) as Partial<Problem>
    const isDebate = response.status === 404 && /^\/debates\/[^/?]+$/.test(path)
    return isDebate ? { ...found, detail: 'There is no such debate.' } : found // the service's message is for programs
  } catch {
    return {}
  }
}

function search(query: Query): string {
  const found = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== '') found.append(name, String(one))
    }
  }
  const text = found.toString()
  return text && `?${text}`
}

/** The sentence to show for an error of any kind. */
export const sentence = (error: unknown): string =>
  error instanceof Refused || error instanceof Unreachable ? error.message : 'Something went wrong on this page.'
