/** What can be chosen: read when it is first wanted. */
import { get } from './client'
import type { Format, Providers } from './types'

let formats: Promise<Format[]> | null = null

export function readFormats(): Promise<Format[]> {
  formats ??= get<{ items: Format[] }>('/formats')
    .then((page) => page.items)
    .catch((error: unknown) => {
      formats = null
      throw error
    })
  return formats
}

/** Asked anew each time: a key may have been set, a local server started. */
export const readProviders = (): Promise<Providers> => get<Providers>('/providers')
