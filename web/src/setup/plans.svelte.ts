/** What drafts would come to, as the service plans them: asked a moment after the last change. */
import { post, Refused } from '../api/client'
import type { DebateAsked, Plan, Problem } from '../api/types'

const WAIT = 150

export class Plans {
  /** What was answered, by what was asked. */
  #answers = $state.raw<ReadonlyMap<string, Plan | Partial<Problem>>>(new Map())
  /** The last plan of each format, shown while the next is on its way. */
  #last = $state.raw<ReadonlyMap<string, Plan>>(new Map())
  #asking = new Set<string>()

  /** Ask for those that are not known, soon; called off by what is returned. */
  want(drafts: DebateAsked[]): () => void {
    const timer = setTimeout(() => drafts.forEach((draft) => void this.#ask(draft)), WAIT)
    return () => clearTimeout(timer)
  }

  of(draft: DebateAsked): Plan | null {
    const found = this.#answers.get(JSON.stringify(draft))
    return found && 'steps' in found ? found : (this.#last.get(draft.format) ?? null)
  }

  /** Why the service would refuse it; null as long as it has not said so. */
  refusal(draft: DebateAsked): Partial<Problem> | null {
    const found = this.#answers.get(JSON.stringify(draft))
    return found && !('steps' in found) ? found : null
  }

  async #ask(draft: DebateAsked): Promise<void> {
    const key = JSON.stringify(draft)
    if (this.#answers.has(key) || this.#asking.has(key)) return
    this.#asking.add(key)
    try {
      const plan = await post<Plan>('/plan', draft)
      this.#answers = new Map([...this.#answers, [key, plan]])
      this.#last = new Map([...this.#last, [draft.format, plan]])
    } catch (error) {
      // A service that does not answer is asked again with the next change.
      if (error instanceof Refused && error.status === 422) this.#answers = new Map([...this.#answers, [key, error.problem]])
    } finally {
      this.#asking.delete(key)
    }
  }
}
