/** What is being said: put together from its deltas. */
import type { DeltaEvent } from '../api/types'
import { slotOf, soFar } from '../stream/protocol'

/** What somebody is saying now. */
export interface Speech extends DeltaEvent {
  slot: string
  /** From before a cut: it goes as soon as something else is heard. */
  stale: boolean
}

/** The speeches after some deltas; what was spoken to its end is no speech any more. */
export function heard(speeches: Speech[], deltas: DeltaEvent[], spoken: Set<string>): Speech[] {
  const now = new Map(speeches.map((speech) => [speech.slot, speech]))
  for (const delta of deltas) {
    const slot = slotOf(delta)
    const said = spoken.has(slot) ? null : soFar(now.get(slot), delta)
    if (said) now.set(slot, { ...said, slot, stale: false })
    else now.delete(slot)
  }
  return [...now.values()]
}
