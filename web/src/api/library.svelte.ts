/** What can be chosen: read when it is first wanted. */
import { get } from './client'
import type { Format, FormatProblem, Formats, Providers } from './types'

let formats: Promise<Formats> | null = null

function read(): Promise<Formats> {
  formats ??= get<Formats>('/formats').catch((error: unknown) => {
    formats = null
    throw error
  })
  return formats
}

export const readFormats = async (): Promise<Format[]> => (await read()).items
/** Files that cannot be used. */
export const readFormatProblems = async (): Promise<FormatProblem[]> => (await read()).problems

/** Asked anew each time: a key may have been set, a local server started. */
export const readProviders = (): Promise<Providers> => get<Providers>('/providers')
