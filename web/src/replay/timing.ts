/** When everything was said: a debate's own clock, in seconds from its first word. */
import type { Turn } from '../api/types'

/** Longer silences are cut to this, except at 1×. */
export const SILENCE = 3

/** The minimum duration of the first turn. */
const SHORTEST = 0.001

export interface Timed {
  turn: Turn
  from: number
  to: number
}

export interface Stretch {
  stage: string
  from: number
  turns: number
}

export class Timing {
  readonly timed: Timed[]
  readonly length: number
  readonly stages: Stretch[] = []
  /** How many silences are longer than SILENCE, and how long they are together. */
  readonly silences: { count: number; seconds: number }
  #whole: Scale
  #cut: Scale

  constructor(turns: readonly Turn[]) {
    const zero = turns.reduce((first, turn) => Math.min(first, Date.parse(turn.started_at)), Infinity)
    let last = turns.length ? SHORTEST : 0 // so that nothing has been said at the start
    this.timed = turns.map((turn) => {
      const to = (last = Math.max(last, (Date.parse(turn.committed_at) - zero) / 1000)) // a clock may have been set back
      return { turn, from: Math.min(to, Math.max(0, (Date.parse(turn.started_at) - zero) / 1000)), to }
    })
    this.length = last
    for (const { turn, from } of this.timed) {
      const before = this.stages.at(-1)
      if (before?.stage === turn.stage) before.turns += 1
      else this.stages.push({ stage: turn.stage, from, turns: 1 })
    }
    const gaps = silences(this.timed).filter(([from, to]) => to - from > SILENCE)
    this.silences = { count: gaps.length, seconds: gaps.reduce((sum, [from, to]) => sum + to - from, 0) }
    this.#whole = new Scale([], this.length)
    this.#cut = new Scale(gaps, this.length)
  }

  scale(speed: number): Scale {
    return speed === 1 ? this.#whole : this.#cut
  }

  /** How many turns have been said. */
  said(at: number): number {
    let low = 0
    let high = this.timed.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.timed[middle]?.to ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Who is speaking: the turns that have begun and not ended. Waves are short, so this checks only a few. */
  speaking(at: number): Timed[] {
    const from = this.said(at)
    return this.timed.slice(from, from + 16).filter((one) => one.from <= at)
  }
}

/** Converts between the debate's time and the player's, which differ by the silences that are cut. */
export class Scale {
  readonly length: number

  constructor(
    readonly gaps: readonly (readonly [number, number])[],
    readonly whole: number,
  ) {
    this.length = this.shown(whole)
  }

  shown(time: number): number {
    let cut = 0
    for (const [from, to] of this.gaps) {
      if (time <= from) break
      const inside = Math.min(time, to) - from
      cut += inside * (1 - SILENCE / (to - from))
    }
    return time - cut
  }

  time(shown: number): number {
    if (shown >= this.length) return this.whole // exactly, so that the last turn counts as said
    let cut = 0
    for (const [from, to] of this.gaps) {
      const begins = from - cut
      if (shown <= begins) break
      if (shown < begins + SILENCE) return from + ((shown - begins) / SILENCE) * (to - from)
      cut += to - from - SILENCE
    }
    return shown + cut
  }
}

/** When nobody spoke. */
function silences(timed: readonly Timed[]): [number, number][] {
  const found: [number, number][] = []
  let heard = 0
  for (const { from, to } of [...timed].sort((a, b) => a.from - b.from)) {
    if (from > heard) found.push([heard, from])
    heard = Math.max(heard, to)
  }
  return found
}

/** 65.4 → “1:05”; with hours where there are any. */
export function stamp(seconds: number): string {
  const whole = Math.floor(seconds + 1e-6)
  const two = (number: number): string => String(number).padStart(2, '0')
  const hours = Math.floor(whole / 3600)
  const rest = `${Math.floor((whole % 3600) / 60)}:${two(whole % 60)}`
  return hours ? `${hours}:${rest.padStart(5, '0')}` : rest
}

/** The part of a text spoken so far; only the end of a long one, where people look. */
export function revealed(text: string, share: number): string {
  const MOST = 4000
  let end = Math.floor(text.length * Math.min(1, Math.max(0, share)))
  if (end && end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end -= 1 // not half a surrogate pair
  return end > MOST ? `… ${text.slice(end - MOST, end)}` : text.slice(0, end)
}
