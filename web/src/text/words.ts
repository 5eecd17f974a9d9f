/** Words and figures that several screens use. */
import { hasSides } from '../api/rules'
import { READINGS, readingAt } from './jury'
import type { CutOff, Debate, Failure, Participant, Place, Stance, Status, StopReason, Table, Turn } from '../api/types'

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
  max_rounds: 'All rounds are complete.',
  max_turns: 'It reached its turn limit.',
  agreement: 'The speakers agreed.',
  ended_by_user: 'It was ended early.',
  stopped_by_user: 'It was stopped.',
  budget: 'It used up its budget.',
  provider_failed: 'A model could not be reached.',
  structural_failure: 'It could not be completed.',
}

export const STANCES: Record<Stance, string> = { pro: 'Pro', con: 'Con', neutral: 'Neutral' }

/** The side that a seat argues for; empty if it has a role instead, or no side. */
export function sideWord(rules: Table['rules'], stance: Stance): string {
  if (rules.roster.roles.length) return ''
  return stance === 'neutral' && rules.stages && !hasSides(rules) ? '' : STANCES[stance]
}

export const statusWord = (status: Status): string => STATUSES[status]
export const reasonSentence = (reason: StopReason): string => REASONS[reason]

/** Why the debate is over. If it was ended early, it has a closing summary unless nobody could give one. */
export function endSentence(reason: StopReason | null, summed: boolean): string {
  if (!reason) return ''
  if (reason !== 'ended_by_user') return REASONS[reason]
  return summed ? 'It was ended early, with a summary.' : 'It was ended early. Nobody could give a closing summary.'
}

/** Whether the last turn is a closing summary. */
export function isSummedUp(turns: Turn[]): boolean {
  const last = turns.findLast((turn) => turn.kind !== 'note')
  return last?.kind === 'summary' && last.status === 'ok'
}

