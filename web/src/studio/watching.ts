/** Polls while a screen is open: every few seconds, and soon after a debate changed. */
import { follow } from '../stream/link'

const SOON = 800

/** Returns a function that ends it. A hidden page does not poll, and a slow service is not asked twice. */
export function keepReading(read: () => Promise<void>, every: number): () => void {
  let reading = false
  const seen = (): void => {
    if (document.hidden || reading) return
    reading = true
    void read().finally(() => (reading = false))
  }
  let soon: ReturnType<typeof setTimeout> | undefined
  const timer = setInterval(seen, every)
  const end = follow((message) => {
    if (message.kind !== 'listed') return
    soon ??= setTimeout(() => {
      soon = undefined
      seen()
    }, SOON)
  })
  document.addEventListener('visibilitychange', seen)
  return () => {
    clearInterval(timer)
    clearTimeout(soon)
    end()
    document.removeEventListener('visibilitychange', seen)
  }
}
