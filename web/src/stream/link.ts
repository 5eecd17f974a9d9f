/** A tab's side of the streams: `watch` a debate, `follow` the list. */
import { guestOf } from '../api/guest'
import { giveToken, askForToken, authorization, onToken, token } from '../api/token.svelte'
import { Hub } from './hub'
import type { OfDebate, ToHub, ToTab } from './protocol'

type OfList = Extract<ToTab, { kind: 'listed' | 'feed' }>

const watchers = new Map<string, Set<(message: OfDebate) => void>>()
const followers = new Set<(message: OfList) => void>()
let port: MessagePort | null = null

/** Receive a debate's events with seq > after; returns a function that ends it. */
export function watch(id: string, after: number, hear: (message: OfDebate) => void): () => void {
  const here = watchers.get(id) ?? new Set()
  watchers.set(id, here.add(hear))
  send({ kind: 'watch', id, after })
  return () => {
    here.delete(hear)
    if (here.size) return
    watchers.delete(id)
    send({ kind: 'unwatch', id })
  }
}

/** Receive each debate that changes, as lists show it. */
export function follow(hear: (message: OfList) => void): () => void {
  followers.add(hear)
  send({ kind: 'nudge' })
  return () => followers.delete(hear)
}

export function nudge(): void {
  send({ kind: 'nudge' })
}

function send(message: ToHub): void {
  port ??= join()
  port.postMessage(message)
}

function join(): MessagePort {
  const made = open()
  made.onmessage = (event: MessageEvent<ToTab[]>) => event.data.forEach(receive)
  made.postMessage({ kind: 'hello', token: token.value, visible: !document.hidden } satisfies ToHub)
  holdLock(made)
  onToken((value) => send({ kind: 'token', token: value }))
  document.addEventListener('visibilitychange', () => send({ kind: 'visible', visible: !document.hidden }))
  addEventListener('online', nudge)
  addEventListener('pagehide', () => send({ kind: 'bye' }))
  addEventListener('pageshow', (event) => event.persisted && location.reload())
  return made
}

/** The shared worker or, if there is none, the same hub in this page. */
function open(): MessagePort {
  if ('SharedWorker' in globalThis && guestOf === null) {
    return new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'moot' }).port
  }
  const { port1, port2 } = new MessageChannel()
  new Hub({ lists: guestOf === null }).connect(port1)
  return port2
}

/** Hold a lock that is released when this tab is gone, for whatever reason; only secure origins have locks. */
function holdLock(to: MessagePort): void {
  if (!('locks' in navigator)) return
  const name = `moot.tab.${Math.random().toString(36).slice(2)}`
  void navigator.locks.request(name, () => {
    to.postMessage({ kind: 'lock', name } satisfies ToHub)
    return new Promise(() => undefined)
  })
}

function receive(message: ToTab): void {
  switch (message.kind) {
    case 'token':
      if (message.token !== token.value) giveToken(message.token)
      return
    case 'refused':
      if (guestOf !== null) return watchers.get(guestOf)?.forEach((hear) => hear({ kind: 'changed', id: guestOf! }))
      void askForToken(authorization().Authorization)
      return
    case 'listed':
    case 'feed':
      followers.forEach((hear) => hear(message))
      return
    default:
      watchers.get(message.id)?.forEach((hear) => hear(message))
  }
}
