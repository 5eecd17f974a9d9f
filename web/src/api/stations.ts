/** What the service says of agents, stations and what is on air. */
import type { components } from './schema'

type Schemas = components['schemas']

export type Voice = Schemas['Voice']
export type Agent = Schemas['Agent']
export type Station = Schemas['Station']
export type Conversation = Schemas['Conversation']
/** What the pool would air at a time of the cron line; `agents` are ids, on a public page names. */
export type Slot = Schemas['Slot']
export type Programme = Schemas['Programme']
export type OnAir = Schemas['OnAir']
/** A conversation that was aired, or is: all that was said. */
export type Aired = Schemas['ConversationOnAir']
/** The part of a report that listeners are shown. */
export type AiredReport = Schemas['ReportOnAir']
export type AiredFinding = Schemas['SpeakersFinding']
