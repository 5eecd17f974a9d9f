/** What a debate's rules say of its cast and its outcome: the page's twin of core/format.py. */
import type { Format, Outcome, Role, Roster } from './types'

/** What `packet` meant before a format could say more: debates of that time have it. */
const PACKET: Outcome = { stands: ['round3', 'round1'], reading: 'consensus', verdict: 'judge', packet: true, record: true }

/** What the debate comes to, if it is to come to a decision. */
export function resultOf({ outcome }: Pick<Format, 'outcome'>): Outcome | null {
  if (outcome === 'transcript') return null
  return outcome === 'packet' ? PACKET : outcome
}

/** Whether a jury judges what was said in another debate: nothing in it can be said once more. */
export const isRejudged = ({ stages }: { stages?: readonly object[] }): boolean =>
  stages?.some((stage) => 'past' in stage && !!stage.past) ?? false

export const decides = (rules: Pick<Format, 'outcome'>): boolean => resultOf(rules) !== null

interface Seated {
  roster: Pick<Roster, 'roles'>
}

export const rolesOf = ({ roster }: Seated): Role[] => roster.roles.map((role) => (typeof role === 'string' ? { name: role } : role))

export const roleNames = (rules: Seated): string[] => rolesOf(rules).map((role) => role.name)

/** Whether seats argue for a side. Where every answer has a shape, each speaker finds a position of its own. */
export function hasSides({ roster, stages }: Pick<Format, 'roster' | 'stages'>): boolean {
  if (roster.roles.length) return false
  const spoken = stages.filter((stage) => stage.speakers !== 'host')
  return roster.order === 'stance' || spoken.some(({ answer, ask, cue }) => answer === 'text' || `${ask}${cue ?? ''}`.includes('{stance}'))
}

/** Who speaks in a stage of the cast that has roles; empty where everybody does. */
export function speakersOf({ stages }: Pick<Format, 'stages'>, name: string | null | undefined): string[] {
  const speakers = stages.find((stage) => stage.name === name)?.speakers
  return Array.isArray(speakers) ? speakers : []
}

/** The field of a stage's answer that says which option its speaker stands for. */
export function standField({ stages, answers }: Pick<Format, 'stages' | 'answers'>, name: string): 'position' | 'choice' {
  const answer = stages.find((stage) => stage.name === name)?.answer ?? ''
  const own = answers?.[answer]?.fields
  if (!own) return answer === 'ballot' ? 'choice' : 'position'
  return own.position?.type === 'line' && !own.position.list ? 'position' : 'choice'
}
