/** A jury: who sits on it, what its jurors had heard when they voted, and their ballots. */
import type { Debate, Table, Turn } from '../api/types'

export type Reading = 'alone' | 'spoken' | 'swapped'

/** In words, as in core/schedule.py. */
export const READINGS: Record<Reading, string> = { alone: 'before the debate', spoken: 'one order', swapped: 'other order' }

/** No other seat has such an id. */
export const isJuror = (actor: string): boolean => /^juror-\d+$/.test(actor)

type Jury = NonNullable<Debate['jury']>

/** How often each juror votes: the page's twin of `Jury.readings`. */
export const readingsOf = (jury: Pick<Jury, 'swap' | 'baseline'>): Reading[] => [
  ...(jury.baseline ? (['alone'] as const) : []),
  'spoken',
  ...(jury.swap ? (['swapped'] as const) : []),
]

/** What a juror had heard when it voted in a round; null in a stage that is not the jury's. */
export function readingAt(debate: Pick<Table, 'stages' | 'jury'> & { rules?: Pick<Table['rules'], 'stages'> }, at: { stage: string | null; round: number | null }): Reading | null {
  const stage = debate.stages.find((one) => one.name === at.stage)
  const isJury = debate.rules?.stages?.find((one) => one.name === at.stage)?.speakers === 'jury'
  if (!debate.jury || !stage || !isJury || at.round === null) return null
  const readings = readingsOf(debate.jury)
  return readings[Math.min(Math.max(at.round - stage.first_round, 0), readings.length - 1)] ?? null
}

/** The same turns, with ballots reading by reading: they come in as they are cast. */
export function byReading(turns: Turn[]): Turn[] {
  const first = turns.findIndex((turn) => isJuror(turn.actor))
  if (first < 0) return turns
  const last = turns.findLastIndex((turn) => isJuror(turn.actor))
  const ballots = turns.slice(first, last + 1).toSorted((a, b) => a.round - b.round || a.seq - b.seq)
  return [...turns.slice(0, first), ...ballots, ...turns.slice(last + 1)]
}

export interface Grounds {
  text: string
  turns: number[]
  quotes: string[]
}

export interface Ballot {
  choice: string
  isUndecided: boolean
  confidence: number | null
  reasons: Grounds[]
  against: Grounds | null
  wouldChange: string
  questions: string[]
}

/** What a juror wrote; null if its ballot is not valid. */
export function ballotOf({ data, status }: Pick<Turn, 'data' | 'status'>): Ballot | null {
  const choice = text(data?.choice)
  if (status !== 'ok' || !data || !choice) return null
  return {
    choice,
    isUndecided: choice === 'undecided',
    confidence: typeof data.confidence === 'number' ? data.confidence : null,
    reasons: list(data.reasons).map(grounds).filter((one) => one.text),
    against: text(fields(data.against).text) ? grounds(data.against) : null,
    wouldChange: text(data.wouldChange),
    questions: list(data.questions).map(text).filter(Boolean),
  }
}

function grounds(value: unknown): Grounds {
  const found = fields(value)
  const turns = list(found.turns).filter((one): one is number => typeof one === 'number')
  const quotes = list(found.quotes).map((quote) => text(quote) || text(fields(quote).text) || text(fields(quote).quote)).filter(Boolean)
  return { text: text(found.text), turns, quotes }
}

/** A model wrote it, so take only what fits. */
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const fields = (value: unknown): Record<string, unknown> => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {})
