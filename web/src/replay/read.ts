import { download } from '../api/client'
import type { components } from '../api/schema'
import type { Turn } from '../api/types'

export type Consistency = components['schemas']['Consistency']

interface Portion {
  done: boolean
  failed?: boolean
  items?: unknown[]
  value?: unknown
}

/** All turns of a debate; two thousand of them would hold up the page if they were read at once. */
export async function turnsOf(id: string): Promise<Turn[]> {
  const turns: Turn[] = []
  await inWorker({ blob: await download(`/debates/${id}/turns`), list: 'items' }, (portion) => {
    turns.push(...((portion.items ?? []) as Turn[]))
  })
  return turns
}

/** Whether its files are as they were written. */
export async function consistencyOf(id: string): Promise<Consistency> {
  let found: unknown
  await inWorker({ blob: await download(`/debates/${id}/replay`), field: 'consistency' }, (portion) => (found = portion.value))
  return found as Consistency
}

function inWorker(asked: object, take: (portion: Portion) => void): Promise<void> {
  const worker = new Worker(new URL('./reader.ts', import.meta.url), { type: 'module' })
  const whole = new Promise<void>((resolve, reject) => {
    worker.onerror = () => reject(new Error('The response could not be read.'))
    worker.onmessage = (event: MessageEvent<Portion>) => {
      if (event.data.failed) return reject(new Error('The response could not be read.'))
      take(event.data)
      if (event.data.done) resolve()
    }
  })
  worker.postMessage(asked)
  return whole.finally(() => worker.terminate())
}
