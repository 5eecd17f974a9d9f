/** What a debate leaves behind. */
import type { components } from '../api/schema'
import type { Debate, Turn } from '../api/types'

type Schemas = components['schemas']

export type Packet = Schemas['Packet']
export type Consensus = Schemas['ConsensusFile']
export type Counted = Schemas['CountedOption']
export type Move = Schemas['Move']
export type Missing = Schemas['Missing']
export type Verdict = Schemas['Verdict']
export type VerdictOption = Verdict['options'][number]
export type VerdictMove = Verdict['moved'][number]
export type SaidBy = Verdict['openQuestions'][number]
export type Report = Schemas['Report']
export type ReportSpeaker = Schemas['ReportSpeaker']
export type Finding = Schemas['SpeakersFinding']
export type Statistics = Schemas['Statistics']

/** All that the screen shows; the last four of a debate that decides. */
export interface Found {
  debate: Debate
  report: Report | null
  /** Of a debate that began before there were verdicts, null. */
  verdict: Verdict | null
  packet: Packet | null
  consensus: Consensus | null
  turns: Turn[]
}
