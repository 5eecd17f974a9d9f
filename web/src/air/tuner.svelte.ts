/** Polls a station's programme, more often when something is due. */
import type { OnAir } from '../api/stations'
import { coming } from './coming'
import { isGone, read } from './read'

const OFTEN = 1000
const NORMAL = 5000
const SELDOM = 20_000
const LONGEST = 30_000
/** The interval around a due time, in milliseconds. */
const BEFORE = 5000
const AFTER = 60_000

export class Tuner {
  programme = $state.raw<OnAir | null>(null)
  /** There is no such station, or it is not public. */
  gone = $state(false)
  /** The last call got no response. */
  lost = $state(false)
  #closed = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #tries = 0
  #asking = false

  constructor(readonly station: string) {
    const { signal } = this.#closed
    addEventListener('online', this.look, { signal })
    document.addEventListener('visibilitychange', () => document.hidden || this.look(), { signal })
    this.look()
  }

  close(): void {
    this.#closed.abort()
    clearTimeout(this.#timer)
  }

  /** Ask now instead of waiting for the next poll. */
  look = (): void => void this.#look()

  async #look(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    clearTimeout(this.#timer)
    try {
      this.programme = await read<OnAir>(`/on-air/${this.station}`, this.#closed.signal)
      this.gone = this.lost = false
      this.#tries = 0
    } catch (error) {
      if (isGone(error)) this.programme = null
      this.gone = isGone(error)
      this.lost = !this.gone
      this.#tries += 1
    }
    this.#asking = false
    if (!this.#closed.signal.aborted) this.#timer = setTimeout(this.look, this.#wait() * (0.75 + Math.random() / 2))
  }

  #wait(): number {
    if (this.gone) return LONGEST
    if (this.lost) return Math.min(LONGEST, OFTEN * 2 ** Math.min(this.#tries, 6))
    if (document.hidden) return SELDOM
    const next = this.programme?.now ? undefined : coming(this.programme)[0]
    if (!next) return NORMAL
    const until = Date.parse(next.due) - Date.now()
    if (until < BEFORE) return until > -AFTER ? OFTEN : NORMAL
    return Math.min(NORMAL, until - BEFORE / 2)
  }
}
