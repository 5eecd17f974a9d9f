/** The documents of a debate that is being set up: sent one after the other, and what was read of each. */
import { Refused, sentence } from '../api/client'
import type { DebateAsked } from '../api/types'
import { upload } from '../api/upload'
import { MOST_SOURCES, type KeptSource } from './kept'

/** The service takes no more of one. */
const MOST_BYTES = 25 * 1024 * 1024

export class Document {
  /** How much of it was sent. */
  share = $state(0)
  problem = $state('')
  /** Whether it was refused for what looks like a key. */
  hasSecrets = $state(false)
  read = $state.raw<KeptSource | null>(null)
  readonly calledOff = new AbortController()

  constructor(
    readonly key: number,
    readonly name: string,
    readonly file: File | null,
  ) {}

  get isBusy(): boolean {
    return !this.read && !this.problem
  }
}

export class Documents {
  items = $state.raw<Document[]>([])
  /** Why files were not taken at all. */
  problem = $state('')
  readonly read = $derived(this.items.flatMap((one) => (one.read ? [one.read] : [])))
  readonly isBusy = $derived(this.items.some((one) => one.isBusy))
  #keys = 0
  #line: Promise<void> = Promise.resolve()

  restore(kept: KeptSource[]): void {
    this.items = kept.map((source) => {
      const one = new Document(++this.#keys, source.title, null)
      one.read = source
      return one
    })
  }

  add(files: readonly File[]): void {
    const room = MOST_SOURCES - this.items.length
    this.problem = files.length > room ? `A debate takes ${MOST_SOURCES} documents at the most: ${files.length - room} of these were left out.` : ''
    const added = files.slice(0, Math.max(room, 0)).map((file) => new Document(++this.#keys, file.name, file))
    this.items = [...this.items, ...added]
    for (const one of added) this.#send(one, false)
  }

  remove(key: number): void {
    this.items.find((one) => one.key === key)?.calledOff.abort()
    this.items = this.items.filter((one) => one.key !== key)
    this.problem = ''
  }

  /** Send it again, keys and all: the person has looked. */
  allow(one: Document): void {
    one.problem = ''
    one.hasSecrets = false
    this.#send(one, true)
  }

  asked(): NonNullable<DebateAsked['sources']> {
    return this.read.map(({ upload }) => ({ upload, title: null, text: null, url: null }))
  }

  #send(one: Document, allowSecrets: boolean): void {
    this.#line = this.#line.then(() => this.#sent(one, allowSecrets))
  }

  async #sent(one: Document, allowSecrets: boolean): Promise<void> {
    const { file, calledOff } = one
    if (!file || calledOff.signal.aborted) return
    if (file.size > MOST_BYTES) {
      one.problem = 'It is larger than 25 MB.'
      return
    }
    try {
      const { upload: id, title, kind, pages, passages, tokens } = await upload(file, allowSecrets, (share) => (one.share = share), calledOff.signal)
      one.read = { upload: id, title, kind, pages, passages, tokens }
      this.items = [...this.items]
    } catch (reason) {
      if (calledOff.signal.aborted) return
      one.problem = sentence(reason)
      one.hasSecrets = reason instanceof Refused && /looks like/.test(one.problem)
    }
  }
}
