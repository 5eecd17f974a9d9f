/** Public calls, made without a token: a wrong token would be refused. */
import { Refused, Unreachable } from '../api/client'
import type { Problem } from '../api/types'

const PATIENCE = 15_000

export async function read<T>(path: string, closed: AbortSignal): Promise<T> {
  const signal = AbortSignal.any([closed, AbortSignal.timeout(PATIENCE)])
  const response = await fetch(path, { signal, cache: 'no-store', headers: { Accept: 'application/json' } }).catch(() => {
    throw new Unreachable()
  })
  if (!response.ok) throw new Refused(response.status, await (response.json() as Promise<Partial<Problem>>).catch(() => ({})))
  return (await response.json().catch(() => {
    throw new Unreachable() // the response was cut off
  })) as T
}

export const isGone = (error: unknown): boolean => error instanceof Refused && (error.status === 404 || error.status === 422)
