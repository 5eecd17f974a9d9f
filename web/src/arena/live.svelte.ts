/** A debate on the screen: loaded once, then updated by its stream. It follows seq, so nothing is missed or doubled. */
import { Refused, Unreachable, get, post, sentence } from '../api/client'
import { guestOf } from '../api/guest'
import { isFinal, type Debate, type DeltaEvent, type ListedDebate, type Plan, type StatusEvent, type Turn } from '../api/types'
import type { Connection } from '../stream/kept'
import { follow, watch } from '../stream/link'
import { slotOf, type OfDebate } from '../stream/protocol'
import { behindWords } from '../text/words'
import { heard, type Speech } from './speech'

export type Verb = 'start' | 'stop' | 'pause' | 'resume' | 'end' | 'retry' | 'skip'

export class LiveDebate {
  debate = $state.raw<Debate | null>(null)
  /** Null as long as the service has not said it. */
  plan = $state.raw<Plan | null>(null)
  turns = $state.raw<Turn[]>([])
  speeches = $state.raw<Speech[]>([])
  connection = $state<Connection>('connecting')
  /** Why it cannot be shown. */
  error = $state('')
  /** Why a verb was refused, or a notice from the log. */
  notice = $state('')
  busy = $state<Verb | null>(null)
  /** What was requested and happens after the step in flight. */
  wanted = $state<Verb | null>(null)

  #seqs = new Set<number>()
  #spoken = new Set<string>()
  #lastSeq = 0
  #deltas: DeltaEvent[] = []
  #frame = 0
  #unwatch: (() => void) | null = null
  #unfollow: () => void
  #closed = false
  #rereading = false
  /** The notice says that the service is not responding. */
  #unreached = false

