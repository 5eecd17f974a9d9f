/** The service's shapes. `schema.d.ts` is made from openapi.json by `npm run types`. */
import type { components } from './schema'

type Schemas = components['schemas']

export type ListedDebate = Schemas['ListedDebate']
export type DebatePage = Schemas['Debates']
export type Turn = Schemas['Turn']
export type Participant = Schemas['Participant']
export type Failure = Schemas['Failure']
export type Progress = Schemas['Progress']
export type Usage = Schemas['Usage']
export type Limits = Schemas['Limits']
export type Place = Schemas['Place']
export type StageOfDebate = Schemas['StageOfDebate']
export type FormatProblem = Schemas['FormatProblem']
export type Provider = Schemas['Provider']
export type Providers = Schemas['Providers']
export type Formats = Omit<Schemas['Formats'], 'items'> & { items: Format[] }
export type Problem = Schemas['Problem']
export type DebateAsked = Schemas['DebateAsked']
export type SeatAsked = Schemas['SeatAsked']
export type Status = ListedDebate['status']
export type StopReason = NonNullable<ListedDebate['stop_reason']>
export type Stance = Participant['stance']
export type Debate = Omit<Schemas['Debate'], 'rules'> & { rules: Format }
/** The part of a debate that a turn is shown by: who sits where, and the stages. */
export type Table = Pick<Debate, 'participants' | 'host' | 'stages'> & { rules: Format | { roster: Pick<Roster, 'roles'>; stages?: undefined } }

/** A format, as `moot schema format` describes it. */
export interface Format {
  name: string
  title: string
  description: string
  rules: string
  ends: 'finished' | 'max_rounds' | 'max_turns'
  on_failure: 'pause' | 'degrade'
  max_turns: number | null
  /** `packet` only in the rules of older debates; see rules.ts. */
  outcome: 'transcript' | 'packet' | Outcome
  roster: Roster
  options: Record<string, FormatOption>
  /** Shapes of its own. */
  answers?: Record<string, { fields: Record<string, { type: string; list?: boolean }> }>
  stages: Stage[]
}

/** What a debate comes to, and the stages that it follows from. */
export interface Outcome {
  /** In which positions are stated, the latest first. */
  stands: string[]
  reading?: string | null
  verdict?: string | null
  packet: true
  record: boolean
}

export interface Role {
  name: string
  /** What its seat is told. */
  brief?: string
  /** Who speaks for it unless a model is named. */
  model?: string
}

export interface Roster {
  roles: (string | Role)[]
  min: number
  max: number
  host: 'required' | 'optional' | 'none'
  order: 'given' | 'stance'
}

export interface FormatOption {
  default: number
  min: number
  max: number
  help: string
}

export interface Stage {
  name: string
  /** What people read; a debate's own rules have it only where the format's file does. */
  title?: string
  speakers: 'participants' | 'host' | string[]
  kind: 'speech' | 'summary' | 'verdict'
  prelude: boolean
  needs_host: boolean
  rounds: number | string
  together: boolean
  cued: boolean
  /** Plain text, or the name of an answer's shape. */
  answer: string
  /** Where it has a limit of its own. */
  tokens?: number
  targets: Record<string, string>
  ask: string
  cue: string | null
}

/** What the stream says besides turns (§8 of the contract). */
export interface StatusEvent {
  status: Status
  reason: StopReason | null
  failure: Failure | null
  stage: string | null
  round: number | null
  progress: Progress
  degraded: boolean
  notice: string | null
  at: string
}

export interface DeltaEvent {
  round: number
  stage: string
  actor: string
  target: string | null
  text: string
  at: string
  /** 0: it begins, or begins again; with no text and no instruction, it was taken back. */
  offset: number
  /** What the host was asked, at the start of a cue. */
  instruction?: string | null
}

export type OutputType = Schemas['BriefAsked']['output_type']
export const OUTPUT_TYPES = ['decision', 'writing', 'architecture', 'planning', 'evaluation'] as const satisfies readonly OutputType[]

export const FINAL: readonly Status[] = ['completed', 'stopped', 'failed']
export const isFinal = (status: Status): boolean => FINAL.includes(status)
