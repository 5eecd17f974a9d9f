/** What a station airs next: its queue, and what its pool would air in the next slots. */
import type { OnAir } from '../api/stations'

export interface Coming {
  key: string
  due: string
  motion: string
  speakers: string[]
  /** It is due, and waits for the station to be free. */
  called: boolean
}

export function coming(programme: OnAir | null): Coming[] {
  if (!programme) return []
  const waiting = programme.waiting.map(({ id, due, motion, agents, called }) => ({
    key: id,
    due,
    motion,
    speakers: agents.map((agent) => agent.name),
    called,
  }))
  const slots = programme.slots.map(({ due, motion, agents }) => ({ key: due, due, motion, speakers: agents, called: false }))
  const later = [...waiting.filter((one) => !one.called), ...slots]
  later.sort((a, b) => Date.parse(a.due) - Date.parse(b.due))
  return [...waiting.filter((one) => one.called), ...later]
}
