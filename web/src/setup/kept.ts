/** What this browser remembers: the last cast, and unfinished entries. */
import { OUTPUT_TYPES, type OutputType, type Stance } from '../api/types'

export interface Agent {
  name: string
  bio: string
  model: string
}

export interface KeptSeat extends Agent {
  stance: Stance
}

/** A jury as it was asked for: `size` is null if the format decides. */
export interface KeptJury {
  size: number | null
  /** One for each juror; empty for a default. */
  models: string[]
  swap: boolean
  baseline: boolean
}

/** The service's name for the model of a juror, if those before it are named as well. */
export const jurorField = (place: number): string => `jury.models[${place}]`

export const NO_JURY: KeptJury = { size: null, models: [], swap: true, baseline: true }

/** A document that was sent: the service keeps it for a day. */
export interface KeptSource {
  upload: string
  title: string
  kind: string
  pages: number | null
  passages: number
  tokens: number
}

export interface Kept {
  format: string
  seats: KeptSeat[]
  host: Agent & { wanted: boolean }
  models: Record<string, string>
  jury: KeptJury
}

/** Everything entered in this tab: a reload or the browser's Back must not lose it. */
export interface KeptDraft extends Kept {
  motion: string
  options: Record<string, number | null>
  maxTurns: number | null
  limits: Record<string, number | null>
  cost: string
  onFailure: '' | 'pause' | 'degrade'
  early: boolean
  outputType: OutputType
  constraints: string
  record: '' | 'decision' | 'worklog'
  sources: KeptSource[]
}

/** What the service takes of a debate's documents. */
export const MOST_SOURCES = 20

/** The sizes to choose from; null is the format's own. */
export const JURY_SIZES = [null, 0, 3, 5] as const
export const MOST_JURORS = 11

const DRAFT = 'moot.draft'
const CAST = 'moot.cast'
const QUESTION = 'moot.question'
const MODELS = 'moot.models'
const AGENTS = 'moot.agents'

/** The storage may hold anything, so take only what fits. */
function read(key: string, storage = localStorage): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const fields = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function agent(value: unknown): Agent {
  const found = fields(value)
  return { name: text(found.name), bio: text(found.bio), model: text(found.model) }
}

function seat(value: unknown): KeptSeat {
  const { stance } = fields(value)
  return { ...agent(value), stance: stance === 'pro' || stance === 'con' ? stance : 'neutral' }
}

function source(value: unknown): KeptSource {
  const found = fields(value)
  const { upload, title, kind } = found
  return { upload: text(upload), title: text(title), kind: text(kind), pages: number(found.pages), passages: number(found.passages) ?? 0, tokens: number(found.tokens) ?? 0 }
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const numbers = (value: unknown): Record<string, number | null> =>
  Object.fromEntries(Object.entries(fields(value)).map(([name, one]) => [name, number(one)]))
const oneOf = <T>(value: unknown, known: readonly T[], otherwise: T): T => known.find((one) => one === value) ?? otherwise

export const lastCast = (): Kept | null => cast(fields(read(CAST)))

export function keptDraft(): KeptDraft | null {
  const found = fields(read(DRAFT, sessionStorage))
  const kept = cast(found)
  return (
    kept && {
      ...kept,
      motion: text(found.motion),
      options: numbers(found.options),
      maxTurns: number(found.maxTurns),
      limits: numbers(found.limits),
      cost: text(found.cost),
      onFailure: oneOf(found.onFailure, ['', 'pause', 'degrade'] as const, ''),
      early: found.early === true,
      outputType: oneOf(found.outputType, OUTPUT_TYPES, 'decision'),
      constraints: text(found.constraints),
      record: oneOf(found.record, ['', 'decision', 'worklog'] as const, ''),
      sources: Array.isArray(found.sources) ? found.sources.slice(0, MOST_SOURCES).map(source).filter((one) => one.upload) : [],
    }
  )
}

export function keepDraft(draft: KeptDraft): void {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify(draft))
  } catch {
    // storage is full: only the convenience is lost
  }
}

export function forgetDraft(): void {
  sessionStorage.removeItem(DRAFT)
  sessionStorage.removeItem(QUESTION)
}

/** The question on the first page, which a set-up in detail begins with. */
export const keptQuestion = (): string => text(sessionStorage.getItem(QUESTION))

export function keepQuestion(question: string): void {
  try {
    sessionStorage.setItem(QUESTION, question)
  } catch {
    // storage is full: only the convenience is lost
  }
}

/** The models of the cast on the first page, by seat; empty for a default. */
export function keptModels(): string[] {
  const found = read(MODELS)
  return Array.isArray(found) ? found.slice(0, 12).map(text) : []
}

export const keepModels = (models: string[]): void => localStorage.setItem(MODELS, JSON.stringify(models))

function cast(found: Record<string, unknown>): Kept | null {
  if (!Array.isArray(found.seats)) return null
  const models = Object.entries(fields(found.models)).map(([role, model]) => [role, text(model)])
  return {
    format: text(found.format),
    seats: found.seats.slice(0, 12).map(seat),
    host: { ...agent(found.host), wanted: fields(found.host).wanted === true },
    models: Object.fromEntries(models) as Record<string, string>,
    jury: jury(fields(found.jury)),
  }
}

const jury = ({ size, models, swap, baseline }: Record<string, unknown>): KeptJury => ({
  size: oneOf(size, JURY_SIZES, null),
  models: Array.isArray(models) ? models.slice(0, MOST_JURORS).map(text) : [],
  swap: swap !== false,
  baseline: baseline !== false,
})

export const keepCast = (kept: Kept): void => localStorage.setItem(CAST, JSON.stringify(kept))

/** Agents that an earlier version kept here: offered to the service once, then discarded. */
export function oldAgents(): Agent[] {
  const found = read(AGENTS)
  return Array.isArray(found) ? found.map(agent).filter((one) => one.name) : []
}

export function keepOldAgents(agents: Agent[]): void {
  if (agents.length) localStorage.setItem(AGENTS, JSON.stringify(agents))
  else localStorage.removeItem(AGENTS)
}
