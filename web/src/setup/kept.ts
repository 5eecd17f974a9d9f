/** What this browser remembers of earlier debates: the last cast, and agents. There is no /agents route yet. */
import type { Stance } from '../api/types'

export interface Agent {
  name: string
  bio: string
  model: string
}

export interface KeptSeat extends Agent {
  stance: Stance
}

export interface Kept {
  format: string
  seats: KeptSeat[]
  host: Agent & { wanted: boolean }
  models: Record<string, string>
}

const CAST = 'moot.cast'
const AGENTS = 'moot.agents'

/** Whatever lies there, only what fits is taken. */
function read(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const fields = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function agent(value: unknown): Agent {
  const found = fields(value)
  return { name: text(found.name), bio: text(found.bio), model: text(found.model) }
}

function seat(value: unknown): KeptSeat {
  const { stance } = fields(value)
  return { ...agent(value), stance: stance === 'pro' || stance === 'con' ? stance : 'neutral' }
}

export function lastCast(): Kept | null {
  const found = fields(read(CAST))
  if (!Array.isArray(found.seats)) return null
  const models = Object.entries(fields(found.models)).map(([role, model]) => [role, text(model)])
  return {
    format: text(found.format),
    seats: found.seats.slice(0, 12).map(seat),
    host: { ...agent(found.host), wanted: fields(found.host).wanted === true },
    models: Object.fromEntries(models) as Record<string, string>,
  }
}

export const keepCast = (kept: Kept): void => localStorage.setItem(CAST, JSON.stringify(kept))

export function savedAgents(): Agent[] {
  const found = read(AGENTS)
  return Array.isArray(found) ? found.map(agent).filter((one) => one.name) : []
}

export const keepAgents = (agents: Agent[]): void => localStorage.setItem(AGENTS, JSON.stringify(agents))
