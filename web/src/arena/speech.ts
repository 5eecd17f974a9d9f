/** Turns in progress, assembled from their deltas. */
import type { DeltaEvent } from '../api/types'
import { slotOf, soFar } from '../stream/protocol'

/** What somebody is saying now. */
export interface Speech extends DeltaEvent {
  slot: string
  /** From before a disconnect: removed as soon as something else arrives. */
  stale: boolean
}

/** The speeches after some deltas, without those that have become turns. */
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
