/** One station's programme: polled, and changed. */
import { del, get, post, put, Refused, sentence } from '../api/client'
import type { Conversation, Programme } from '../api/stations'

const PAST = 20
export const MOST_PAST = 200

export class StationProgramme {
  it = $state.raw<Programme | null>(null)
  error = $state('')
  /** There is no such station any more. */
  missing = $state(false)
  past = $state(PAST)
  #path: string
  /** Counts loads and changes, so that an older response does not undo a change on the screen. */
  #count = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(readonly id: string) {
    this.#path = `/stations/${id}`
  }

  async read(): Promise<void> {
    const count = ++this.#count
    try {
      const found = await get<Programme>(`${this.#path}/conversations`, { past: this.past })
      if (count !== this.#count) return
      this.it = found
      this.error = ''
      this.missing = false
    } catch (error) {
      if (count !== this.#count) return
      this.missing = error instanceof Refused && error.status === 404
      this.error = sentence(error)
    }
  }

  async readMore(): Promise<void> {
    this.past = Math.min(MOST_PAST, this.past * 3)
    await this.read()
  }

  schedule(asked: object): Promise<Conversation> {
    return this.#write(() => post<Conversation>(`${this.#path}/conversations`, asked))
  }

  /** Air that conversation, or else the first one, now. */
  air(conversation?: string): Promise<Conversation> {
    return this.#write(() => post<Conversation>(`${this.#path}${conversation ? `/conversations/${conversation}` : ''}/air`))
  }

  cancel(conversation: string): Promise<Conversation> {
    return this.#write(() => del<Conversation>(`${this.#path}/conversations/${conversation}`))
  }

  /** Shown at once; the service assigns the times again. */
  async order(waiting: Conversation[]): Promise<void> {
    const it = this.it
    if (it) this.it = { ...it, waiting: waiting.map((one, place) => ({ ...one, due: it.waiting[place]?.due ?? one.due, called: it.waiting[place]?.called ?? one.called })) }
    await this.#write(() => put(`${this.#path}/order`, { conversations: waiting.map((one) => one.id) }))
  }

  remove(): Promise<void> {
    this.#count += 1
    return del(this.#path)
  }

  /** Makes one change after another, then loads the result. */
  async #write<T>(change: () => Promise<T>): Promise<T> {
    this.#count += 1
    const before = this.#last
    const done = (async () => {
      await before.catch(() => undefined)
      return change()
    })()
    this.#last = done
    try {
      return await done
    } finally {
      if (this.#last === done) await this.read()
    }
  }
}
