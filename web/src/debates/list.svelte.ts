/** The list of debates: loaded page by page, kept current by the stream of changes. */
import { get, sentence } from '../api/client'
import type { DebatePage, ListedDebate, Status } from '../api/types'
import { follow } from '../stream/link'

const PAGE = 40
const MOST = 200
const GRACE = 1500
const LIVE: Status[] = ['queued', 'running', 'paused', 'ending']

export const STATUSES: Record<string, { label: string; statuses: Status[] }> = {
  live: { label: 'In progress', statuses: LIVE },
  scheduled: { label: 'Scheduled', statuses: ['scheduled'] },
  completed: { label: 'Completed', statuses: ['completed'] },
  broken: { label: 'Stopped or failed', statuses: ['stopped', 'failed'] },
}
export const OUTCOMES: Record<string, string> = {
  decided: 'Decided',
  contested: 'Contested',
  deadlock: 'Deadlock',
  needs_facts: 'Needs facts',
  no_verdict: 'No verdict',
}
/** What the list is narrowed to; an empty text narrows nothing. */
export interface Narrowed {
  status: string
  outcome: string
  format: string
  model: string
  tag: string
  archived: '' | 'yes'
  cost: string
}
const WHOLE: Narrowed = { status: '', outcome: '', format: '', model: '', tag: '', archived: '', cost: '' }
/** What a debate cost, in US$: at least, and at most. */
export const COSTS: Record<string, { label: string; least?: number; most?: number }> = {
  free: { label: 'Free', most: 0 },
  cents: { label: 'Up to $0.10', most: 0.1 },
  dollar: { label: '$0.10 to $1', least: 0.1, most: 1 },
  more: { label: '$1 and more', least: 1 },
}

const newerFirst = (a: ListedDebate, b: ListedDebate): number =>
  a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1

class DebateList {
  items = $state.raw<ListedDebate[]>([])
  narrowed = $state.raw<Narrowed>(WHOLE)
  words = $state('')
  /** Whether anything has been loaded. */
  ready = $state(false)
  loading = $state(false)
  error = $state('')
  /** Whether its stream has been down for longer than a reconnect takes. */
  offline = $state(false)
  #next = $state<string | null>(null)
  #reading: AbortController | null = null
  #soon: ReturnType<typeof setTimeout> | undefined
  #cut: ReturnType<typeof setTimeout> | undefined

  get more(): boolean {
    return this.#next !== null
  }

  /** Whether some debates are left out. */
  get partial(): boolean {
    return this.words.trim() !== '' || Object.values(this.narrowed).some(Boolean)
  }

  begin(): void {
    follow((message) => {
      if (message.kind === 'listed') return this.#change(message.debate)
      clearTimeout(this.#cut)
      if (message.state === 'lost') this.#cut = setTimeout(() => (this.offline = true), GRACE)
      if (message.state !== 'live' && message.state !== 'reset') return
      this.offline = false
      void this.#refresh()
    })
    void this.read()
  }

  narrow(name: keyof Narrowed, value: string): void {
    this.narrowed = { ...this.narrowed, [name]: value }
    void this.read()
  }

  showAll(): void {
    this.words = ''
    this.narrowed = WHOLE
    void this.read()
  }

  search(words: string): void {
    this.words = words
    clearTimeout(this.#soon)
    this.#soon = setTimeout(() => void this.read(), 200)
  }

  /** From the top. */
  async read(): Promise<void> {
    await this.#page(null, (page) => (this.items = page.items))
  }

  async readMore(): Promise<void> {
    if (!this.#next || this.loading) return
    await this.#page(this.#next, (page) => this.#merge(page.items))
  }

  /** Reload all that is shown: after a disconnect something may have been missed. */
  async #refresh(): Promise<void> {
    if (!this.ready) return
    const shown = this.items.length
    const found: ListedDebate[] = []
    let cursor: string | null = null
    do {
      const limit = Math.min(MOST, Math.max(PAGE, shown - found.length))
      const done = await this.#page(cursor, (page) => (found.push(...page.items), (cursor = page.next)), limit)
      if (!done) return
    } while (cursor && found.length < shown)
    this.items = found
  }

  /** Returns false if a newer request took its place. */
  async #page(cursor: string | null, take: (page: DebatePage) => void, limit = PAGE): Promise<boolean> {
    this.#reading?.abort()
    const reading = (this.#reading = new AbortController())
    this.loading = true
    try {
      const { status, cost, ...others } = this.narrowed
      const { least, most } = COSTS[cost] ?? {}
      const query = { status: STATUSES[status]?.statuses ?? [], ...others, min_cost: least, max_cost: most, q: this.words.trim(), limit, cursor }
      const page = await get<DebatePage>('/debates', query, reading.signal)
      take(page)
      this.#next = page.next
      this.error = ''
      this.ready = true
    } catch (error) {
      if (reading.signal.aborted) return false
      this.error = sentence(error)
    }
    if (this.#reading === reading) this.loading = false
    return this.error === ''
  }

  #merge(found: ListedDebate[]): void {
    const whole = new Map(this.items.map((item) => [item.id, item]))
    for (const item of found) whole.set(item.id, item)
    this.items = [...whole.values()].sort(newerFirst)
  }

  #change(debate: ListedDebate): void {
    const known = this.items.some((item) => item.id === debate.id)
    if (!this.#fits(debate)) {
      if (known) this.items = this.items.filter((item) => item.id !== debate.id)
    } else if (known) {
      this.items = this.items.map((item) => (item.id === debate.id ? debate : item))
    } else if (this.words.trim()) {
      clearTimeout(this.#soon) // only the service knows whether it matches the search
      this.#soon = setTimeout(() => void this.#refresh(), 300)
    } else if (this.#belongs(debate)) {
      this.#merge([debate])
    }
  }

  /** Whether the filters leave it in; only the service knows of the words. */
  #fits(debate: ListedDebate): boolean {
    const { status, outcome, format, model, tag, archived, cost } = this.narrowed
    const { least = 0, most = Infinity } = COSTS[cost] ?? {}
    const spent = debate.spent.cost_usd
    return (
      debate.archived === (archived === 'yes') &&
      (!tag || debate.tags.includes(tag)) &&
      spent >= least &&
      spent <= most &&
      (STATUSES[status]?.statuses.includes(debate.status) ?? true) &&
      (!outcome || debate.outcome?.outcome === outcome) &&
      (!format || debate.format === format) &&
      (!model || debate.models.includes(model))
    )
  }

  /** Whether it belongs to the pages that are loaded. */
  #belongs(debate: ListedDebate): boolean {
    const last = this.items.at(-1)
    return this.ready && (!this.more || !last || newerFirst(debate, last) < 0)
  }
}

export const list = new DebateList()
