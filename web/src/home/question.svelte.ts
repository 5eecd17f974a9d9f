/** The question on the first page: who would debate it, and how it is started. */
import { post, sentence } from '../api/client'
import { readFormats } from '../api/library.svelte'
import { roleNames } from '../api/rules'
import type { Debate, DebateAsked, Forecast, Format, Providers } from '../api/types'
import { forgetDraft, keepModels, keepQuestion, keptModels, keptQuestion } from '../setup/kept'
import { Plans } from '../setup/plans.svelte'
import { spread, type Voice } from '../setup/voices'
import { providers } from '../ui/ModelPicker.svelte'

/** The service's default: see POST /debates. */
const FORMAT = 'standard'
const NAMES = ['Ada', 'Ben', 'Cleo', 'Dov', 'Edda', 'Finn', 'Gita', 'Hugo', 'Ines', 'Jun', 'Kaya', 'Leo']

export class Question {
  text = $state(keptQuestion())
  /** By seat; empty for a default. */
  models = $state<string[]>(keptModels())
  format = $state.raw<Format | null>(null)
  known = $state.raw<Providers | null>(null)
  sending = $state(false)
  error = $state('')
  #once = { key: '', of: '' }
  readonly #plans = new Plans()

  /** The names of the seats. */
  readonly seats = $derived.by(() => {
    if (!this.format) return []
    const { min, max } = this.format.roster
    return roleNames(this.format).length ? roleNames(this.format) : NAMES.slice(0, Math.max(min, Math.min(2, max)))
  })
  readonly voices = $derived.by((): Voice[] => {
    if (!this.format || !this.known) return []
    const hasRoles = roleNames(this.format).length > 0
    const seats = this.seats.map((name, place) => ({ name, model: this.models[place]?.trim() ?? '', ...(hasRoles && { role: name }) }))
    return spread(this.format, seats, null, this.known)
  })

  async read(): Promise<void> {
    try {
      const [formats, known] = await Promise.all([readFormats(), providers(true)])
      this.format = formats.find((one) => one.name === FORMAT) ?? formats[0] ?? null
      this.known = known
      this.error = ''
    } catch (reason) {
      this.error = sentence(reason)
    }
  }

  keep(): void {
    keepQuestion(this.text)
    keepModels([...this.models])
  }

  /** Ask what a debate of these seats would take; called off by what is returned. */
  wantPlan(): () => void {
    return this.#plans.want(this.format ? [this.#outline()] : [])
  }

  /** What it is likely to take, whatever the question; null as long as the service has not said it. */
  get forecast(): Forecast | null {
    const asked = this.#outline()
    return this.#plans.refusal(asked) ? null : (this.#plans.of(asked)?.estimate ?? null)
  }

  #outline(): DebateAsked {
    return { ...this.#asked(), motion: '?', start: false }
  }

  /** Give the seats the models of a ring in turn; an empty one gives the defaults. */
  give(ring: string[]): void {
    this.models = this.seats.map((_, place) => ring[place % (ring.length || 1)] ?? '')
  }

  #asked(): DebateAsked {
    const named = this.models.slice(0, this.seats.length).some((model) => model.trim())
    const isCast = this.format && roleNames(this.format).length
    const seats = this.seats.map((name, place) => {
      const model = this.models[place]?.trim()
      return { ...(isCast ? { role: name } : { name }), ...(model && { model }) }
    })
    return { motion: this.text.trim(), format: this.format?.name ?? FORMAT, participants: named ? seats : [], options: {}, start: true }
  }

  /** Starts the debate; null if that was refused, for the reason in `error`. */
  async start(): Promise<Debate | null> {
    const asked = this.#asked()
    const of = JSON.stringify(asked)
    if (this.#once.of !== of) this.#once = { key: `${Date.now()}-${Math.random().toString(36).slice(2)}`, of }
    this.sending = true
    this.error = ''
    try {
      const made = await post<Debate>('/debates', asked, { 'Idempotency-Key': this.#once.key })
      this.text = ''
      forgetDraft()
      return made
    } catch (reason) {
      this.error = sentence(reason)
      return null
    } finally {
      this.sending = false
    }
  }
}
