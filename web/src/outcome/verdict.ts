/** A verdict in words, and as the drawings want it: the page's twin of render/verdict_text.py. */
import type { Debate } from '../api/types'
import { readingsOf, type Reading } from '../text/jury'
import { UNDECIDED, type Juror } from './jurors'
import type { Verdict } from './types'

type Kind = Verdict['outcome']

export const NAMES: Record<Kind, string> = {
  decided: 'Decided',
  contested: 'Contested',
  deadlock: 'Deadlock',
  needs_facts: 'Needs facts',
  no_verdict: 'No verdict',
}

export const MARKS: Record<Kind, string> = { decided: '✓', contested: '≠', deadlock: '=', needs_facts: '?', no_verdict: '–' }

const FACTS = 'facts are missing. The open questions come first.'

/** By who decides; a test compares them with those of render/verdict_text.py. */
const SENTENCES: Record<NonNullable<Verdict['decidedBy']>, Record<Kind, string>> = {
  jury: {
    decided: 'The jury chose this with a clear lead.',
    contested: 'More than half of the votes that count are for this, but not clearly enough to call it decided.',
    deadlock: "No option has more than half of the jury's votes.",
    needs_facts: `At least half of the jury's votes say that ${FACTS}`,
    no_verdict: 'Fewer than half of the jurors gave a vote that counts.',
  },
  judge: {
    decided: 'The {judge} chose this, and at least half of those who took a position stand for it.',
    contested: 'The {judge} chose this, but fewer than half of those who took a position stand for it.',
    deadlock: 'The {judge} chose nothing, and no option has more than half of the support.',
    needs_facts: `The {judge} cannot decide this yet: ${FACTS}`,
    no_verdict: 'The {judge} gave no verdict.',
  },
  positions: {
    decided: 'The speakers decided this themselves: they stand for it with a clear lead.',
    contested: 'More than half of those who took a position stand for this, but not clearly enough to call it decided.',
    deadlock: 'No option has more than half of the speakers behind it.',
    needs_facts: 'At least half of the speakers who were heard are undecided. What is open comes first.',
    no_verdict: 'None of the speakers took a position.',
  },
}
const NOBODY = 'Nobody gave a verdict, and nobody took a position.'

export function sentenceOf({ outcome, decidedBy, judge }: Verdict): string {
  return decidedBy ? SENTENCES[decidedBy][outcome].replace('{judge}', judge?.name ?? 'judge') : NOBODY
}

/** How an option that is not decided is spoken of. */
export const aheadWords = (verdict: Verdict): string => (verdict.jury ? 'Ahead, not decided' : 'Chosen, not agreed')

type Split = NonNullable<Verdict['jury']>['split']

export const optionWords = (option: string): string => (option === UNDECIDED ? 'undecided' : `“${option}”`)

/** “2 for “Ship it”, 1 undecided”. */
export function splitWords(split: Split): string {
  const votes = split.filter((one) => one.votes > 0).toSorted((a, b) => b.votes - a.votes)
  return votes.map(({ option, votes: number }) => (option === UNDECIDED ? `${number} undecided` : `${number} for “${option}”`)).join(', ') || 'no vote counts'
}

/** The jurors with the votes that they were asked for. */
export function jurorsOf({ jury }: Verdict, debate: Debate): Juror[] {
  const all = jury?.jurors ?? []
  const had = (reading: Reading): boolean => all.some((one) => ({ alone: one.alone, spoken: one.choice, swapped: one.swapped })[reading] !== null)
  const asked = debate.jury ? readingsOf(debate.jury) : (['alone', 'spoken', 'swapped'] as const).filter(had)
  return all.map((one) => {
    const votes = { alone: one.alone, spoken: one.choice, swapped: one.swapped }
    return { name: one.name, model: one.model, votes: Object.fromEntries(asked.map((reading) => [reading, votes[reading]])), flipped: one.flipped, turn: one.turn }
  })
}

/** “Juror 2 chose differently when the order changed, so this vote does not count.” */
export function flipWords(jurors: Juror[]): string {
  const flipped = jurors.filter((juror) => juror.flipped).map((juror) => juror.name)
  if (!flipped.length) return ''
  const last = flipped.at(-1) ?? ''
  const who = flipped.length > 1 ? `${flipped.slice(0, -1).join(', ')} and ${last}` : last
  return `${who} chose differently when the order changed, so ${flipped.length === 1 ? 'this vote does' : 'these votes do'} not count.`
}

/** Jurors without a flip whose ballots are missing or not valid. */
export function invalidWords({ jury }: Verdict, jurors: Juror[]): string {
  const gone = (jury?.asked ?? 0) - (jury?.valid ?? 0) - jurors.filter((juror) => juror.flipped).length
  return gone > 0 ? `${gone} of ${jury?.asked} gave no valid ballot.` : ''
}
