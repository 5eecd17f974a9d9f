/** What a debate leaves behind. */
import type { components } from '../api/schema'
import type { Debate, Turn } from '../api/types'

type Schemas = components['schemas']

export type Packet = Schemas['Packet']
export type Consensus = Schemas['ConsensusFile']
export type Counted = Schemas['CountedOption']
export type Move = Schemas['Move']
export type Missing = Schemas['Missing']
export type Report = Schemas['Report']
export type ReportSpeaker = Schemas['ReportSpeaker']
export type Statistics = Schemas['Statistics']

/** All that the screen shows; the last three of a debate that decides. */
export interface Found {
  debate: Debate
  report: Report | null
  packet: Packet | null
  consensus: Consensus | null
  turns: Turn[]
}
