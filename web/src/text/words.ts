/** The words and figures that several screens show. */
import type { Failure, ListedDebate, Participant, Stance, Status, StopReason, Table, Usage } from '../api/types'

const STATUSES: Record<Status, string> = {
  scheduled: 'Scheduled',
  queued: 'Queued',
  running: 'Running',
  paused: 'Paused',
  ending: 'Ending',
  completed: 'Completed',
  stopped: 'Stopped',
  failed: 'Failed',
}

const REASONS: Record<StopReason, string> = {
  finished: 'It ran its full course.',
  max_rounds: 'All its rounds were spoken.',
  max_turns: 'It reached its number of turns.',
  agreement: 'The speakers agreed.',
  ended_by_user: 'It was ended early, with a summary.',
  stopped_by_user: 'It was stopped.',
  budget: 'It reached its budget.',
  provider_failed: 'A model could not be reached.',
  structural_failure: 'Its outcome could not be put together.',
}

export const STANCES: Record<Stance, string> = { pro: 'Pro', con: 'Con', neutral: 'Neutral' }

export const statusWord = (status: Status): string => STATUSES[status]
export const reasonSentence = (reason: StopReason): string => REASONS[reason]

/** `round1` → Round 1, `free` → Free debate: how a stage's name reads. */
export function stageWord(stage: string | null): string {
  if (!stage) return ''
  if (stage === 'free') return 'Free debate'
  const words = stage.replace(/[_-]+/g, ' ').replace(/([a-z])(\d)/g, '$1 $2')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Where a debate stands: “Opening · round 1”. */
export function placeWords(debate: Pick<ListedDebate, 'stage' | 'round'>): string {
  const stage = stageWord(debate.stage)
  if (!debate.round) return stage
  return /\d$/.test(stage) ? stage : `${stage} · round ${debate.round}`
}

export const isFree = (model: string): boolean => model.startsWith('local')

export function costWords(usage: Usage): string {
  if (!usage.calls) return ''
  if (!usage.cost_usd) return 'free'
  const about = usage.estimated ? '≈ ' : ''
  return `${about}$${usage.cost_usd < 1 ? usage.cost_usd.toPrecision(2) : usage.cost_usd.toFixed(2)}`
}

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : many}`

const hourAndMinute = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' })
export const clock = (at: string): string => hourAndMinute.format(new Date(at))

/** “just now”, “5 min ago”, “3 Nov”. */
export function ago(at: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000)
  if (seconds < 45) return 'just now'
  if (seconds < 3570) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 84_600) return `${Math.round(seconds / 3600)} h ago`
  return new Date(at).toLocaleDateString([], { day: 'numeric', month: 'short', year: seconds > 2e7 ? 'numeric' : undefined })
}

/** “2 min 5 s” */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}

export function seatOf(debate: Pick<Table, 'participants' | 'host'>, actor: string): Participant | undefined {
  return debate.host?.id === actor ? debate.host : debate.participants.find((seat) => seat.id === actor)
}

const ERRORS: Record<string, string> = {
  DEBATE_ERR_PROVIDER_AUTH: 'The key was refused.',
  DEBATE_ERR_PROVIDER_RATE_LIMIT: 'The provider asked for fewer requests.',
  DEBATE_ERR_PROVIDER_TIMEOUT: 'The model did not answer in time.',
  DEBATE_ERR_PROVIDER_UNAVAILABLE: 'The provider could not be reached.',
  DEBATE_ERR_PROVIDER_REFUSED: 'The model declined to answer.',
  DEBATE_ERR_PROVIDER_EMPTY: 'The model said nothing.',
  DEBATE_ERR_PROVIDER_INVALID: 'The answer did not have the shape that was asked for.',
  DEBATE_ERR_PROVIDER_CONTEXT: 'The debate has grown too long for this model.',
  DEBATE_ERR_PROVIDER_UNKNOWN_MODEL: 'The provider does not know this model.',
  DEBATE_ERR_BUDGET: 'The budget was used up.',
  DEBATE_ERR_CANCELLED: 'The call was cancelled.',
}

/** A turn that was skipped or failed, in the transcript. */
export const leftOut = (code: Failure['code'] | null): string => `This turn was left out. ${(code && ERRORS[code]) ?? ''}`.trim()

/** `DEBATE_WARN_X: there is …` → its sentence, and its code for those who look for it. */
export function warningWords(warning: string): { code: string; said: string } {
  const [, code = '', said = warning] = /^([A-Z][A-Z_]+): ([^]+)$/.exec(warning) ?? []
  return { code, said: said.charAt(0).toUpperCase() + said.slice(1) }
}

/** A failed turn, in words; its code where there are none. */
export const errorSentence = (code: Failure['code'] | null): string =>
  (code && ERRORS[code]) ?? `This turn failed (${code ?? 'unknown'}).`
