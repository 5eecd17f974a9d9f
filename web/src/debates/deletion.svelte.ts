/** Deleting with second thoughts: the debate leaves the list at once, and the service ten seconds later. */
import { del, sentence } from '../api/client'
import { authorization } from '../api/token.svelte'
import { announcer } from '../ui/announce.svelte'

const SECONDS = 10

export interface Leaving {
  id: string
  called: string
  /** Seconds in which it can still be kept. */
  left: number
}

class Deletion {
  /** Of a debate that is about to be deleted; null if none is. */
  leaving = $state.raw<Leaving | null>(null)
  error = $state('')
  #timer: ReturnType<typeof setInterval> | undefined
  #gone = $state.raw<ReadonlySet<string>>(new Set())

  constructor() {
    // Whoever closes the page has decided: the browser sends this even then.
    addEventListener('pagehide', () => {
      if (!this.leaving) return
      void fetch(`/debates/${this.leaving.id}`, { method: 'DELETE', keepalive: true, headers: authorization() })
      this.leaving = null
    })
  }

  /** Whether the list leaves it out. */
  hides(id: string): boolean {
    return this.leaving?.id === id || this.#gone.has(id)
  }

  begin(id: string, called: string): void {
    void this.#finish() // another one does not wait for this one's time
    this.error = ''
    this.leaving = { id, called, left: SECONDS }
    announcer.say(`Deleted. It can be brought back for ${SECONDS} seconds.`)
    this.#timer = setInterval(() => this.#tick(), 1000)
  }

  undo(): void {
    clearInterval(this.#timer)
    this.leaving = null
    announcer.say('It is kept.')
  }

  #tick(): void {
    if (!this.leaving) return
    const left = this.leaving.left - 1
    this.leaving = { ...this.leaving, left }
    if (left <= 0) void this.#finish()
  }

  async #finish(): Promise<void> {
    clearInterval(this.#timer)
    const { leaving } = this
    if (!leaving) return
    this.leaving = null
    this.#gone = new Set([...this.#gone, leaving.id])
    try {
      await del(`/debates/${leaving.id}`)
    } catch (problem) {
      this.#gone = new Set([...this.#gone].filter((id) => id !== leaving.id))
      this.error = `“${leaving.called}” was not deleted. ${sentence(problem)}`
    }
  }
}

export const deletion = new Deletion()
