/** What a debate leaves behind: outcome/packet.py, outcome/consensus.py and render/report.py, as JSON. */
import type { Debate, Stance, Status, StopReason, Turn } from '../api/types'

export interface Packet {
  runId: string
  problem: string
  constraints: string[]
  outputType: string
  participants: { role: string; modelProvider: string; modelName: string }[]
  consensus: { consensusScore: number; confidenceScore: number; keyAgreements: string[]; keyDisagreements: string[] }
  decision: { selectedOption: string; whySelected: string[]; rejectedOptions: { option: string; reason: string }[] }
  risks: { risk: string; severity: 'high' | 'medium' | 'low'; mitigation: string }[]
  nextActions: { id: string; action: string; owner: string; due: string }[]
  trace: { roundRefs: string[]; evidenceRefs: string[] }
  timestamps: { startedAt: string; finishedAt: string }
  degraded: boolean
  errorCodes: string[]
}

export interface Stand {
  role: string
  option: string
  confidence: number
  turn: number
}

export interface Counted {
  option: string
  support: number
  stands: Stand[]
}

export interface Move {
  role: string
  from: string
  to: string
  turns: number[]
  after: { role: string; turn: number }[]
}

export interface Missing {
  role: string
  stage: string
  turn: number
  errorCode: string | null
  errorMessage: string | null
}

/** `consensus.json` */
export interface Consensus {
  consensusScore: number
  confidenceScore: number
  favoured: string | null
  withoutMapping: { consensusScore: number; favoured: string | null }
  /** `round1`: where positions were first stated, whatever that stage is called. */
  tally: { round1: Counted[]; final: Counted[] }
  moved: Move[]
  droppedCitations: number
  missing: Missing[]
}

export interface Statistics {
  turns: number
  words: number
  inputTokens: number
  outputTokens: number
  costUsd: number
  seconds: number
  retries: number
  failures: number
  longestTurnWords: number
  share: number
  estimated: boolean
}

export interface ReportSpeaker {
  id: string
  name: string
  role: string
  stance: Stance
  models: string[]
  mainPoints: { text: string; turn: number | null }[]
  statistics: Statistics
}

export interface Closing {
  text: string
  by: 'judge' | 'host' | 'participant'
  turn: number | null
}

export interface Report {
  motion: string
  status: Status
  stopReason: StopReason | null
  degraded: boolean
  durationSeconds: number | null
  summary: Omit<Closing, 'by'> & { by: Closing['by'] | 'extraction' | 'model' }
  /** Where a model wrote the report: which, and what the host or the judge closed with. */
  writer?: { model: string; costUsd: number; madeAt: string }
  closing?: Closing | null
  /** Why there is no closing summary, although one was asked for. */
  unclosed?: string
  speakers: ReportSpeaker[]
  totals: Statistics
  rounds: { round: number; stage: string; turns: number; words: number; seconds: number }[]
  timeline: { turn: number; speaker: string; seconds: number; words: number; failed: boolean }[]
  failures: { turn: number; round: number; stage: string; speaker: string; model: string; errorCode: string | null }[]
}

/** All that the screen shows; the last three of a debate that decides. */
export interface Found {
  debate: Debate
  report: Report | null
  packet: Packet | null
  consensus: Consensus | null
  turns: Turn[]
}
