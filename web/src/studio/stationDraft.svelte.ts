/** A station in its form: what was entered, and what to send to the service. */
import type { Station } from '../api/stations'
import type { Format } from '../api/types'
import { COST_HELP, readCost } from '../setup/cost'
import { lineOf, rhythmOf, type Rhythm } from './cron'
import { OWN_ZONE } from './times'

export type StationAsked = Partial<Omit<Station, 'id' | 'on_air' | 'next_slot' | 'skipped' | 'trouble' | 'created_at' | 'updated_at'>>

/** The fields that have a place in the form, as the service names them. */
export const FIELDS = [
  'name', 'about', 'public', 'motions', 'agents', 'cron', 'zone', 'missed', 'format', 'seats',
  'limits.max_turns', 'limits.max_cost_usd', 'on_failure',
] // prettier-ignore

export class StationDraft {
  name = $state('')
  about = $state('')
  isPublic = $state(true)
  /** One per line. */
  motions = $state('')
  agents = $state.raw<string[]>([])
  rhythm = $state<Rhythm>(rhythmOf(null))
  zone = $state(OWN_ZONE)
  missed = $state<Station['missed']>('air')
  formatName = $state('duel')
  options = $state<Record<string, number | null>>({})
  seats = $state<number | null>(null)
  maxTurns = $state<number | null>(null)
  /** As it was typed. */
  cost = $state('')
  onFailure = $state<Station['on_failure']>('degrade')
  /** Limits that the form does not show stay as they are. */
  readonly #limits: Station['limits']
  readonly #motions: string[]
  readonly #before: StationAsked
  readonly #text: string

  constructor(
    readonly formats: Format[],
    station?: Station,
  ) {
    if (station) this.#take(station)
    else if (!formats.some((one) => one.name === this.formatName)) this.formatName = formats[0]?.name ?? ''
    this.#limits = station?.limits ?? {}
    this.#motions = station?.motions ?? []
    this.#text = this.motions
    this.#before = this.asked()
  }

  #take(station: Station): void {
    this.name = station.name
    this.about = station.about
    this.isPublic = station.public
    this.motions = station.motions.map((one) => one.replace(/\s*\n\s*/g, ' ')).join('\n')
    this.agents = station.agents
    this.rhythm = rhythmOf(station.cron)
    this.zone = station.zone
    this.missed = station.missed
    this.formatName = station.format
    this.options = { ...station.options }
    this.seats = station.seats
    this.maxTurns = station.limits.max_turns ?? null
    this.cost = String(station.limits.max_cost_usd ?? '')
    this.onFailure = station.on_failure
  }

  readonly format = $derived.by(() => this.formats.find((one) => one.name === this.formatName))
  /** How many agents the format takes, if that can be chosen. */
  readonly room = $derived.by(() => {
    const roster = this.format?.roster
    return roster && roster.min !== roster.max ? { min: Math.max(1, roster.min), max: roster.max } : null
  })

  choose(name: string): void {
    this.formatName = name
    this.options = {}
    this.seats = null
  }

  /** What can be checked without the service. */
  problem(field: string): string {
    if (field === 'limits.max_cost_usd' && Number.isNaN(readCost(this.cost))) return COST_HELP
    if (field !== 'cron') return ''
    const { how, minute } = this.rhythm
    if (how === 'hourly' && (minute === null || !Number.isInteger(minute) || minute < 0 || minute > 59)) return 'Must be between 0 and 59.'
    return ''
  }

  /** Required values that are missing. */
  missing(field: string): string {
    const { how, time, line } = this.rhythm
    if (field === 'name' && !this.name.trim()) return 'Enter a name.'
    if (field === 'zone' && !this.zone.trim()) return 'Choose a time zone, such as UTC.'
    if (field === 'cron' && how === 'own' && !line.trim()) return 'Write a cron line of five fields, or choose another schedule.'
    return field === 'cron' && (how === 'daily' || how === 'weekdays') && !time ? 'Choose a time.' : ''
  }

  asked(): StationAsked {
    const cost = readCost(this.cost)
    const { max_turns: _turns, max_cost_usd: _cost, ...limits } = this.#limits
    return {
      name: this.name.trim(),
      about: this.about.trim(),
      public: this.isPublic,
      motions: this.motions === this.#text ? this.#motions : this.motions.split('\n').map((one) => one.trim()).filter(Boolean),
      agents: this.agents,
      cron: lineOf(this.rhythm),
      zone: this.zone.trim(),
      missed: this.missed,
      format: this.formatName,
      options: Object.fromEntries(Object.entries(this.options).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))),
      seats: this.seats,
      limits: { ...limits, ...(this.maxTurns !== null && { max_turns: this.maxTurns }), ...(cost !== null && { max_cost_usd: cost }) },
      on_failure: this.onFailure,
    }
  }

  /** What has changed since the form was opened. */
  changes(): StationAsked {
    const before = this.#before as Record<string, unknown>
    return Object.fromEntries(Object.entries(this.asked()).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])))
  }
}
