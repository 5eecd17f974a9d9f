/** Keyboard shortcuts: single keys, never while somebody types, and Ctrl-K. A person can turn the single keys off. */
import { tick } from 'svelte'
import { paths, router } from '../router.svelte'

const KEPT = 'moot.keys'
const FIELDS = 'select, textarea, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])'
const SEARCH = 'aside input[type=search]'
const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

export const PALETTE_KEY = isApple ? '⌘ K' : 'Ctrl K'

/** What each key does, in the order of the help. */
export const KEYS: { key: string; does: string; act: () => void }[] = [
  { key: '/', does: 'Search debates', act: search },
  { key: 'n', does: 'New debate', act: begin },
  { key: 'j', does: 'Next turn; in the list, next debate', act: () => step(1) },
  { key: 'k', does: 'Previous turn; in the list, previous debate', act: () => step(-1) },
  { key: '?', does: 'Show this help', act: () => keys.show('help') },
]

class Keys {
  /** Whether single keys do anything: speech input and some screen readers send them by accident. */
  on = $state(localStorage.getItem(KEPT) !== 'off')
  open = $state<'help' | 'palette' | null>(null)
  #before: Element | null = null

  turn(on: boolean): void {
    this.on = on
    localStorage.setItem(KEPT, on ? 'on' : 'off')
  }

  show(what: 'help' | 'palette'): void {
    this.#before = document.activeElement
    this.open = what
  }

  /** Close the dialog; the focus returns to where it was, or goes with the reader to another screen. */
  async close(path?: string): Promise<void> {
    this.open = null
    await tick()
    if (path) router.go(path)
    else if (this.#before instanceof HTMLElement) this.#before.focus({ preventScroll: true })
  }

  pressed = (event: KeyboardEvent): void => {
    const typing = event.target instanceof Element && event.target.closest(FIELDS)
    if (event.defaultPrevented || event.isComposing || event.altKey || typing || document.querySelector('dialog[open]')) return
    const wanted = event.ctrlKey || event.metaKey ? this.#withControl(event) : this.#alone(event.key)
    if (!wanted) return
    event.preventDefault()
    if (!event.repeat || event.key === 'j' || event.key === 'k') wanted()
  }

  #withControl({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent): (() => void) | undefined {
    const ours = isApple ? metaKey && !ctrlKey : ctrlKey && !metaKey // Control-K on a Mac deletes a line
    return ours && !shiftKey && key.toLowerCase() === 'k' ? () => this.show('palette') : undefined
  }

  #alone(key: string): (() => void) | undefined {
    return this.on ? KEYS.find((one) => one.key === key)?.act : undefined
  }
}

export const keys = new Keys()

function search(): void {
  if (!document.querySelector(SEARCH)?.checkVisibility()) router.go(paths.home) // a narrow screen shows the list there
  focusSoon(SEARCH)
}

function begin(): void {
  router.go(paths.setUp)
  focusSoon('main textarea')
}

/** Focus what another screen is about to show, after that screen has set the focus itself. */
function focusSoon(selector: string): void {
  const visit = router.visits
  const look = (): void => {
    const found = document.querySelector<HTMLElement>(selector)
    if (router.visits === visit && !found?.checkVisibility()) return
    observer.disconnect()
    if (router.visits === visit) setTimeout(() => found?.focus())
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, { childList: true, subtree: true })
  void tick().then(look)
}

/** Go through the turns, or the list of debates if the focus is there or there are no turns. */
function step(by: 1 | -1): void {
  const isList = document.activeElement?.closest('aside') !== null
  const turns = isList ? [] : [...document.querySelectorAll<HTMLElement>('main article.turn')]
  const items = turns.length ? turns : [...document.querySelectorAll<HTMLElement>('aside a[data-id]')]
  const focused = items.findIndex((item) => item.contains(document.activeElement))
  const next = items[focused >= 0 ? focused + by : place(items) + (by === 1 ? 0 : -1)]
  next?.focus({ preventScroll: true })
  next?.scrollIntoView({ block: turns.length ? 'start' : 'nearest' })
}

/** The first item that begins in view; one past the last if none does. */
function place(items: HTMLElement[]): number {
  const top = items[0]?.closest('.scroller, [role=region]')?.getBoundingClientRect().top ?? 0
  const first = items.findIndex((item) => item.getBoundingClientRect().top >= top)
  return first < 0 ? items.length : first
}
