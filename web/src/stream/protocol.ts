/** The messages between tabs and the hub, through a MessagePort. */
import type { DeltaEvent, ListedDebate, StatusEvent, Turn } from '../api/types'
import type { Connection } from './kept'

export type ToHub =
  | { kind: 'hello'; token: string; visible: boolean }
  | { kind: 'lock'; name: string }
  | { kind: 'token'; token: string }
  | { kind: 'visible'; visible: boolean }
  | { kind: 'watch'; id: string; after: number }
  | { kind: 'unwatch'; id: string }
  | { kind: 'nudge' }
  | { kind: 'bye' }

export type Durable =
  | { kind: 'turn'; id: string; seq: number; turn: Turn }
  | { kind: 'status'; id: string; seq: number; status: StatusEvent }

/** `behind`: the tab needs more than the hub keeps; `changed`: parked, and the list saw a change.
 *  Either way the tab reads the log itself. */
export type OfDebate =
  | Durable
  | { kind: 'delta'; id: string; delta: DeltaEvent }
  | { kind: 'reset'; id: string }
  | { kind: 'behind'; id: string }
  | { kind: 'changed'; id: string }
  | { kind: 'connection'; id: string; state: Connection }

export type ToTab =
  | OfDebate
  | { kind: 'token'; token: string }
  | { kind: 'refused' }
  | { kind: 'listed'; debate: ListedDebate }
  | { kind: 'feed'; state: Connection | 'reset' }

export const slotOf = (said: { round: number; actor: string; target: string | null }): string =>
  `${said.round}\n${said.actor}\n${said.target ?? ''}`

/** A speech with one more delta; null if it was withdrawn, or its beginning is not known.
 *  A cue begins with its instruction and no text, a second try with what was cut off; the words then begin at 0. */
export function soFar(before: DeltaEvent | undefined, delta: DeltaEvent): DeltaEvent | null {
  if (delta.offset > 0) return before ? { ...before, text: before.text + delta.text } : null
  const instruction = delta.instruction ?? (delta.text ? before?.instruction : null)
  const cut_off = delta.cut_off ?? (delta.text ? before?.cut_off : null)
  return delta.text || instruction || cut_off ? { ...delta, instruction, cut_off } : null
}
