/** Casts to choose with one click, from the models that work here. */
import type { Provider, Providers } from '../api/types'
import { UNDERSTUDY } from './voices'

export interface Preset {
  name: string
  /** Models that the seats take in turn. */
  ring: string[]
}

const usable = ({ items }: Providers): Provider[] => items.filter((one) => one.works && one.model !== UNDERSTUDY)

/** Those that differ from each other here; none without a model. */
export function presets(known: Providers): Preset[] {
  const here = usable(known)
  const vendors = here.filter((one) => one.provider !== 'local')
  const from = vendors.length ? vendors : here
  const all: Preset[] = [
    { name: 'Best available', ring: from.map((one) => one.models[0] ?? one.model) },
    { name: 'Fast and cheap', ring: from.map((one) => one.models.at(-1) ?? one.model) },
    { name: 'Mixed vendors', ring: here.length > 1 ? here.map((one) => one.model) : [] },
  ]
  const key = ({ ring }: Preset): string => ring.join(' ')
  return all.filter((one, place) => one.ring.length && all.findIndex((other) => key(other) === key(one)) === place)
}
