/** The playhead: its position, whether it runs, and how fast. It makes no requests. */
import type { Timing } from './timing'

const QUIET_STEP = 1

export class Player {
  /** In the debate's own seconds. */
  at = $state(0)
  speed = $state(1)
  playing = $state(false)
  #frame = 0
  #last = 0
  #exact = 0

  constructor(
    readonly timing: Timing,
    /** Whether the reader prefers reduced motion; then it moves from turn to turn. */
    readonly still: () => boolean,
    at: number,
  ) {
    this.seek(at)
  }

  /** The position on this speed's scale, and the scale's length. */
  get shown(): number {
    return this.timing.scale(this.speed).shown(this.at)
  }

  get length(): number {
    return this.timing.scale(this.speed).length
  }

  get over(): boolean {
    return this.at >= this.timing.length
  }

  seek(at: number): void {
    this.#exact = Math.min(this.timing.length, Math.max(0, Number.isFinite(at) ? at : 0))
    this.at = this.#exact
  }

  seekShown(shown: number): void {
    this.seek(this.timing.scale(this.speed).time(shown))
  }

  /** Move to the end of the next turn, or of the previous one. */
  step(by: 1 | -1): void {
    const said = this.timing.said(this.at)
    const to = this.timing.timed
    if (by > 0) this.seek(to[said]?.to ?? this.timing.length)
    else {
      let before = said - 1
      while (before >= 0 && (to[before]?.to ?? 0) >= (to[said - 1]?.to ?? 0)) before -= 1 // several may end at once
      this.seek(before < 0 ? 0 : (to[before]?.to ?? 0))
    }
  }

  toggle(): void {
    if (this.playing) this.pause()
    else this.play()
  }

  play(): void {
    if (this.over) this.seek(0)
    this.playing = true
    this.#last = performance.now()
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(this.#tick)
  }

  pause(): void {
    this.playing = false
    cancelAnimationFrame(this.#frame)
    this.at = this.#exact
  }

  #tick = (now: number): void => {
    const scale = this.timing.scale(this.speed)
    // Do not jump ahead after the tab was suspended.
    const passed = Math.min(1, Math.max(0, now - this.#last) / 1000)
    this.#last = now
    this.#exact = Math.min(this.timing.length, scale.time(scale.shown(this.#exact) + passed * this.speed))
    const turned = this.timing.said(this.#exact) !== this.timing.said(this.at)
    if (!this.still() || turned || this.#exact - this.at >= QUIET_STEP * this.speed || this.#exact >= this.timing.length) this.at = this.#exact
    if (this.over) this.playing = false
    else this.#frame = requestAnimationFrame(this.#tick)
  }
}