  constructor(readonly id: string) {
    this.#unfollow = guestOf !== null ? () => undefined : follow((message) => {
      if (message.kind === 'listed' && message.debate.id === id) this.#figures(message.debate)
    })
    void this.#open()
  }

  close(): void {
    this.#closed = true
    this.#unwatch?.()
    this.#unfollow()
    cancelAnimationFrame(this.#frame)
  }

  async act(verb: Verb, body: object = {}): Promise<void> {
    this.busy = verb
    this.notice = ''
    try {
      const debate = await post<Debate>(`/debates/${this.id}/${verb}`, body)
      if (!this.debate || debate.last_seq >= this.debate.last_seq) this.debate = debate
      this.wanted = this.debate.status === 'running' ? verb : null
    } catch (error) {
      this.notice = sentence(error)
      this.#unreached = error instanceof Unreachable
    } finally {
      this.busy = null
    }
  }

  /** Say something. Returns whether it was taken; `notice` says why not. */
  async say(said: { text?: string; answer?: unknown; seat?: string; step?: string; note?: boolean }, key: string): Promise<boolean> {
    this.notice = ''
    try {
      const debate = await post<Debate>(`/debates/${this.id}/say`, said, { 'Idempotency-Key': key })
      if (!this.debate || debate.last_seq >= this.debate.last_seq) this.debate = debate
      return true
    } catch (error) {
      this.notice = sentence(error)
      this.#unreached = error instanceof Unreachable
      if (error instanceof Refused) void this.#reread(false) // somebody else may have spoken
      return false
    }
  }

  async retryOpening(): Promise<void> {
    this.error = ''
    await this.#open()
  }

  async #open(): Promise<void> {
    try {
      await this.#read()
    } catch (error) {
      this.error = sentence(error)
      return
    }
    if (this.#closed) return
    if (this.debate && isFinal(this.debate.status)) this.connection = 'over'
    else this.#watch()
  }

  #watch(): void {
    this.#unwatch?.()
    this.#unwatch = watch(this.id, this.#lastSeq, (message) => this.#hear(message))
  }

  /** Load the debate first: then the turns loaded after it include all up to its last_seq. */
  async #read(): Promise<void> {
    const debate = await get<Debate>(`/debates/${this.id}`)
    void this.#readPlan()
    const after = this.turns.at(-1)?.seq ?? 0
    const said = await get<{ items: Turn[] }>(`/debates/${this.id}/turns`, { after })
    this.#add(said.items)
    if (this.debate && this.debate.status !== debate.status) this.notice = ''
    if (debate.last_seq >= this.#lastSeq) this.debate = debate
    this.#lastSeq = Math.max(this.#lastSeq, debate.last_seq)
  }

  async #readPlan(): Promise<void> {
    this.plan = await get<Plan>(`/debates/${this.id}/plan`).catch(() => this.plan)
  }

  async #reread(rewatch: boolean): Promise<void> {
    if (this.#rereading) return
    this.#rereading = true
    try {
      await this.#read()
      if (rewatch && !this.#closed) this.#watch()
    } catch (error) {
      if (guestOf !== null && error instanceof Refused && error.status === 401) {
        this.close() // the link was revoked
        this.debate = null
        this.error = sentence(error)
      } // otherwise the stream's next message tries again
    } finally {
      this.#rereading = false
    }
  }

  #hear(message: OfDebate): void {
    switch (message.kind) {
      case 'turn':
        this.#flush()
        this.#seen(message.seq)
        this.#add([message.turn])
        return this.#caughtUp()
      case 'status':
        if (message.seq <= this.#lastSeq) return
        this.#flush()
        this.#seen(message.seq)
        this.#status(message.status)
        return this.#caughtUp()
      case 'delta':
        this.#deltas.push(message.delta)
        this.#frame ||= requestAnimationFrame(() => this.#flush())
        return
      case 'reset':
        this.turns = []
        this.speeches = []
        this.#seqs.clear()
        this.#spoken.clear()
        this.#lastSeq = 0
        if (this.debate) this.debate = { ...this.debate, last_seq: 0 }
        return void this.#reread(false) // it may be another database now
      case 'behind':
        return void this.#reread(true)
      case 'changed':
        return void this.#reread(false)
      case 'connection':
        if (message.state !== 'live' && this.speeches.length) {
          this.speeches = this.speeches.map((speech) => ({ ...speech, stale: true }))
        }
        if (message.state === 'over') void this.#reread(false) // the final figures
        if (message.state === 'live' && this.#unreached) {
          this.#unreached = false
          this.notice = ''
        }
        this.connection = message.state
    }
  }

  #seen(seq: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq)
  }

  #add(turns: Turn[]): void {
    const fresh = turns.filter((turn) => !this.#seqs.has(turn.seq))
    const last = fresh.at(-1)
    if (!last) return
    for (const turn of fresh) {
      this.#seqs.add(turn.seq)
      this.#spoken.add(slotOf(turn))
    }
    const inOrder = (fresh[0]?.seq ?? 0) > (this.turns.at(-1)?.seq ?? 0)
    const all = [...this.turns, ...fresh]
    this.turns = inOrder ? all : all.sort((a, b) => a.seq - b.seq)
    this.speeches = this.speeches.filter(
      (speech) => !this.#spoken.has(speech.slot) && (!speech.stale || speech.round === last.round),
    )
    if (this.debate && last.seq > this.debate.last_seq) {
      const { stage, round } = last
      const spoke = fresh.some((turn) => turn.kind !== 'note' && turn.actor === this.debate?.waiting_for)
      const waiting_for = spoke ? null : this.debate.waiting_for // whom it waits for next, an event says
      this.debate = { ...this.debate, stage, round, waiting_for, last_seq: last.seq }
    }
  }

  #status(event: StatusEvent): void {
    if (!this.debate) return
    const { status, failure, stage, round, progress, degraded, reason: stop_reason } = event
    const ended_at = isFinal(status) ? event.at : this.debate.ended_at
    const started_at = this.debate.started_at ?? (status === 'running' ? event.at : null)
    const last_seq = this.#lastSeq
    const waiting_for = event.waiting_for ?? null
    const { longer_seconds: _, ...before } = this.debate
    this.debate = {
      ...before,
      ...{ status, failure, stage, round, progress, degraded, stop_reason, ended_at, started_at, last_seq, waiting_for },
    }
    if (status !== 'running') this.wanted = null
    this.notice = event.notice ?? ''
    if (status === 'running' && event.notice) void this.#reread(false) // a stop or a pause was requested: the debate says which
    if (status === 'paused' && failure) void this.#reread(false) // it says how much longer the speaker can be given
    if (status !== 'running' && status !== 'ending') this.speeches = []
    else this.speeches = this.speeches.filter((speech) => !speech.stale)
  }

  /** A debate that was on hold continues. */
  #caughtUp(): void {
    if (this.debate && behindWords(this.debate)) void this.#reread(false)
  }

  /** Only the list's stream has usage and progress between two changes of status. */
  #figures(listed: ListedDebate): void {
    if (!this.debate || listed.updated_at < this.debate.updated_at) return
    const { usage, spent, writing, unpriced, local, progress, updated_at } = listed
    this.debate = { ...this.debate, usage, spent, writing, unpriced, local, progress, updated_at }
  }

  /** Apply the deltas of one frame. */
  #flush(): void {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    const deltas = this.#deltas.splice(0)
    if (deltas.length) this.speeches = heard(this.speeches, deltas, this.#spoken)
  }
}
