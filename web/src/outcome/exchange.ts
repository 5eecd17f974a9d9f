/** Who stood where, who challenged whom, and what became of it: from the turns of a debate that decides. */
import { resultOf, standField } from '../api/rules'
import type { Debate, Participant, Turn } from '../api/types'
import { titleOf } from '../text/words'
import type { Move } from './types'

export interface Challenge {
  /** Ids of seats. */
  source: string
  target: string
  turn: number
  questions: { question: string; claim: string }[]
  /** What the target answered. */
  answers: string[]
  /** The turn with these answers or, if it names nobody whom it answers, what the target said next. */
  answeredIn: number | null
}

export interface Place {
  position: string
  /** null where nobody was asked how sure they are. */
  confidence: number | null
  /** A vote for none of the options. */
  isUndecided: boolean
  turn: number
}

export interface Point {
  text: string
  turns: number[]
}

export interface Voice {
  id: string
  name: string
  /** Whether it is asked for a position at all. */
  asked: boolean
  first: Place | null
  last: Place | null
  /** Whether it stands for another option now; null where that cannot be said. */
  changed: boolean | null
  revisions: { change: string; reason: string }[]
  /** Why it votes as it does, and the best reason against that. */
  reasons: Point[]
  against: Point | null
}

export interface Exchange {
  voices: Voice[]
  challenges: Challenge[]
  /** What the stage is called in which positions are first stated. */
  first: string
  /** Whether they are stated again later. */
  isRevised: boolean
  /** Whether anybody is set against another. */
  isAimed: boolean
}

type Data = Record<string, unknown>

export const droppedWords = (number: number): string =>
  `${number === 1 ? 'One citation was' : `${number} citations were`} dropped: no turn with that number had been spoken.`

/** Characters of an answer in plain text that are shown in place of a question. */
const CLIP = 400

export function exchange(debate: Debate, turns: Turn[], moved: Move[] | null): Exchange | null {
  const { rules, participants } = debate
  const result = resultOf(rules)
  if (!result) return null
  const spoken = turns.filter((turn) => turn.status === 'ok')
  const challenges = challengesOf(participants, spoken, result.stands)
  const aimed = new Set(challenges.flatMap(({ source, target }) => [source, target]))
  const voices = participants.map((seat): Voice => {
    const asked = rules.stages.some(({ name, speakers }) => result.stands.includes(name) && (speakers === 'participants' || speakers.includes(seat.role)))
    const [first = null, ...later] = result.stands.toReversed().map((stage) => placed(debate, spoken, seat, stage))
    const last = later.findLast((place) => place !== null) ?? null
    const changed = !first || !last || last.isUndecided ? null : moved ? moved.some((move) => move.role === seat.name) : first.position !== last.position
    return { id: seat.id, name: seat.name, asked, first, last, changed, ...grounds(spoken.find((turn) => turn.number === last?.turn), spoken) }
  })
  return {
    voices: voices.filter((voice) => voice.asked || aimed.has(voice.id)),
    challenges,
    first: titleOf(debate, result.stands.at(-1) ?? null),
    isRevised: result.stands.length > 1,
    isAimed: rules.stages.some((stage) => Object.keys(stage.targets).length > 0),
  }
}

/** Where a seat stood at the end of a stage. */
function placed(debate: Debate, spoken: Turn[], seat: Participant, stage: string): Place | null {
  const turn = spoken.findLast((one) => one.stage === stage && one.actor === seat.id && one.data)
  const field = standField(debate.rules, stage)
  const position = turn?.data?.[field]
  if (!turn || typeof position !== 'string') return null
  const confidence = turn.data?.confidence
  return {
    position,
    confidence: typeof confidence === 'number' ? confidence : null,
    isUndecided: field === 'choice' && position === 'undecided',
    turn: turn.number,
  }
}

/** What a seat says for the position that it takes at the end. */
function grounds(turn: Turn | undefined, spoken: Turn[]): Pick<Voice, 'revisions' | 'reasons' | 'against'> {
  const point = (one: Data): Point => ({ text: text(one.text), turns: cited(one.turns, turn, spoken) })
  const against = turn?.data?.against
  return {
    revisions: items(turn, 'revisions').map((one) => ({ change: text(one.change), reason: text(one.reason) })),
    reasons: items(turn, 'reasons').map(point).filter((one) => one.text),
    against: isTable(against) && text(against.text) ? point(against) : null,
  }
}

/** A model may name turns that do not exist, or that it could not have heard. */
function cited(turns: unknown, by: Turn | undefined, spoken: Turn[]): number[] {
  const heard = new Set(spoken.filter((turn) => by && turn.round < by.round).map((turn) => turn.number))
  return Array.isArray(turns) ? (turns as number[]).filter((number) => heard.has(number)) : []
}

function challengesOf(participants: Participant[], spoken: Turn[], stands: string[]): Challenge[] {
  const named = new Map(participants.map((seat) => [seat.id, seat.name]))
  const ids = [...named.keys()]
  const ordered = spoken.toSorted((a, b) => a.round - b.round || ids.indexOf(a.actor) - ids.indexOf(b.actor)) // not as they came in
  return ordered.flatMap((turn): Challenge[] => {
    const { actor: source, target, number, kind } = turn
    const asked = items(turn, 'challenges').map((one) => ({ question: text(one.question), claim: text(one.claim) }))
    if (kind === 'cue' || !target || !named.has(source) || !named.has(target)) return []
    if (!asked.length && stands.includes(turn.stage)) return [] // it takes a position; it does not ask for one
    const questions = asked.length ? asked : [{ question: turn.text.length > CLIP ? `${turn.text.slice(0, CLIP)} …` : turn.text, claim: '' }]
    return [{ source, target, turn: number, questions, ...answered(spoken, named.get(source) ?? '', target, turn) }]
  })
}

function answered(spoken: Turn[], source: string, target: string, challenge: Turn): Pick<Challenge, 'answers' | 'answeredIn'> {
  const later = spoken.filter((turn) => turn.actor === target && turn.round > challenge.round && turn.kind === 'speech')
  for (const turn of later) {
    const answers = items(turn, 'responses')
      .filter((one) => text(one.sourceRole).toLowerCase().includes(source.toLowerCase()))
      .map((one) => text(one.response))
    if (answers.length) return { answers, answeredIn: turn.number }
  }
  const next = later.find((turn) => !Array.isArray(turn.data?.responses))
  return { answers: [], answeredIn: next?.number ?? null }
}

const isTable = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value)

function items(turn: Turn | undefined, name: string): Data[] {
  const found = turn?.data?.[name]
  return Array.isArray(found) ? found.filter(isTable) : []
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

// --- what became of a position

export const WORDS = {
  changed: 'Changed',
  reworded: 'Same, reworded',
  same: 'Did not change',
  undecided: 'Undecided',
  unrevised: 'Not revised',
  stated: 'Stated once',
  unasked: 'Took no position',
}
export const MARKS: Record<Turned, string> = { changed: '↻', reworded: '≈', same: '=', undecided: '?', unrevised: '?', stated: '·', unasked: '·' }
export type Turned = keyof typeof WORDS

export function turned({ asked, changed, first, last }: Voice, isRevised: boolean): Turned {
  if (!asked) return 'unasked'
  if ((last ?? first)?.isUndecided) return 'undecided'
  if (!isRevised) return first ? 'stated' : 'unasked'
  if (changed === null) return 'unrevised'
  return changed ? 'changed' : first?.position === last?.position ? 'same' : 'reworded'
}
