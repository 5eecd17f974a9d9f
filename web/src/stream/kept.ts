/** A stream that reconnects by itself, with growing waits, and continues where it was. */
import { read, type SseEvent } from './sse'

/** `over`: nothing is left to hear. `gone`: there is no such debate. `parked`: see Hub. */
export type Connection = 'connecting' | 'live' | 'lost' | 'over' | 'gone' | 'parked'

const FIRST_WAIT = 250
const LONGEST_WAIT = 10_000
const SILENCE = 35_000 // the service sends something at least every 15 s

interface Ears {
  heard: (events: SseEvent[]) => void
  turned: (state: Connection) => void
  refused: () => void
  token: () => string
}

export class KeptStream {
  /** The last durable event received; the stream continues after it. */
  last: number | null = null
  state: Connection = 'connecting'
  #run: AbortController | null = null
  #tries = 0
  #hurry: () => void = () => undefined

  constructor(
    readonly path: string,
    readonly ears: Ears,
  ) {}

  open(): void {
    if (this.#run) return
    this.#run = new AbortController()
    this.#turn('connecting')
    void this.#keep(this.#run.signal)
  }

  close(): void {
    this.#run?.abort()
    this.#run = null
  }

  /** Stop waiting: the network is back, or there is a token. */
  nudge(): void {
    this.#tries = 0
    this.#hurry()
  }

  async #keep(closed: AbortSignal): Promise<void> {
    while (!closed.aborted) {
      const next = await this.#once(closed)
      if (closed.aborted) return
      this.#turn(next)
      if (next !== 'lost') return
      await this.#wait(closed)
    }
  }

  /** Runs one connection to its end, and returns the resulting state. */
  async #once(closed: AbortSignal): Promise<Connection> {
    const attempt = new AbortController()
    const giveUp = (): void => attempt.abort()
    closed.addEventListener('abort', giveUp)
    let silence = setTimeout(giveUp, SILENCE)
    const alive = (): void => {
      clearTimeout(silence)
      silence = setTimeout(giveUp, SILENCE)
    }
    try {
      const response = await fetch(this.path, { headers: this.#headers(), signal: attempt.signal, cache: 'no-store' })
      if (response.status === 204) return 'over'
      if (response.status === 404) return 'gone'
      if (response.status === 401) this.ears.refused()
      if (response.status !== 200 || !response.body) return 'lost'
      this.#tries = 0
      this.#turn('live')
      for await (const events of read(response.body, alive)) {
        if (closed.aborted) return 'lost'
        if (!this.#take(events)) return 'lost'
        if (events.some((event) => event.name === 'end')) return 'over'
      }
    } catch {
      // disconnected; reconnects below
    } finally {
      clearTimeout(silence)
      closed.removeEventListener('abort', giveUp)
      attempt.abort()
    }
    return 'lost'
  }

  /** Returns false if an event is missing; the log has it. */
  #take(events: SseEvent[]): boolean {
    const fit: SseEvent[] = []
    for (const event of events) {
      if (event.name === 'reset') this.last = 0
      if (event.id !== null) {
        if (this.last !== null && event.id <= this.last) continue
        if (this.last !== null && event.id > this.last + 1) {
          this.ears.heard(fit)
          return false
        }
        this.last = event.id
      }
      fit.push(event)
    }
    this.ears.heard(fit)
    return true
  }

  #headers(): Record<string, string> {
    const token = this.ears.token()
    return {
      Accept: 'text/event-stream',
      ...(this.last !== null && { 'Last-Event-ID': String(this.last) }),
      ...(token && { Authorization: `Bearer ${token}` }),
    }
  }

  #wait(closed: AbortSignal): Promise<void> {
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#tries++) * (0.75 + Math.random() / 2)
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait)
      this.#hurry = () => {
        clearTimeout(timer)
        resolve()
      }
      closed.addEventListener('abort', this.#hurry, { once: true })
    })
  }

  #turn(state: Connection): void {
    if (this.state === 'lost' && state === 'connecting') return
    this.state = state
    this.ears.turned(state)
  }
}
