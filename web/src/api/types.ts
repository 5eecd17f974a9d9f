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
/** `small`: the model is small, or the understudy. */
export type Provider = Schemas['Provider'] & { small?: boolean }
/** `default`: what seats without a model take; one, or several that are spread. */
export interface Providers {
  items: Provider[]
  default: string | string[]
}
export type Problem = Schemas['Problem']
export type DebateAsked = Schemas['DebateAsked']
export type SeatAsked = Schemas['SeatAsked']
export type Status = ListedDebate['status']
export type StopReason = NonNullable<ListedDebate['stop_reason']>
export type Stance = Participant['stance']
export type Debate = Omit<Schemas['Debate'], 'rules'> & { rules: Format }
/** The part of a debate that a turn is shown by: who sits where, and the stages. */
export type Table = Pick<Debate, 'participants' | 'host' | 'stages'> & {
  rules: { roster: Pick<Roster, 'roles'>; stages?: Pick<Stage, 'name' | 'title'>[] }
}

/** A format, as `moot schema format` describes it. */
export interface Format {
  name: string
  title: string
  description: string
  rules: string
  ends: 'finished' | 'max_rounds' | 'max_turns'
  on_failure: 'pause' | 'degrade'
  max_turns: number | null
  outcome: 'transcript' | 'packet'
  roster: Roster
  options: Record<string, FormatOption>
  stages: Stage[]
}

export interface Roster {
  roles: string[]
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
  targets: Record<string, string>
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

export interface CouncilAsked {
  problem: string
  output_type: OutputType
  constraints: string[]
  participants: { role: string; model_provider: string; model_name?: string }[]
  max_turn_seconds?: number
  max_turn_tokens?: number
  writeback_record_type?: 'decision' | 'worklog'
}

export const OUTPUT_TYPES = ['decision', 'writing', 'architecture', 'planning', 'evaluation'] as const
export type OutputType = (typeof OUTPUT_TYPES)[number]

export const FINAL: readonly Status[] = ['completed', 'stopped', 'failed']
export const isFinal = (status: Status): boolean => FINAL.includes(status)
