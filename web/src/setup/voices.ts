/** Who speaks for each seat: the page's twin of core/voices.py. */
import type { Format, Providers } from '../api/types'

export const UNDERSTUDY = 'local:understudy'
const ALIASES: Record<string, string> = { anthropic: 'claude', google: 'gemini' }
const LABELS: Record<string, string> = { claude: 'Claude', openai: 'OpenAI', gemini: 'Gemini' }
/** Whose models they are, by what their names hold: many providers serve models of others. */
const FAMILIES: Record<string, string> = {
  claude: 'claude', gpt: 'openai', gemini: 'gemini', gemma: 'gemini', grok: 'xai', mistral: 'mistral', mixtral: 'mistral', magistral: 'mistral',
  deepseek: 'deepseek', llama: 'llama', qwen: 'qwen', kimi: 'moonshot', glm: 'zai',
} // prettier-ignore

/** A seat that is to be filled; its model is empty if none was named. */
export interface Seat {
  name: string
  model: string
  /** Of a cast with roles. */
  role?: string
}

export interface Voice {
  name: string
  model: string
  /** In words: “Claude”, “the understudy, which is not a model”. */
  words: string
}

function providerOf(model: string): string {
  const name = model.split(':')[0]?.trim().toLowerCase() ?? ''
  return ALIASES[name] ?? name
}

/** Who made a model, as far as its name tells, and otherwise who serves it. */
function family(model: string): string {
  const name = model.slice(model.indexOf(':') + 1).toLowerCase()
  const known = model.includes(':') ? Object.entries(FAMILIES).find(([mark]) => name.includes(mark)) : undefined
  return known?.[1] ?? providerOf(model)
}

/** Give each seat without a model one of the default ones, so that families differ if possible. */
export function spread(format: Format, seats: Seat[], host: Seat | null, known: Providers): Voice[] {
  const all = host ? [...seats, host] : seats
  const everyone = new Map<string, number>()
  const speaking = new Map<string, number>()
  const add = (counts: Map<string, number>, model: string): unknown => counts.set(family(model), (counts.get(family(model)) ?? 0) + 1)
  for (const seat of all) if (seat.model) add(everyone, seat.model)
  for (const seat of seats) if (seat.model) add(speaking, seat.model)
  const judges = new Set(format.stages.filter((stage) => stage.kind === 'verdict' && Array.isArray(stage.speakers)).flatMap((stage) => stage.speakers))
  const given: string[] = []
  for (const seat of all) {
    const unlike = seat.role && judges.has(seat.role) ? family(given[0] ?? '') : ''
    const rank = (model: string): number[] => [Number(family(model) === unlike), everyone.get(family(model)) ?? 0, speaking.get(family(model)) ?? 0]
    const model = seat.model || (known.default.toSorted((a, b) => compare(rank(a), rank(b)))[0] ?? '')
    given.push(model)
    if (seat.model) continue
    add(everyone, model)
    add(speaking, model)
  }
  return all.map((seat, place) => voice(seat.name, given[place] ?? '', known))
}

/** Give each juror without a model one that sits on the jury least often, and that debated least. */
export function empanel(jurors: string[], debaters: Voice[], known: Providers): Voice[] {
  const times = (models: string[], model: string): number => models.filter((one) => one && family(one) === family(model)).length
  const sitting = jurors.filter(Boolean)
  const debated = debaters.map((one) => one.model)
  return jurors.map((asked, place) => {
    const rank = (model: string): number[] => [times(sitting, model), times(debated, model)]
    const model = asked || (known.default.toSorted((a, b) => compare(rank(a), rank(b)))[0] ?? '')
    if (!asked) sitting.push(model)
    return voice(`juror ${place + 1}`, model, known)
  })
}

const compare = (a: number[], b: number[]): number => a.map((one, place) => one - (b[place] ?? 0)).find((sign) => sign !== 0) ?? 0

/** A provider alone means its default model. */
function voice(name: string, asked: string, known: Providers): Voice {
  const bare = asked.includes(':') ? null : known.items.find((one) => one.provider === providerOf(asked))
  const model = bare?.model ?? asked
  if (model === UNDERSTUDY) return { name, model, words: 'the understudy, which is not a model' }
  const words = LABELS[providerOf(model)]
  return { name, model, words: words && asked && isUsual(model, known) ? words : model || 'the default' }
}

const isUsual = (model: string, known: Providers): boolean => known.items.some((one) => one.model === model)

/** Why the host of a format with cues may not lead it reliably; empty if nothing speaks against it. */
export function weakHost(format: Format, host: Voice | undefined, known: Providers): string {
  if (!host || !format.stages.some((stage) => stage.cued)) return ''
  const small = known.items.find((one) => one.model === host.model)?.small
  const who = host.model === UNDERSTUDY ? 'the understudy, which is not a model' : small ? `${host.model}, which is a small model` : ''
  return who && `The host is ${who}, and may not lead this debate reliably; give the host a larger model.`
}
