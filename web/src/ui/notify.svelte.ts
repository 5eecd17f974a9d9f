/** Browser notifications when a debate ends, if the user allowed them. */
import { isFinal, type ListedDebate } from '../api/types'
import { paths, router } from '../router.svelte'
import { follow } from '../stream/link'
import { statusWord } from '../text/words'

const KEY = 'moot.notify'

class Notify {
  readonly here = 'Notification' in globalThis
  /** Whether they are wanted and allowed. */
  on = $state(this.here && localStorage.getItem(KEY) === 'on' && Notification.permission === 'granted')
  /** Whether the browser has been told never to show them; only its own settings change that. */
  denied = $state(this.here && Notification.permission === 'denied')
  #running = new Set<string>()

  /** Called on a click: browsers let nothing else ask. */
  async set(wanted: boolean): Promise<void> {
    const answer = wanted && this.here ? await Notification.requestPermission() : 'default'
    this.on = answer === 'granted'
    this.denied = this.here && Notification.permission === 'denied'
    localStorage.setItem(KEY, this.on ? 'on' : 'off')
  }

  begin(): void {
    if (!this.here) return
    follow((message) => {
      if (message.kind === 'listed') this.#see(message.debate)
    })
  }

  #see(debate: ListedDebate): void {
    if (!isFinal(debate.status)) return void this.#running.add(debate.id)
    if (!this.#running.delete(debate.id) || !this.on) return
    const route = router.route
    if (!document.hidden && 'id' in route && route.id === debate.id) return // it is on the screen
    const said = new Notification(debate.motion.slice(0, 120), { body: `The debate is over: ${statusWord(debate.status).toLowerCase()}.`, tag: debate.id })
    said.onclick = () => {
      focus()
      router.go(paths.outcome(debate.id))
      said.close()
    }
  }
}

export const notify = new Notify()
