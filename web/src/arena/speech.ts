/** What is being said: put together from its deltas. */
import type { DeltaEvent } from '../api/types'
import { slotOf } from '../stream/protocol'

/** What somebody is saying now. */
export interface Speech {
  slot: string
  round: number
  stage: string
  actor: string
  target: string | null
  text: string
  /** From before a cut: it goes as soon as something else is heard. */
  stale: boolean
}

/** The speeches after some deltas; what was spoken to its end is no speech any more. */
export function heard(speeches: Speech[], deltas: DeltaEvent[], spoken: Set<string>): Speech[] {
  const now = new Map(speeches.map((speech) => [speech.slot, speech]))
  for (const delta of deltas) {
    const slot = slotOf(delta)
    const before = now.get(slot)
    if (spoken.has(slot) || (delta.offset === 0 && !delta.text)) now.delete(slot)
    else if (delta.offset === 0) now.set(slot, { ...delta, slot, stale: false })
    else if (before) now.set(slot, { ...before, text: before.text + delta.text, stale: false })
  }
  return [...now.values()]
}
