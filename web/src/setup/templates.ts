/** Saved set-ups: from a debate or an unfinished entry, and back into the entry of another. */
import type { Debate, DebateAsked, Participant, Template } from '../api/types'
import type { KeptDraft } from './kept'
import { NO_JURY } from './kept'

const voiceOf = (seat: Participant): string =>
  [seat.model + (seat.effort ? `@${seat.effort}` : ''), ...(seat.instead ?? [])].join('|')

/** What debates like this one are asked for with. */
export function setupOf(debate: Debate): object {
  const roles = Object.keys(debate.rules.roster.roles ?? []).length > 0
  const { max_turn_seconds, max_turn_tokens, max_total_tokens, max_cost_usd } = debate.limits
  return {
    format: debate.format,
    participants: debate.participants.map((seat) =>
      roles ? { role: seat.role, model: voiceOf(seat) } : { name: seat.name, stance: seat.stance, bio: seat.bio, model: voiceOf(seat) },
    ),
    ...(debate.host && { host: { name: debate.host.name, bio: debate.host.bio, model: voiceOf(debate.host) } }),
    options: debate.options,
    limits: { max_turn_seconds, max_turn_tokens, ...(max_total_tokens && { max_total_tokens }), ...(max_cost_usd && { max_cost_usd }) },
    on_failure: debate.on_failure,
    ...(Object.keys(debate.brief).length && { brief: debate.brief }),
    ...(debate.jury && { jury: { size: debate.jury.seats.length, models: debate.jury.seats.map(voiceOf), swap: debate.jury.swap, baseline: debate.jury.baseline } }),
    ...(debate.rules.screen && { depth: 'auto' }),
    tags: debate.tags,
  }
}

/** A template as an entry that nobody has finished yet; the motion stays what it was. */
export function entryOf({ asked: given }: Template, motion: string): KeptDraft {
  const asked = given as unknown as Partial<DebateAsked>
  const seats = asked.participants ?? []
  const roles = seats.filter((seat) => seat.role)
  const { host, jury, brief, limits } = asked
  const cost = limits?.max_cost_usd
  return {
    motion: asked.motion ?? motion,
    format: asked.format ?? 'standard',
    seats: roles.length ? [] : seats.map(({ name, bio, model, stance }) => ({ name: name ?? '', bio: bio ?? '', model: model ?? '', stance: stance ?? 'neutral' })),
    host: { name: host?.name ?? '', bio: host?.bio ?? '', model: host?.model ?? '', wanted: !!host },
    models: Object.fromEntries(roles.map(({ role, model }) => [role ?? '', model ?? ''])),
    jury: jury ? { size: jury.size ?? null, models: [...(jury.models ?? [])], swap: jury.swap !== false, baseline: jury.baseline !== false } : { ...NO_JURY, models: [] },
    options: { ...asked.options },
    maxTurns: limits?.max_turns ?? null,
    limits: {
      max_turn_seconds: limits?.max_turn_seconds ?? null,
      max_turn_tokens: limits?.max_turn_tokens ?? null,
      max_total_tokens: limits?.max_total_tokens ?? null,
      max_cost_usd: cost ?? null,
    },
    cost: cost === null || cost === undefined ? '' : String(cost),
    onFailure: asked.on_failure ?? '',
    early: asked.depth === 'auto',
    outputType: brief?.output_type ?? 'decision',
    constraints: (brief?.constraints ?? []).join('\n'),
    record: brief?.writeback_record_type ?? '',
    sources: [],
  }
}
