/** The service's shapes. `schema.d.ts` is made from openapi.json by `npm run types`. */
import type { components } from './schema'

type Schemas = components['schemas']

export type ListedDebate = Schemas['ListedDebate']
export type DebatePage = Schemas['Debates']
export type Models = Schemas['Models']
/** The tags of all debates. */
export type Tags = Schemas['Tags']
export type Debate = Schemas['Debate']
export type Followup = Schemas['Followup']
export type Template = Schemas['Template']
export type Ratings = Schemas['Ratings']
export type Turn = Schemas['Turn']
export type Asked = NonNullable<Schemas['AskedNow']['asked']>
export type FormField = Schemas['FormField']
export type Link = Schemas['Link']
export type MadeLink = Schemas['MadeLink']
export type Verdict = Schemas['Verdict']
export type Participant = Schemas['Participant']
export type Failure = Schemas['Failure']
export type Progress = Schemas['Progress']
export type Place = Schemas['Heading']
export type Plan = Schemas['Plan']
/** What a plan is likely to take. */
export type Forecast = Schemas['Forecast']
export type PlannedStep = Schemas['PlannedStep']
/** What the stream says besides turns (§8 of the contract). */
export type StatusEvent = Schemas['StatusEvent']
export type DeltaEvent = Schemas['Delta']
export type CutOff = Schemas['CutOff']
export type Format = Schemas['Format']
export type Roster = Schemas['Roster']
export type Role = Schemas['RoleSeat']
/** What a debate comes to, and the stages that it follows from. */
export type Outcome = Schemas['Outcome']
export type Formats = Schemas['Formats']
export type FormatProblem = Schemas['FormatProblem']
export type Providers = Schemas['Providers']
export type Offered = Schemas['Offered']
export type Offer = Schemas['Offer']
export type Provider = Schemas['ProviderStatus']
/** The models and limits of debates that name none. */
export type Preferences = Schemas['Settings']
export type Example = Schemas['Example']
export type Problem = Schemas['Problem']
export type DebateAsked = Schemas['DebateAsked']
export type SeatAsked = Schemas['SeatAsked']
export type OutputType = Schemas['BriefAsked']['output_type']
export type Status = ListedDebate['status']
export type StopReason = NonNullable<ListedDebate['stop_reason']>
export type Stance = Participant['stance']
/** The part of a debate that a turn is shown by: who sits where, and the stages. */
export type Table = Pick<Debate, 'participants' | 'host' | 'stages'> & { jury?: Debate['jury'] } & { rules: Format | { roster: Pick<Roster, 'roles'>; stages?: undefined } }

export const OUTPUT_TYPES = ['decision', 'writing', 'architecture', 'planning', 'evaluation'] as const satisfies readonly OutputType[]

export const FINAL: readonly Status[] = ['completed', 'stopped', 'failed']
export const isFinal = (status: Status): boolean => FINAL.includes(status)
