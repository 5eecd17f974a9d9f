/** What the service says of agents, stations and what is on air. */
import type { Debate, Stance, Turn } from './types'

export interface Voice {
  lang: string
  name: string
  rate: number
  pitch: number
}

export interface Agent {
  id: string
  name: string
  bio: string
  model: string
  stance: Stance
  voice: Voice
  created_at: string
  updated_at: string
}

export interface Station {
  id: string
  name: string
  about: string
  public: boolean
  format: string
  options: Record<string, number>
  limits: Record<string, number | null>
  on_failure: 'pause' | 'degrade'
  zone: string
  cron: string | null
  missed: 'air' | 'skip'
  motions: string[]
  agents: string[]
  seats: number | null
  on_air: string | null
  next_slot: string | null
  skipped: number
  trouble: string | null
  created_at: string
  updated_at: string
}

export interface Conversation {
  id: string
  station: string
  motion: string
  format: string
  status: 'scheduled' | 'queued' | 'broadcasting' | 'paused' | 'completed' | 'stopped' | 'failed'
  due: string
  called: boolean
  started_at: string | null
  ended_at: string | null
  stop_reason: string | null
  degraded: boolean
  progress: { done: number; total: number }
  agents: (Agent & { seat: string })[]
}

/** What the pool would air at a time of the cron line; `agents` are ids, on a public page names. */
export interface Slot {
  due: string
  motion: string
  agents: string[]
}

export interface Programme {
  station: Station
  now: Conversation | null
  waiting: Conversation[]
  slots: Slot[]
  past: Conversation[]
}

export interface OnAir extends Omit<Programme, 'station'> {
  station: Pick<Station, 'id' | 'name' | 'about' | 'zone'>
}

type Facts = 'id' | 'motion' | 'format' | 'status' | 'degraded' | 'stop_reason' | 'stage' | 'round' | 'place' | 'stages' | 'progress'
type Cast = 'participants' | 'host'
type Log = 'last_seq' | 'created_at' | 'started_at' | 'ended_at'

/** A conversation that was aired, or is: all that was said. */
export interface Aired {
  conversation: Conversation
  debate: Pick<Debate, Facts | Cast | Log>
  turns: Turn[]
  report: AiredReport | null
}

/** The part of a report that listeners are shown. */
export interface AiredReport {
  summary: { text: string; by: string; turn: number | null }
  speakers: { id: string; name: string; mainPoints: { text: string; turn: number | null }[] }[]
}
