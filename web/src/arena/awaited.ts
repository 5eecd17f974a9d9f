/** Who was asked to speak and has said nothing yet: the next wave of the plan. */
import type { Debate, Plan, PlannedStep, Turn } from '../api/types'
import type { Speech } from './speech'

export type Awaited = Pick<PlannedStep, 'round' | 'stage' | 'actor' | 'target'>
export type Place = { stage: string | null; round: number | null }

/** A cue and an answer of one round are told apart by whom the host names. */
const key = (round: number, actor: string, cued: string | null): string => `${round} ${actor} ${cued ?? ''}`

/** Where a debate that is ended closes: in its own last summary, or in a stage beside them. */
export function closingStage({ rules }: Debate): string {
  const last = rules.stages.at(-1)
  if (last?.kind === 'summary' && last.speakers === 'host') return last.name
  return rules.stages.some((stage) => stage.name === 'summary') ? 'closing' : 'summary'
}

/** Where a debate is now: at what is being said, or else after what was said last. */
export function placeNow(debate: Debate, speeches: Speech[], awaited: Awaited[]): Place {
  return speeches.find((speech) => !speech.stale) ?? speeches[0] ?? awaited[0] ?? debate
}

/** Without a plan, nobody is known to be awaited but who closes a debate. */
export function awaitedBy(debate: Debate, plan: Plan | null, turns: Turn[], speeches: Speech[]): Awaited[] {
  const speaking = new Set(speeches.map((speech) => `${speech.round} ${speech.actor}`))
  const isSpeaking = (round: number, actor: string): boolean => speaking.has(`${round} ${actor}`)
  if (debate.status === 'ending') {
    const stage = closingStage(debate)
    const last = turns.findLast((turn) => turn.kind !== 'note')
    const closing = turns.filter((turn) => turn.kind === 'summary' && turn.stage === stage && turn.round === last?.round)
    if (closing.some((turn) => turn.status === 'ok')) return []
    const round = (last?.round ?? 0) + (closing.length ? 0 : 1)
    const seats = debate.host ? [debate.host, ...debate.participants] : debate.participants
    const closer = seats.find((seat) => closing.every((turn) => turn.actor !== seat.id))?.id // who failed is followed by the next
    return closer && !isSpeaking(round, closer) ? [{ actor: closer, target: null, stage, round }] : []
  }
  if (debate.status !== 'running' || !plan) return []
  const spoken = new Set(turns.map((turn) => key(turn.round, turn.actor, turn.kind === 'cue' ? turn.target : null)))
  const left = plan.steps.filter((step) => !spoken.has(key(step.round, step.actor, step.kind === 'cue' ? step.target : null)))
  return left.filter((step) => step.wave === left[0]?.wave && !isSpeaking(step.round, step.actor))
}
