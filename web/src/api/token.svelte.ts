/** The service's token: asked for once, kept for the session, shared by the tabs. */
import { guestOf, guestToken } from './guest'

const KEY = 'moot.token'

class Token {
  value = $state(guestOf === null ? (sessionStorage.getItem(KEY) ?? '') : guestToken)
  /** Whether a call waits for it; the dialog is then open. */
  wanted = $state(false)
  /** Whether the last one was refused. */
  refused = $state(false)
}

export const token = new Token()
let waiting: (() => void)[] = []
const listeners = new Set<(value: string) => void>()

export function authorization(): { Authorization?: string } {
  return token.value ? { Authorization: `Bearer ${token.value}` } : {}
}

export function giveToken(value: string): void {
  token.value = value
  token.wanted = false
  sessionStorage.setItem(KEY, value)
  for (const listener of listeners) listener(value)
  for (const go of waiting.splice(0)) go()
}

/** Called with each new token, from this tab or another. */
export function onToken(listener: (value: string) => void): void {
  listeners.add(listener)
}

/** Resolves when there is a token other than the refused one. */
export function askForToken(refused?: string): Promise<void> {
  if (refused !== authorization().Authorization) return Promise.resolve()
  token.refused = refused !== undefined
  token.wanted = true
  return new Promise((go) => waiting.push(go))
}
