/** A conversation with a listener: loaded once, then updated by its stream. It follows seq, so nothing is missed or doubled. */
import { heard, type Speech } from '../arena/speech'
import type { Aired, AiredReport, Conversation } from '../api/stations'
import { isFinal, type DeltaEvent, type StatusEvent, type Table, type Turn } from '../api/types'
import { KeptStream, type Connection } from '../stream/kept'
import { slotOf } from '../stream/protocol'
import type { SseEvent } from '../stream/sse'
import { isGone, read } from './read'

/** How many times to ask for the report after the end, and the first wait in milliseconds. */
const ASKED = 6
const FIRST_WAIT = 500
const LONGEST_WAIT = 20_000

type Debate = Aired['debate']

export class Heard {
  conversation = $state.raw<Conversation | null>(null)
  debate = $state.raw<Debate | null>(null)
  turns = $state.raw<Turn[]>([])
  speeches = $state.raw<Speech[]>([])
  report = $state.raw<AiredReport | null>(null)
  connection = $state<Connection>('connecting')
  /** The seats; a station airs no format with roles. */
  table = $derived<Table | null>(
    this.debate && { participants: this.debate.participants, host: this.debate.host, stages: this.debate.stages, rules: { roster: { roles: [] } } },
  )
  over = $derived(this.debate !== null && isFinal(this.debate.status))

  #seqs = new Set<number>()
  #spoken = new Set<string>()
  #deltas: DeltaEvent[] = []
  #frame = 0
  #closed = new AbortController()
  #stream: KeptStream
  readonly #path: string

  constructor(
    readonly station: string,
    readonly id: string,
    /** Called at the end, to see what comes next. */
    readonly ended: () => void,
  ) {
    this.#path = `/on-air/${station}/${id}`
    this.#stream = new KeptStream(`${this.#path}/events`, {
      heard: (events) => events.forEach((event) => this.#hear(event)),
      turned: (state) => this.#turned(state),
      refused: () => undefined, // nothing here needs a token
      token: () => '',
    })
    addEventListener('online', () => this.#stream.nudge(), { signal: this.#closed.signal })
    void this.#open()
  }

  close(): void {
    this.#closed.abort()
    this.#stream.close()
    cancelAnimationFrame(this.#frame)
  }

  async #open(): Promise<void> {
    for (let wait = FIRST_WAIT; !this.#closed.signal.aborted; wait = Math.min(LONGEST_WAIT, wait * 2)) {
      try {
        return this.#begin(await read<Aired>(this.#path, this.#closed.signal))
      } catch (error) {
        this.connection = isGone(error) ? 'gone' : 'lost'
        if (isGone(error)) return
      }
      await this.#pause(wait)
    }
  }

  /** The debate may be newer than the turns that came with it; the stream sends the rest, even after the end. */
  #begin(found: Aired): void {
    if (this.#closed.signal.aborted) return
    this.#take(found)
    this.#stream.last = found.turns.at(-1)?.seq ?? 0
    this.#stream.open()
  }

  #take(found: Aired): void {
    this.conversation = found.conversation
    this.report = found.report
    this.debate = found.debate
    this.#add(found.turns)
  }

  /** The final figures, and the report, which is made just after the end. */
  async #finish(): Promise<void> {
    for (let asked = 0, wait = FIRST_WAIT; asked < ASKED && !this.report && !this.#closed.signal.aborted; asked++, wait *= 2) {
      if (asked) await this.#pause(wait)
      await read<Aired>(this.#path, this.#closed.signal).then(
        (found) => isFinal(found.debate.status) && this.#take(found),
        () => undefined,
      )
    }
  }

  #turned(state: Connection): void {
    if (state !== 'live') this.speeches = this.speeches.map((speech) => ({ ...speech, stale: true }))
    this.connection = state
    if (state !== 'over') return
    void this.#finish()
    this.ended()
  }

  #hear(event: SseEvent): void {
    if (event.name === 'delta') {
      this.#deltas.push(JSON.parse(event.data) as DeltaEvent)
      this.#frame ||= requestAnimationFrame(() => this.#flush())
      return
    }
    this.#flush()
    if (event.name === 'turn') this.#add([JSON.parse(event.data) as Turn])
    else if (event.name === 'status') this.#status(event.id ?? 0, JSON.parse(event.data) as StatusEvent)
    else if (event.name === 'reset') this.#reset()
  }

  #reset(): void {
    this.turns = []
    this.speeches = []
    this.#seqs.clear()
    this.#spoken.clear()
    if (this.debate) this.debate = { ...this.debate, last_seq: 0 }
  }

  #add(turns: Turn[]): void {
    const fresh = turns.filter((turn) => !this.#seqs.has(turn.seq))
    const last = fresh.at(-1)
    if (!last) return
    for (const turn of fresh) {
      this.#seqs.add(turn.seq)
      this.#spoken.add(slotOf(turn))
    }
    this.turns = [...this.turns, ...fresh].sort((a, b) => a.seq - b.seq)
    this.speeches = this.speeches.filter(
      (speech) => !this.#spoken.has(speech.slot) && (!speech.stale || speech.round === last.round),
    )
  }

  #status(seq: number, event: StatusEvent): void {
    if (!this.debate || seq <= this.debate.last_seq) return
    const { status, stage, round, progress, degraded, reason: stop_reason } = event
    const ended_at = isFinal(status) ? event.at : this.debate.ended_at
    this.debate = { ...this.debate, status, stage, round, progress, degraded, stop_reason, ended_at, last_seq: seq }
    if (status !== 'running' && status !== 'ending') this.speeches = []
    else this.speeches = this.speeches.filter((speech) => !speech.stale)
  }

  /** Apply the deltas of one frame. */
  #flush(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    const deltas = this.#deltas.splice(0)
    if (deltas.length) this.speeches = heard(this.speeches, deltas, this.#spoken)
  }

  #pause(wait: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, wait)
      const hurry = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#closed.signal.addEventListener('abort', hurry, { once: true })
      addEventListener('online', hurry, { once: true, signal: this.#closed.signal })
    })
  }
}
