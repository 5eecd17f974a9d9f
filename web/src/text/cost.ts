/** What was spent, and what is expected, in words: the page's twin of render/cost.py. */
import type { Forecast, ListedDebate } from '../api/types'
import { count } from './words'

export const UNKNOWN = 'price unknown'
export const FREE = 'free, on this machine'

/** Of a debate, or of a document that it left. Those from before do not say whose price is unknown. */
export interface Spent {
  costUsd: number
  estimated: boolean
  unpriced?: string[]
  local?: boolean
}

export function dollars(value: number): string {
  if (value > 0 && value < 0.0001) return 'less than $0.0001'
  const places = value >= 1 || !value ? 2 : 4
  return `$${value.toLocaleString('en', { minimumFractionDigits: places, maximumFractionDigits: places })}`
}

/** An amount that was not spent yet: cents say all that is known of it. */
const about = (value: number): string => (value >= 0.01 ? `$${value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : dollars(value))

const priceOf = (unknown: string[]): string => `price of ${unknown.length < 3 ? unknown.join(' and ') : `${unknown.length} models`} unknown`

export function spentWords({ costUsd, estimated, unpriced = [], local = false }: Spent): string {
  const amount = `${estimated ? '≈ ' : ''}${dollars(costUsd)}`
  if (unpriced.length) return costUsd ? `at least ${amount}; ${priceOf(unpriced)}` : UNKNOWN
  return local && !costUsd ? FREE : amount
}

/** The same in a word or two, for a table. */
export function spentBriefly(spent: Spent): string {
  if (spent.unpriced?.length) return spent.costUsd ? `at least ${dollars(spent.costUsd)}` : 'unknown'
  return spent.local && !spent.costUsd ? 'free' : spentWords(spent)
}

type Paid = Pick<ListedDebate, 'spent' | 'unpriced' | 'local'>

/** What all calls of a debate took, those for its report too. */
export const spentOn = ({ spent, unpriced, local }: Paid): Spent => ({ costUsd: spent.cost_usd, estimated: spent.estimated, unpriced, local })

/** What a debate has cost so far: every call counts, also those that failed. Nothing before the first. */
export const costWords = (debate: Paid): string => (debate.spent.calls ? spentWords(spentOn(debate)) : '')

/** The same in a word or two, for a list. */
export function costBriefly(debate: Paid): string {
  const brief = debate.spent.calls ? spentBriefly(spentOn(debate)) : ''
  return brief === 'unknown' ? UNKNOWN : brief
}

/** The same, and what is expected as long as that is more. */
export function progressWords(debate: Paid, forecast: Forecast | null): string {
  const spent = costWords(debate)
  const likely = forecast?.cost_usd?.likely ?? 0
  if (!spent) return forecast ? expectedWords(forecast) : ''
  const counts = !debate.unpriced.length && !(debate.local && !debate.spent.cost_usd)
  return counts && likely > debate.spent.cost_usd ? `${spent} of about ${about(likely)}` : spent
}

/** What a debate is likely to cost, before its first call. */
export function expectedWords({ models, cost_usd }: Forecast): string {
  const unknown = models.filter((one) => !one.cost_usd).map((one) => one.model)
  const known = models.reduce((sum, one) => sum + (one.cost_usd?.likely ?? 0), 0)
  if (unknown.length || !cost_usd) return known ? `at least ${about(known)}; ${priceOf(unknown)}` : UNKNOWN
  if (!cost_usd.high) return models.every((one) => one.local) ? FREE : dollars(0)
  return `about ${about(cost_usd.likely)}, at most ${about(cost_usd.high)} without retries`
}

/** How often a model is called, how long that takes, and what it costs. */
export function outlookWords(forecast: Forecast): string {
  const { calls, seconds, input_tokens, output_tokens } = forecast
  const tokens = roughly(input_tokens.likely + output_tokens.likely)
  return [
    count(calls, 'call'),
    ...(tokens ? [`about ${tokens.toLocaleString('en')} tokens`] : []),
    ...(tokens ? [`about ${minutes(seconds.likely)}`] : []),
    expectedWords(forecast),
  ].join(' · ')
}

/** “$0.02 – $0.08 – $0.31” */
export const spanWords = (span: Forecast['cost_usd']): string => (span ? [span.low, span.likely, span.high].map(about).join(' – ') : 'unknown')

export const minutes = (seconds: number): string => `${Math.max(1, Math.round(seconds / 60))} min`

/** To two digits. */
export function roughly(tokens: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(tokens || 1)) - 1)
  return Math.round(tokens / step) * step
}
