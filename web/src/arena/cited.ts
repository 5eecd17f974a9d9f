/** A turn to paste elsewhere: its words as a quotation, and where they stand. */
import type { Debate, Turn } from '../api/types'
import { headingOf, PERSON, seatOf, sideWord } from '../text/words'

export function cited(debate: Debate, turn: Turn, address: string): string {
  const seat = seatOf(debate, turn.actor)
  const side = seat && seat.id !== debate.host?.id ? sideWord(debate.rules, seat.stance) : ''
  const who = [turn.name + (side ? ` (${side.toLowerCase()})` : ''), turn.model === PERSON ? 'a person' : turn.model]
  const words = turn.text.trim().split('\n').map((line) => `> ${line}`.trimEnd())
  const motion = debate.motion.replace(/\s+/g, ' ').replace(/([\[\]])/g, '\\$1')
  const place = `[turn ${turn.number}](${address}) of “${motion}”`
  return `${words.join('\n')}\n>\n> — ${who.join(', ')}, ${headingOf(debate, turn)}, ${place}, ${turn.committed_at.slice(0, 10)}\n`
}
