/** Formats and providers: loaded on first use. */
import { get } from './client'
import type { Format, FormatProblem, Formats, Offered, Providers } from './types'

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

/** Loaded each time: somebody may have set a key or started a local server. */
export const readProviders = (): Promise<Providers> => get<Providers>('/providers')

/** What the providers offer: they are asked, which may take a few seconds. */
export const readOffers = (): Promise<Offered> => get<Offered>('/models')
