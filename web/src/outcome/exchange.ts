/** Who challenged whom, and what became of it: from a council's turns. */
import type { Turn } from '../api/types'
import { ROLES, type Move } from './types'

export interface Challenge {
  source: string
  target: string
  turn: number
  questions: { question: string; claim: string }[]
  /** What the target answered, and in which turn. */
  answers: string[]
  answeredIn: number | null
}

export interface Place {
  position: string
  confidence: number
  turn: number
}

export interface Voice {
  role: string
  first: Place | null
  last: Place | null
  /** Whether it stands for another option now; null where that cannot be said. */
  changed: boolean | null
  revisions: { change: string; reason: string }[]
}

export interface Exchange {
  voices: Voice[]
  challenges: Challenge[]
}

type Data = Record<string, unknown>

export function exchange(turns: Turn[], moved: Move[] | null): Exchange {
  const said = (round: number, role: string): Turn | undefined =>
    turns.find((turn) => turn.round === round && turn.name === role && turn.kind === 'speech')
  const voices = ROLES.map((role): Voice => {
    const first = place(said(1, role))
    const last = place(said(3, role))
    const changed = !first || !last ? null : moved ? moved.some((move) => move.role === role) : first.position !== last.position
    const revisions = items(said(3, role), 'revisions').map((one) => ({ change: text(one.change), reason: text(one.reason) }))
    return { role, first, last, changed, revisions }
  })
  const challenges = ROLES.flatMap((source): Challenge[] => {
    const turn = said(2, source)
    const target = ROLES.find((role) => role.toLowerCase() === turn?.target)
    if (!turn || !target || turn.status !== 'ok') return []
    const answer = said(3, target)
    const answers = items(answer, 'responses')
      .filter((one) => text(one.sourceRole).toLowerCase().includes(source.toLowerCase()))
      .map((one) => text(one.response))
    const questions = items(turn, 'challenges').map((one) => ({ question: text(one.question), claim: text(one.claim) }))
    return [{ source, target, turn: turn.seq, questions, answers, answeredIn: answers.length && answer ? answer.seq : null }]
  })
  return { voices, challenges }
}

function place(turn: Turn | undefined): Place | null {
  const data = turn?.status === 'ok' ? (turn.data as Data | null) : null
  if (!turn || !data || typeof data.position !== 'string') return null
  return { position: data.position, confidence: Number(data.confidence), turn: turn.seq }
}

function items(turn: Turn | undefined, name: string): Data[] {
  const found = turn?.status === 'ok' ? (turn.data as Data | null)?.[name] : null
  return Array.isArray(found) ? (found as Data[]).filter((one) => typeof one === 'object' && one !== null) : []
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
