/** A debate's whole course, from its format: the page's twin of core/schedule.py. */
import type { Debate, Format, Stage, Stance } from '../api/types'

export interface Seat {
  id: string
  role: string
  stance: Stance
}

/** A stage laid out for the roster, options and limits. */
export interface Leg {
  stage: Stage
  firstRound: number
  rounds: number
  speakers: Seat[]
  turns: number
  /** How many calls follow one another: a wave counts once. */
  waves: number
}

export interface Step {
  round: number
  stage: string
  actor: string
  target: string | null
  /** Steps with the same number are spoken together. */
  wave: number
}

export interface Cast {
  participants: Seat[]
  host: Seat | null
  options: Record<string, number>
  maxTurns: number | null
}

const ORDER: Record<Stance, number> = { pro: 0, con: 1, neutral: 2 }

export function layout(rules: Format, cast: Cast): Leg[] {
  const ordered = [...cast.participants]
  if (rules.roster.order === 'stance') ordered.sort((a, b) => ORDER[a.stance] - ORDER[b.stance])
  const stages = rules.stages.filter((stage) => cast.host || !stage.needs_host)
  const casts = stages.map((stage) => speakers(stage, ordered, cast.host))
  const legs: Leg[] = []
  let following = stages[0]?.prelude ? 0 : 1
  stages.forEach((stage, place) => {
    const seats = casts[place] ?? []
    const asked = typeof stage.rounds === 'string' ? (cast.options[stage.rounds] ?? 0) : stage.rounds
    const perRound = stage.together ? 1 : Math.max(1, seats.length)
    const unitTurns = stage.together ? seats.length : stage.cued ? 2 : 1
    let units = asked * perRound
    if (asked === 0) {
      const reserve = casts.slice(place + 1).reduce((sum, later) => sum + later.length, 0)
      const spent = legs.reduce((sum, leg) => sum + leg.turns, 0)
      units = Math.max(0, Math.floor(((cast.maxTurns ?? rules.max_turns ?? 0) - spent - reserve) / unitTurns))
    }
    const rounds = Math.ceil(units / perRound)
    const turns = units * unitTurns
    legs.push({ stage, firstRound: following, rounds, speakers: seats, turns, waves: stage.together ? units : turns })
    following += rounds
  })
  return legs
}

function speakers(stage: Stage, ordered: Seat[], host: Seat | null): Seat[] {
  if (stage.speakers === 'host') return host ? [host] : []
  if (Array.isArray(stage.speakers)) return ordered.filter((seat) => stage.speakers.includes(seat.role))
  return ordered
}

export const legsOf = (debate: Debate): Leg[] =>
  layout(debate.rules, {
    participants: debate.participants,
    host: debate.host,
    options: debate.options,
    maxTurns: debate.limits.max_turns,
  })

/** Every step in its order. */
export function steps(legs: Leg[], { host, participants }: Pick<Cast, 'host' | 'participants'>): Step[] {
  const all: Step[] = []
  let wave = 0
  for (const { stage, firstRound, speakers: seats, turns } of legs) {
    const end = all.length + turns
    for (let round = firstRound; all.length < end; round++) {
      if (stage.together) wave++
      for (const seat of seats) {
        if (all.length >= end) break
        const at = { round, stage: stage.name }
        if (stage.cued && host) all.push({ ...at, actor: host.id, target: seat.id, wave: ++wave })
        const target = targetOf(stage, seat, participants)
        all.push({ ...at, actor: seat.id, target, wave: stage.together ? wave : ++wave })
      }
      if (!seats.length) break
    }
  }
  return all
}

/** It may be somebody who does not speak in this stage. */
function targetOf(stage: Stage, seat: Seat, participants: Seat[]): string | null {
  const role = stage.targets[seat.role]
  return participants.find((other) => other.role === role)?.id ?? null
}
