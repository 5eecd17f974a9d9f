/** The stations, each with its programme: `on_air` alone may name a conversation that has ended. */
import { get, Refused, sentence } from '../api/client'
import type { Programme, Station } from '../api/stations'

export class StationList {
  items = $state.raw<Programme[]>([])
  /** Whether they have been loaded. */
  ready = $state(false)
  error = $state('')

  async read(): Promise<void> {
    try {
      const { items } = await get<{ items: Station[] }>('/stations')
      const found = await Promise.all(items.map(({ id }) => get<Programme>(`/stations/${id}/conversations`, { past: 0 }).catch(gone)))
      this.items = found.filter((one) => one !== null)
      this.ready = true
      this.error = ''
    } catch (error) {
      this.error = sentence(error)
    }
  }
}

/** Deleted since the list was loaded. */
function gone(error: unknown): null {
  if (error instanceof Refused && error.status === 404) return null
  throw error
}
