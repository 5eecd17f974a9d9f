/** Who was asked to speak and has said nothing yet: the next wave of the plan. */
import type { Debate, Turn } from '../api/types'
import type { Speech } from './live.svelte'
import { legsOf, steps, type Step } from './plan'

type Awaited = Pick<Step, 'actor' | 'target'>

const planned = new WeakMap<object, Step[]>()

function planOf(debate: Debate): Step[] {
  // The participants' list stays the same object while a debate is watched.
  const found = planned.get(debate.participants) ?? steps(legsOf(debate), debate.host?.id ?? null)
  planned.set(debate.participants, found)
  return found
}

/** A cue and an answer of one round are told apart by whom the host names. */
const key = (round: number, actor: string, cued: string | null): string => `${round} ${actor} ${cued ?? ''}`

export function awaitedBy(debate: Debate, turns: Turn[], speeches: Speech[]): Awaited[] {
  const speaking = new Set(speeches.map((speech) => speech.actor))
  if (debate.status === 'ending') {
    const closer = debate.host?.id ?? debate.participants[0]?.id
    return closer && !speaking.has(closer) ? [{ actor: closer, target: null }] : []
  }
  if (debate.status !== 'running') return []
  const hostId = debate.host?.id
  const spoken = new Set(turns.map((turn) => key(turn.round, turn.actor, turn.kind === 'cue' ? turn.target : null)))
  const left = planOf(debate).filter((step) => !spoken.has(key(step.round, step.actor, step.actor === hostId ? step.target : null)))
  return left.filter((step) => step.wave === left[0]?.wave && !speaking.has(step.actor))
}
