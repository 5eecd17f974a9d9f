/** A debate that is being set up: what was entered, what it comes to, and what is wrong with it. */
import { hasSides, resultOf, roleNames, rolesOf } from '../api/rules'
import type { DebateAsked, Forecast, Format, OutputType, Plan, Providers, SeatAsked, Stance } from '../api/types'
import { readCost, COST_HELP } from './cost'
import { spread, type Seat as Voiced } from './voices'
import { Documents } from './documents.svelte'
import { Plans } from './plans.svelte'
import { jurorField, keepCast, keptDraft, keptQuestion, lastCast, NO_JURY, type Agent, type Kept, type KeptDraft, type KeptJury, type KeptSeat } from './kept'

export const MOST_MOTION = 4000
const MOST_NAME = 60
const MOST_BIO = 2000
const MOST_CONSTRAINTS = 20
const NAMES = ['Ada', 'Ben', 'Cleo', 'Dov', 'Edda', 'Finn', 'Gita', 'Hugo', 'Ines', 'Jun', 'Kaya', 'Leo']

export const LIMITS = {
  max_turn_seconds: { label: 'Longest silence (seconds)', min: 5, max: 120, usual: 35, step: 1 },
  max_turn_tokens: { label: 'Tokens per turn', min: 128, max: 4096, usual: 900, step: 1 },
  max_total_tokens: { label: 'Total tokens', min: 1, max: 1e12, usual: null, step: 1 },
  max_cost_usd: { label: 'Total cost (US$)', min: 0, max: 1e6, usual: null, step: 'any' },
} as const
export type Limit = keyof typeof LIMITS
export const LIMIT_NAMES = Object.keys(LIMITS) as Limit[]
const MOST_TURNS = 2000
/** Other names by which the service knows a provider. */
const ALIASES = ['anthropic', 'google']

export interface SeatDraft extends KeptSeat {
  key: number
}

let keys = 0
/** The service's name for the model of a role. */
export const roleField = (role: string): string => `participants[${role}].model`

const seatOf = (seat: KeptSeat): SeatDraft => ({ ...seat, key: ++keys })

export class Draft {
  motion = $state('')
  formatName = $state('')
  options = $state<Record<string, number | null>>({})
  maxTurns = $state<number | null>(null)
  seats = $state<SeatDraft[]>([])
  host = $state<Agent & { wanted: boolean }>({ name: '', bio: '', model: '', wanted: true })
  limits = $state<Record<Limit, number | null>>({ max_turn_seconds: null, max_turn_tokens: null, max_total_tokens: null, max_cost_usd: null })
  /** The limit of the cost as it was typed. */
  cost = $state('')
  onFailure = $state<'' | 'pause' | 'degrade'>('')
  outputType = $state<OutputType>('decision')
  constraints = $state('')
  record = $state<'' | 'decision' | 'worklog'>('')
  /** The models of a cast that has roles, by role. */
  models = $state<Record<string, string>>({})
  jury = $state<KeptJury>({ ...NO_JURY, models: [] })
  /** Whether two seats that agree on their own may end it. */
  early = $state(false)
  readonly documents = new Documents()
  /** Those the service has; none as long as it has not said so. */
  providers = $state.raw<string[]>([])
  /** What the service said against it, by field. */
  refused = $state.raw<{ field: string; sentence: string; of: string } | null>(null)

  constructor(readonly formats: Format[]) {
    const draft = keptDraft()
    const kept = draft ?? lastCast()
    if (kept) {
      this.seats = kept.seats.map(seatOf)
      this.host = kept.host
      this.models = kept.models
      this.jury = kept.jury
    }
    this.choose(formats.some((one) => one.name === kept?.format) ? (kept?.format ?? '') : (formats[0]?.name ?? ''))
    if (draft) this.#restore(draft)
    this.motion ||= keptQuestion()
  }

