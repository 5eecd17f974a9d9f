/** Holds the streams for all tabs: one per watched debate, and one for the list.
 *
 * A browser opens six connections to a host, so only the debates on screen are streamed. Others
 * are parked, and their tabs are told when the list's stream sees a change. */
import type { DeltaEvent, ListedDebate, StatusEvent, Turn } from '../api/types'
import { KeptStream, type Connection } from './kept'
import { slotOf, soFar, type Durable, type ToHub, type ToTab } from './protocol'
import type { SseEvent } from './sse'

const STREAMS = 4
const KEPT = 400

/** The part of a MessagePort that is used. */
interface Port {
  postMessage: (messages: ToTab[]) => void
  onmessage: ((event: MessageEvent<ToHub>) => void) | null
}

interface Tab {
  port: Port
  visible: boolean
  outbox: ToTab[]
}

interface Watch {
  id: string
  tabs: Set<Tab>
  stream: KeptStream
  /** All durable events after `from`, in order. */
  kept: Durable[]
  from: number
  speeches: Map<string, DeltaEvent>
  state: Connection
  used: number
}

export class Hub {
  #token = ''
  #clock = 0
  /** A guest hears one debate and may not see the list. */
  readonly #lists: boolean
  #tabs = new Set<Tab>()
  #watches = new Map<string, Watch>()
  #feed = new KeptStream('/events', {
    heard: (events) => this.#hearFeed(events),
    turned: (state) => this.#tellAll({ kind: 'feed', state }),
    refused: () => this.#tellAll({ kind: 'refused' }),
    token: () => this.#token,
  })

  constructor({ lists = true }: { lists?: boolean } = {}) {
    this.#lists = lists
  }

  connect(port: Port): void {
    const tab: Tab = { port, visible: true, outbox: [] }
    port.onmessage = (event) => this.#receive(tab, event.data)
  }

  #receive(tab: Tab, message: ToHub): void {
    switch (message.kind) {
      case 'hello':
        return this.#welcome(tab, message)
      case 'lock': // a tab holds it as long as it lives, so that a crashed tab is noticed too
        return void navigator.locks.request(message.name, () => this.#part(tab))
      case 'token':
        return this.#takeToken(message.token, tab)
      case 'visible':
        tab.visible = message.visible
        for (const watch of this.#watches.values()) if (watch.tabs.has(tab)) watch.used = ++this.#clock
        return this.#balance()
      case 'watch':
        return this.#join(tab, message.id, message.after)
      case 'unwatch':
        return this.#leave(tab, message.id)
      case 'nudge':
        return this.#streams().forEach((stream) => stream.nudge())
      case 'bye':
        return this.#part(tab)
    }
  }

  #welcome(tab: Tab, hello: { token: string; visible: boolean }): void {
    this.#tabs.add(tab)
    tab.visible = hello.visible
    if (hello.token) this.#takeToken(hello.token, tab)
    else if (this.#token) this.#tell(tab, { kind: 'token', token: this.#token })
    this.#tell(tab, { kind: 'feed', state: this.#feed.state })
    if (this.#lists) this.#feed.open()
  }

  #part(tab: Tab): void {
    this.#tabs.delete(tab)
    for (const watch of [...this.#watches.values()]) this.#leave(tab, watch.id)
    if (!this.#tabs.size) this.#feed.close()
  }

  #takeToken(token: string, from: Tab): void {
    if (token === this.#token) return
    this.#token = token
    for (const tab of this.#tabs) if (tab !== from) this.#tell(tab, { kind: 'token', token })
    this.#streams().forEach((stream) => stream.nudge())
  }

  #streams(): KeptStream[] {
    return [this.#feed, ...[...this.#watches.values()].map((watch) => watch.stream)]
  }

  // --- debates

  #join(tab: Tab, id: string, after: number): void {
    const watch = this.#watches.get(id) ?? this.#begin(id, after)
    watch.tabs.add(tab)
    watch.used = ++this.#clock
    if (after < watch.from) return this.#tell(tab, { kind: 'behind', id })
    for (const event of watch.kept) if (event.seq > after) this.#tell(tab, event)
    for (const delta of watch.speeches.values()) this.#tell(tab, { kind: 'delta', id, delta })
    this.#tell(tab, { kind: 'connection', id, state: watch.state })
    this.#balance()
  }

  #begin(id: string, after: number): Watch {
    const stream = new KeptStream(`/debates/${id}/events`, {
      heard: (events) => events.forEach((event) => this.#hear(watch, event)),
      turned: (state) => this.#turn(watch, state),
      refused: () => this.#tellAll({ kind: 'refused' }),
      token: () => this.#token,
    })
    stream.last = after
    const watch: Watch = {
      id,
      stream,
      tabs: new Set(),
      kept: [],
      from: after,
      speeches: new Map(),
      state: 'connecting',
      used: 0,
    }
    this.#watches.set(id, watch)
    return watch
  }

  #leave(tab: Tab, id: string): void {
    const watch = this.#watches.get(id)
    if (!watch?.tabs.delete(tab) || watch.tabs.size) return
    watch.stream.close()
    this.#watches.delete(id)
    this.#balance()
  }

  /** Stream the debates on screen and the most recent ones; park the others. */
  #balance(): void {
    const onScreen = (watch: Watch): boolean => [...watch.tabs].some((tab) => tab.visible)
    const open = [...this.#watches.values()]
      .filter((watch) => watch.state !== 'over' && watch.state !== 'gone')
      .sort((a, b) => Number(onScreen(b)) - Number(onScreen(a)) || b.used - a.used)
    open.slice(STREAMS).forEach((watch) => {
      if (watch.state === 'parked') return
      watch.stream.close()
      watch.speeches.clear()
      this.#turn(watch, 'parked')
    })
    open.slice(0, STREAMS).forEach((watch) => watch.stream.open())
  }

  #turn(watch: Watch, state: Connection): void {
    watch.state = state
    this.#tellWatch(watch, { kind: 'connection', id: watch.id, state })
    if (state === 'over' || state === 'gone') this.#balance()
  }

  #hear(watch: Watch, event: SseEvent): void {
    const id = watch.id
    if (event.name === 'reset') {
      watch.kept = []
      watch.from = 0
      watch.speeches.clear()
      this.#tellWatch(watch, { kind: 'reset', id })
    } else if (event.name === 'delta') {
      const delta = JSON.parse(event.data) as DeltaEvent
      this.#speak(watch, delta)
      this.#tellWatch(watch, { kind: 'delta', id, delta })
    } else if (event.id !== null && event.name === 'turn') {
      const turn = JSON.parse(event.data) as Turn
      watch.speeches.delete(slotOf(turn))
      this.#keep(watch, { kind: 'turn', id, seq: event.id, turn })
    } else if (event.id !== null && event.name === 'status') {
      const status = JSON.parse(event.data) as StatusEvent
      if (status.status !== 'running') watch.speeches.clear()
      this.#keep(watch, { kind: 'status', id, seq: event.id, status })
    }
  }

  #speak(watch: Watch, delta: DeltaEvent): void {
    const slot = slotOf(delta)
    const said = soFar(watch.speeches.get(slot), delta)
    if (said) watch.speeches.set(slot, said)
    else watch.speeches.delete(slot)
  }

  #keep(watch: Watch, event: Durable): void {
    watch.kept.push(event)
    if (watch.kept.length > KEPT) watch.from = watch.kept.splice(0, KEPT / 2).at(-1)?.seq ?? watch.from
    this.#tellWatch(watch, event)
  }

  // --- the list

  #hearFeed(events: SseEvent[]): void {
    for (const event of events) {
      if (event.name === 'reset') this.#tellAll({ kind: 'feed', state: 'reset' })
      if (event.name !== 'status') continue
      const debate = JSON.parse(event.data) as ListedDebate
      this.#tellAll({ kind: 'listed', debate })
      const watch = this.#watches.get(debate.id)
      if (watch?.state === 'parked') this.#tellWatch(watch, { kind: 'changed', id: debate.id })
    }
  }

  // --- posting: one message for everything within one task

  #tellAll(message: ToTab): void {
    for (const tab of this.#tabs) this.#tell(tab, message)
  }

  #tellWatch(watch: Watch, message: ToTab): void {
    for (const tab of watch.tabs) this.#tell(tab, message)
  }

  #tell(tab: Tab, message: ToTab): void {
    if (tab.outbox.push(message) === 1) {
      queueMicrotask(() => tab.port.postMessage(tab.outbox.splice(0)))
    }
  }
}
