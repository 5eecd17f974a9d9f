/** The token of a service that has one: asked for once, kept for the session, shared by the tabs. */
const KEY = 'moot.token'

class Token {
  value = $state(sessionStorage.getItem(KEY) ?? '')
  /** Whether somebody waits for it: the dialog is open then. */
  wanted = $state(false)
  /** Whether one was given and refused. */
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

/** Called with each token that is given, here or in another tab. */
export function onToken(listener: (value: string) => void): void {
  listeners.add(listener)
}

/** Resolves once there is another token than the one that was refused. */
export function askForToken(refused?: string): Promise<void> {
  if (refused !== authorization().Authorization) return Promise.resolve()
  token.refused = refused !== undefined
  token.wanted = true
  return new Promise((go) => waiting.push(go))
}
