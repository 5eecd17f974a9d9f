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

/** The formats’ titles by their names, once they are read. */
const titles = $state<Record<string, string>>({})
export const formatTitle = (format: string): string | undefined => titles[format]

export async function readFormats(): Promise<Format[]> {
  const { items } = await read()
  for (const { name, title } of items) titles[name] = title
  return items
}
/** Files that cannot be used. */
export const readFormatProblems = async (): Promise<FormatProblem[]> => (await read()).problems

/** Loaded each time: somebody may have set a key or started a local server. */
export const readProviders = (): Promise<Providers> => get<Providers>('/providers')

/** What the providers offer: they are asked, which may take a few seconds. */
export const readOffers = (): Promise<Offered> => get<Offered>('/models')