  #restore(kept: KeptDraft): void {
    this.motion = kept.motion
    if (this.formatName === kept.format) {
      for (const name of Object.keys(this.options)) if (name in kept.options) this.options[name] = kept.options[name] ?? null
      this.maxTurns = kept.maxTurns
    }
    for (const name of LIMIT_NAMES) this.limits[name] = kept.limits[name] ?? null
    this.setCost(kept.cost)
    this.onFailure = kept.onFailure
    this.early = kept.early
    this.outputType = kept.outputType
    this.constraints = kept.constraints
    this.record = kept.record
    this.documents.restore(kept.sources)
  }

  /** All that was entered, to be kept. */
  entered(): KeptDraft {
    const { motion, maxTurns, cost, onFailure, early, outputType, constraints, record } = this
    return {
      ...this.#keptCast(),
      ...{ motion, maxTurns, cost, onFailure, early, outputType, constraints, record },
      options: { ...this.options },
      limits: { ...this.limits },
      sources: this.documents.read,
    }
  }

  setCost(typed: string): void {
    this.cost = typed
    this.limits.max_cost_usd = readCost(typed)
  }

  // --- the format

  readonly format = $derived.by(() => this.formats.find((one) => one.name === this.formatName))
  /** Those of a format with a cast of its own. */
  readonly roles = $derived(this.format ? rolesOf(this.format) : [])
  readonly #result = $derived(this.format ? resultOf(this.format) : null)
  readonly decides = $derived(this.#result !== null)
  /** Whether what is decided is noted among the records. */
  readonly isRecorded = $derived(!!this.#result?.record)
  /** Whether seats argue for a side. */
  readonly hasSides = $derived(!this.format || hasSides(this.format))

  choose(name: string): void {
    this.formatName = name
    const format = this.format
    if (!format) return
    this.options = Object.fromEntries(Object.entries(format.options).map(([option, { default: usual }]) => [option, usual]))
    this.maxTurns = null
    if (!roleNames(format).length) while (this.seats.length < format.roster.min) this.addSeat()
  }

  /** Whether a stage goes on until a number of turns, which is then the question to ask. */
  readonly isEndless = $derived(
    !!this.format?.stages.some((stage) => (typeof stage.rounds === 'string' ? this.options[stage.rounds] : stage.rounds) === 0),
  )

  // --- the plan

  readonly #plans = new Plans()

  /** Ask what each format would come to with this cast; called off by what is returned. */
  wantPlans(): () => void {
    const whole = this.motion.trim() ? [this.#whole()] : []
    return this.#plans.want([...whole, ...this.formats.map((format) => this.#outline(format))])
  }

  /** What exactly this draft is likely to take; null if the service has not said it, or would refuse the draft. */
  get forecast(): Forecast | null {
    return this.#plans.refusal(this.#whole()) ? null : (this.#plans.of(this.#whole())?.estimate ?? null)
  }

  /** What carrying the documents through the debate takes; null as long as the service has not said it. */
  get carrying(): Plan['carrying'] {
    if (!this.documents.read.length || this.#plans.refusal(this.#whole())) return null
    const plan = this.#plans.of(this.#whole())
    return plan?.sources?.length === this.documents.read.length ? (plan.carrying ?? null) : null
  }

  #whole(): DebateAsked {
    return { ...this.asked(), start: false }
  }

  /** What a format would come to; null as long as the service has not said it. */
  plan(format: Format): Plan | null {
    return this.#plans.of(this.#outline(format))
  }

  /** The part of the draft that the plan depends on; for the format that is chosen, with its options. */
  #outline(format: Format): DebateAsked {
    const chosen = format.name === this.formatName
    const options = Object.entries(format.options).map(([name, option]) => [name, (chosen ? this.options[name] : null) ?? option.default])
    return {
      motion: '?',
      format: format.name,
      participants: roleNames(format).length ? [] : this.#outlineSeats(format),
      ...(this.hasHost(format) && { host: {} }),
      options: Object.fromEntries(options) as Record<string, number>,
      limits: chosen && this.isEndless && this.maxTurns !== null ? { max_turns: this.maxTurns } : {},
      ...askedJury({ ...this.jury, models: [] }, format),
      start: false,
    }
  }

  #outlineSeats(format: Format): SeatAsked[] {
    const { min, max } = format.roster
    const seats = this.seats.slice(0, max).map(({ stance }) => stance)
    while (seats.length < min) seats.push('neutral')
    return seats.map((stance, place) => ({ name: `Seat ${place + 1}`, stance }))
  }

  hasHost(format: Format): boolean {
    return format.roster.host === 'required' || (format.roster.host === 'optional' && this.host.wanted)
  }

  readonly turnTokens = $derived(this.limits.max_turn_tokens ?? LIMITS.max_turn_tokens.usual)

  // --- the cast

  /** Those who take part: a duel has two seats, however many are kept for another format. */
  readonly seated = $derived(this.seats.slice(0, this.format?.roster.max ?? 12))

  /** Everybody who is to speak, with the model that was chosen. */
  readonly cast = $derived.by((): { seats: Voiced[]; host: Voiced | null } => {
    const seats = this.roles.length
      ? this.roles.map(({ name, model: usual }) => ({ name, role: name, model: this.#modelOf(name) || (usual ?? '') }))
      : this.seated.map((seat, place) => ({ name: seat.name.trim() || `seat ${place + 1}`, model: seat.model.trim() }))
    const host = { name: this.host.name.trim() || 'host', model: this.host.model.trim() }
    return { seats, host: this.format && this.hasHost(this.format) ? host : null }
  })

  /** The model of each juror, empty for a default; none without a jury. */
  readonly jurors = $derived.by(() => {
    const size = this.format ? jurySize(this.jury, this.format) : 0
    return Array.from({ length: size }, (_, place) => this.jury.models[place]?.trim() ?? '')
  })

  #modelOf(role: string): string {
    return this.models[role]?.trim() ?? ''
  }

  /** Give everybody a model of a ring, so that opponents differ; an empty one gives the defaults. */
  give(ring: string[], known: Providers): void {
    const { seats, host } = this.cast
    const blank = (seat: Voiced): Voiced => ({ ...seat, model: '' })
    const voices = ring.length && this.format ? spread(this.format, seats.map(blank), host && blank(host), { ...known, default: ring }) : []
    const of = (place: number): string => voices[place]?.model ?? ''
    if (this.roles.length) this.models = Object.fromEntries(this.roles.map(({ name }, place) => [name, of(place)]))
    else this.seated.forEach((seat, place) => (seat.model = of(place)))
    if (host) this.host.model = of(seats.length)
  }

  /** Only what comes to a decision can come to it early. */
  get mayEndEarly(): boolean {
    return this.decides || this.jurors.length > 0
  }

  addSeat(): void {
    const taken = new Set(this.seats.map((seat) => seat.name))
    const name = NAMES.find((one) => !taken.has(one)) ?? ''
    const stance: Stance = (['pro', 'con'] as const)[this.seats.length % 2] ?? 'neutral'
    this.seats.push(seatOf({ name, stance, bio: '', model: '' }))
  }

  removeSeat(key: number): void {
    this.seats = this.seats.filter((seat) => seat.key !== key)
  }

  // --- what is wrong, by the service's names for the fields

  readonly firstProblems = $derived.by(() => new Map([...this.#motionProblems(), ...this.#optionProblems()]))
  readonly problems = $derived.by(
    () =>
      new Map([
        ...this.firstProblems,
        ...(this.roles.length ? this.#roleProblems() : this.#castProblems()),
        ...(this.decides ? this.#briefProblems() : []),
        ...this.#juryProblems(),
        ...this.#limitProblems(),
        ...this.#sourceProblems(),
        ...this.#depthProblems(),
        ...this.#refusal(),
      ]),
  )

  #motionProblems(): [string, string][] {
    if (!this.motion.trim()) return [['motion', 'Say what the debate is about.']]
    if (this.motion.length > MOST_MOTION) {
      return [['motion', `${this.motion.length.toLocaleString('en')} characters; the limit is ${MOST_MOTION.toLocaleString('en')}.`]]
    }
    return []
  }

  #optionProblems(): [string, string][] {
    const found: [string, string][] = []
    for (const [name, option] of Object.entries(this.format?.options ?? {})) {
      const problem = outside(this.options[name] ?? null, option.min, option.max, true)
      if (problem) found.push([`options.${name}`, problem])
    }
    if (this.isEndless && this.maxTurns !== null) {
      const problem = outside(this.maxTurns, 1, MOST_TURNS, true)
      const refused = this.format && this.#plans.refusal(this.#outline(this.format))
      if (problem) found.push(['limits.max_turns', problem])
      else if (refused?.field === 'limits.max_turns') found.push(['limits.max_turns', 'That leaves no turns for the debate itself.'])
    }
    return found
  }

  #castProblems(): [string, string][] {
    const found: [string, string][] = []
    const format = this.format
    const names = new Set<string>()
    const check = (agent: Agent, field: string, usual = ''): void => {
      const name = (agent.name.trim() || usual).toLowerCase()
      if (!name) found.push([`${field}.name`, 'Enter a name.'])
      else if (names.has(name)) found.push([`${field}.name`, 'This name is already taken.'])
      else if (name.length > MOST_NAME) found.push([`${field}.name`, `At most ${MOST_NAME} characters.`])
      names.add(name)
      if (agent.bio.length > MOST_BIO) found.push([`${field}.bio`, `${agent.bio.length.toLocaleString('en')} characters; the limit is ${MOST_BIO.toLocaleString('en')}.`])
      const wrong = this.#modelProblem(agent.model)
      if (wrong) found.push([`${field}.model`, wrong])
    }
    this.seated.forEach((seat, place) => check(seat, `participants[${place}]`))
    if (format && this.hasHost(format)) check(this.host, 'host', 'Host')
    if (format && this.seated.length < format.roster.min) {
      found.push(['participants', `A ${format.name} needs ${format.roster.min} speakers.`])
    }
    return found
  }

  #modelProblem(typed: string): string {
    const model = typed.trim()
    if (!model) return ''
    if (!/^[\w.-]+(:.+)?$/.test(model)) return 'Write a model as provider:name.'
    const provider = model.split(':')[0] ?? ''
    if (!this.providers.length || [...this.providers, ...ALIASES].includes(provider.toLowerCase())) return ''
    return `Unknown provider ${provider}. Choose one of ${this.providers.join(', ')}.`
  }

  #roleProblems(): [string, string][] {
    return this.roles.flatMap(({ name }) => {
      const wrong = this.#modelProblem(this.#modelOf(name))
      return wrong ? [[roleField(name), wrong] as [string, string]] : []
    })
  }

  #juryProblems(): [string, string][] {
    return this.jurors.flatMap((model, place) => {
      const wrong = this.#modelProblem(model)
      return wrong ? [[jurorField(place), wrong] as [string, string]] : []
    })
  }

  #briefProblems(): [string, string][] {
    return this.#constraints().length > MOST_CONSTRAINTS ? [['constraints', `At most ${MOST_CONSTRAINTS}.`]] : []
  }

  #limitProblems(): [string, string][] {
    const refused = this.#plans.refusal(this.#whole())
    return LIMIT_NAMES.flatMap((name) => {
      const { min, max, step } = LIMITS[name]
      const value = this.limits[name]
      if (name === 'max_cost_usd' && Number.isNaN(value)) return [[`limits.${name}`, COST_HELP] as [string, string]]
      const problem = value === null ? '' : outside(value, min, max, step === 1 && name !== 'max_turn_seconds')
      const said = problem || (refused?.field === `limits.${name}` ? (refused.detail ?? '') : '')
      return said ? [[`limits.${name}`, said] as [string, string]] : []
    })
  }

  #sourceProblems(): [string, string][] {
    if (this.documents.isBusy) return [['sources', 'Wait until the documents have been read, or remove them.']]
    const refused = this.#plans.refusal(this.#whole())
    return refused?.field?.startsWith('sources') ? [['sources', refused.detail ?? '']] : []
  }

  #depthProblems(): [string, string][] {
    const refused = this.#plans.refusal(this.#whole())
    return refused?.field === 'depth' ? [['depth', refused.detail ?? '']] : []
  }

  /** As long as nothing was changed since. */
  #refusal(): [string, string][] {
    return this.refused && this.refused.of === JSON.stringify(this.asked()) ? [[this.refused.field, this.refused.sentence]] : []
  }

  // --- what is asked for

  asked(): DebateAsked {
    const format = this.format
    const limits = Object.fromEntries(LIMIT_NAMES.flatMap((name) => (this.limits[name] === null ? [] : [[name, this.limits[name]]])))
    return {
      motion: this.motion,
      format: this.formatName,
      participants: this.roles.length ? this.#askedRoles() : this.#askedSeats(),
      ...(format && this.hasHost(format) && { host: filled({ ...this.host, name: this.host.name.trim() || 'Host' }) }),
      ...(this.decides && { brief: this.#askedBrief() }),
      ...(format && askedJury(this.jury, format)),
      options: Object.fromEntries(Object.entries(this.options).filter(([, value]) => value !== null)) as Record<string, number>,
      limits: { ...limits, ...(this.isEndless && this.maxTurns !== null && { max_turns: this.maxTurns }) },
      ...(this.documents.read.length && { sources: this.documents.asked() }),
      ...(this.onFailure && { on_failure: this.onFailure }),
      ...(this.early && this.mayEndEarly && { depth: 'auto' as const }),
      start: true,
    }
  }

  #askedSeats(): SeatAsked[] {
    return this.seated.map(({ stance, ...agent }) => ({ ...filled(agent), stance: this.hasSides ? stance : 'neutral' }))
  }

  /** Roles without a model take what the format names, or the default. */
  #askedRoles(): SeatAsked[] {
    return this.roles.flatMap(({ name: role }) => (this.#modelOf(role) ? [{ role, model: this.#modelOf(role) }] : []))
  }

  #askedBrief(): NonNullable<DebateAsked['brief']> {
    return {
      output_type: this.outputType,
      constraints: this.#constraints(),
      ...(this.record && this.isRecorded && { writeback_record_type: this.record }),
    }
  }

  #constraints(): string[] {
    return this.constraints.split('\n').map((line) => line.trim()).filter(Boolean)
  }

  /** For the next time. */
  remember(): void {
    keepCast(this.#keptCast())
  }

  #keptCast(): Kept {
    return {
      format: this.formatName,
      seats: this.seats.map(({ name, stance, bio, model }) => ({ name, stance, bio, model })),
      host: { ...this.host },
      models: { ...this.models },
      jury: { ...this.jury, models: [...this.jury.models] },
    }
  }
}

export const jurySize = (jury: KeptJury, { roster }: Pick<Format, 'roster'>): number => jury.size ?? roster.jury?.size ?? 0

/** Nothing if the format's own jury is wanted, or none and it has none. */
function askedJury({ models, swap, baseline, ...jury }: KeptJury, format: Format): Pick<DebateAsked, 'jury'> {
  const size = jurySize({ ...jury, models, swap, baseline }, format)
  if (!size) return format.roster.jury ? { jury: { size: 0, models: [], swap, baseline } } : {}
  const named = models.slice(0, size).map((model) => model.trim()).filter(Boolean)
  return { jury: { size, models: named, swap, baseline } }
}

const filled = ({ name, bio, model }: Agent): { name: string; bio?: string; model?: string } => ({
  name: name.trim(),
  ...(bio.trim() && { bio: bio.trim() }),
  ...(model.trim() && { model: model.trim() }),
})

function outside(value: number | null, min: number, max: number, whole: boolean): string {
  if (value === null || Number.isNaN(value) || value < min || value > max) {
    return `Must be between ${min.toLocaleString('en')} and ${max.toLocaleString('en')}.`
  }
  return whole && !Number.isInteger(value) ? 'Must be a whole number.' : ''
}