/** `round1` → Round 1: the title of a stage without one. */
export function stageWord(stage: string | null): string {
  if (!stage) return ''
  const words = stage.replace(/[_-]+/g, ' ').replace(/([a-z])(\d)/g, '$1 $2')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A debate's stages; if its rules are known, also those that it leaves out. */
type Course = Pick<Table, 'stages' | 'jury'> & { rules?: Pick<Table['rules'], 'stages'> }

/** “Free debate · round 1 of 2”; a stage of one round has no round. */
export const placeWords = ({ title, round, rounds }: Place): string =>
  round === null ? title : `${title} · round ${round}${rounds ? ` of ${rounds}` : ''}`

/** Where a turn stands in its debate: the page's twin of `heading` in core/schedule.py. */
export function headingOf(debate: Course, at: { stage: string | null; round: number | null }): string {
  const stage = debate.stages.find((one) => one.name === at.stage)
  const reading = readingAt(debate, at)
  if (reading) return `${titleOf(debate, at.stage)} · ${READINGS[reading]}`
  if (!stage || stage.rounds === 1 || at.round === null) return titleOf(debate, at.stage)
  return placeWords({ title: stage.title, round: at.round - stage.first_round + 1, rounds: stage.rounds })
}

/** A stage's title. A debate that was ended may close in an extra stage. */
export function titleOf(debate: Course, name: string | null): string {
  const found = [...debate.stages, ...(debate.rules?.stages ?? [])].find((one) => one.name === name)
  return found?.title ?? stageWord(name)
}

/** `openrouter:meta/llama-4@high` → llama-4@high */
/** What a seat of a person has in place of a model. */
export const PERSON = 'human'

export const shortModel = (model: string): string => model === PERSON ? 'a person' : model.replace(/^[^:]*:/, '').replace(/^.*\//, '')

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

export function seatOf(debate: Pick<Table, 'participants' | 'host' | 'jury'>, actor: string): Participant | undefined {
  return debate.host?.id === actor ? debate.host : [...debate.participants, ...(debate.jury?.seats ?? [])].find((seat) => seat.id === actor)
}

const ERRORS: Record<string, string> = {
  DEBATE_ERR_PROVIDER_AUTH: 'The key was refused.',
  DEBATE_ERR_PROVIDER_RATE_LIMIT: 'The provider’s rate limit was reached.',
  DEBATE_ERR_PROVIDER_TIMEOUT: 'The model did not answer in time.',
  DEBATE_ERR_PROVIDER_UNAVAILABLE: 'The provider could not be reached.',
  DEBATE_ERR_PROVIDER_REFUSED: 'The model declined to answer.',
  DEBATE_ERR_PROVIDER_EMPTY: 'The model said nothing.',
  DEBATE_ERR_PROVIDER_INVALID: 'The answer did not have the requested structure.',
  DEBATE_ERR_PROVIDER_CONTEXT: 'The debate has grown too long for this model.',
  DEBATE_ERR_PROVIDER_UNKNOWN_MODEL: 'The provider does not know this model.',
  DEBATE_ERR_BUDGET: 'The budget was used up.',
  DEBATE_ERR_CANCELLED: 'The call was cancelled.',
}

/** Why a try was cut off: the page's twin of `CUT_OFF` in cli/screen.py. */
const CUT_OFF: Record<string, string> = {
  DEBATE_ERR_PROVIDER_TIMEOUT: 'the model took too long',
  DEBATE_ERR_PROVIDER_UNAVAILABLE: 'the connection to the model failed',
  DEBATE_ERR_PROVIDER_RATE_LIMIT: 'the provider asks for slower calls',
  DEBATE_ERR_PROVIDER_CONTEXT: 'the debate is too long for the model',
}

/** “Cut off, trying again (2 of 4): the model took too long.” */
export function cutWords({ text, code, attempt, attempts }: CutOff): string {
  return `${text ? 'Cut off' : 'No answer'}, trying again (${attempt} of ${attempts}): ${CUT_OFF[code] ?? 'the answer could not be used'}.`
}

/** A turn that was skipped or failed, in the transcript. */
export const leftOut = (code: Failure['code'] | null): string => `This turn was left out. ${(code && ERRORS[code]) ?? ''}`.trim()

/** A juror's ballot that failed. */
export const noBallot = (code: Failure['code'] | null): string => `No valid ballot. ${(code && ERRORS[code]) ?? ''}`.trim()

/** `DEBATE_WARN_X: there is …` → its sentence and its code. */
export function warningWords(warning: string): { code: string; said: string } {
  const [, code = '', said = warning] = /^([A-Z][A-Z_]+): ([^]+)$/.exec(warning) ?? []
  const isModel = /^[a-z-]+:\S/.test(said) // its name stays as it is
  return { code, said: isModel ? said : said.charAt(0).toUpperCase() + said.slice(1) }
}

const SMALL_MODEL = 'DEBATE_WARN_SMALL_MODEL'

/** What stands above all that small models came to; empty if none spoke. */
export function cautionWords(warnings: readonly string[]): string {
  return warnings.map(warningWords).find(({ code }) => code === SMALL_MODEL)?.said ?? ''
}

/** The other warnings. */
export const otherWarnings = (warnings: readonly string[]): { code: string; said: string }[] =>
  warnings.map(warningWords).filter(({ code }) => code !== SMALL_MODEL)

export const FILES_AHEAD = 'DEBATE_WARN_FILES_AHEAD'

/** Why a debate is on hold: its files are ahead of the database; empty if all is well. */
export function behindWords(debate: Pick<Debate, 'id' | 'warnings'>): string {
  const found = debate.warnings.find((warning) => warning.startsWith(FILES_AHEAD))
  return found ? warningWords(found.replace(`${debate.id}: `, '')).said : '' // the page shows which debate it is
}

/** A failed turn in words, or its code if there are none. */
export const errorSentence = (code: Failure['code'] | null): string =>
  (code && ERRORS[code]) ?? `This turn failed (${code ?? 'unknown'}).`
