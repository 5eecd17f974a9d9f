/** Two debates side by side: where they part, and which turns answer to each other from there. */
import type { Turn } from '../api/types'

export interface Pair {
  one: Turn | null
  other: Turn | null
}

export interface Parting {
  /** The turns that both have. */
  shared: Turn[]
  pairs: Pair[]
}

const slot = (turn: Turn): string => (turn.kind === 'note' ? `note ${turn.seq} ${turn.text}` : `${turn.round} ${turn.stage} ${turn.actor} ${turn.kind} ${turn.target ?? ''}`)
const same = (one: Turn | undefined, other: Turn | undefined): boolean =>
  one !== undefined && other !== undefined && slot(one) === slot(other) && one.text === other.text && one.model === other.model && one.committed_at === other.committed_at

export function part(one: Turn[], other: Turn[]): Parting {
  let place = 0
  while (same(one[place], other[place])) place += 1
  const left = one.slice(place)
  const right = other.slice(place)
  const answering = new Map(right.map((turn) => [slot(turn), turn]))
  const ahead = new Set(left.map(slot))
  const pairs: Pair[] = []
  let next = 0
  /** Those that only the other has, before the given one. */
  const catchUp = (until: Turn | null): void => {
    while (next < right.length && right[next] !== until) {
      const turn = right[next++]
      if (turn && !ahead.has(slot(turn))) pairs.push({ one: null, other: turn })
    }
    if (until) next += 1
  }
  for (const turn of left) {
    const found = answering.get(slot(turn)) ?? null
    if (found && right.indexOf(found) >= next) catchUp(found)
    pairs.push({ one: turn, other: found })
  }
  catchUp(null)
  return { shared: one.slice(0, place), pairs }
}
