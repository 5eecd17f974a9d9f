/** The saved agents: one list for all screens. */
import { del, get, patch, post, sentence } from '../api/client'
import type { Agent } from '../api/stations'

/** What a form sends of an agent; the service fills in the rest. */
export type AgentAsked = Partial<Pick<Agent, 'name' | 'bio' | 'model' | 'stance' | 'voice'>>

class AgentList {
  items = $state.raw<Agent[]>([])
  /** Whether they have been loaded. */
  ready = $state(false)
  error = $state('')

  async read(): Promise<void> {
    try {
      this.items = (await get<{ items: Agent[] }>('/agents')).items
      this.ready = true
      this.error = ''
    } catch (error) {
      this.error = sentence(error)
    }
  }

  async add(asked: AgentAsked): Promise<Agent> {
    return this.#keep(await post<Agent>('/agents', asked))
  }

  async change(id: string, asked: AgentAsked): Promise<Agent> {
    return this.#keep(await patch<Agent>(`/agents/${id}`, asked))
  }

  async remove(id: string): Promise<void> {
    await del(`/agents/${id}`)
    this.items = this.items.filter((one) => one.id !== id)
  }

  nameOf(id: string): string {
    return this.items.find((one) => one.id === id)?.name ?? id
  }

  #keep(agent: Agent): Agent {
    this.items = [...this.items.filter((one) => one.id !== agent.id), agent].sort((a, b) => a.name.localeCompare(b.name))
    return agent
  }
}

export const agents = new AgentList()
