/** Reads turns aloud with the browser's own voices: in their order, from where it was switched on. */
import type { Conversation, Voice } from '../api/stations'
import type { Table, Turn } from '../api/types'
import { deal, findVoices, type Part } from './voices'

const PLAIN: Voice = { lang: '', name: '', rate: 1, pitch: 1 }
const NO_VOICES = 'This browser has no voices for reading aloud.'

/** What is read from: it grows while it is listened to. */
interface Source {
  conversation: Conversation | null
  table: Table | null
  turns: Turn[]
}

export class Aloud {
  on = $state(false)
  /** The turn that is being read. */
  turn = $state.raw<Turn | null>(null)
  /** Why nothing is read. */
  problem = $state('')

  #voices: SpeechSynthesisVoice[] = []
  #parts = new Map<string, Part>()
  /** All up to this one are read, or were said before. */
  #after = 0
  /** Counts what is spoken: a late word about what was cancelled is not heard. */
  #nth = 0
  /** A browser may forget an utterance that nobody holds, and never say that it ended. */
  #said: SpeechSynthesisUtterance | null = null

  constructor(readonly source: () => Source | null) {
    addEventListener('pagehide', this.stop)
  }

  close(): void {
    removeEventListener('pagehide', this.stop)
    this.stop()
  }

  /** Read all that comes after a turn. */
  async start(after: number): Promise<void> {
    this.on = true
    this.problem = ''
    this.#after = after
    this.#voices = await findVoices()
    if (!this.on) return
    if (this.#voices.length) return this.more()
    this.on = false
    this.problem = NO_VOICES
  }

  stop = (): void => {
    this.on = false
    this.turn = null
    this.#hush()
  }

  skip(): void {
    this.turn = null
    this.#hush()
    this.more()
  }

  /** Another conversation: from its first turn. */
  begin(): void {
    this.turn = null
    this.#hush()
    this.#after = 0
    this.#parts.clear()
  }

  /** Whether something is left to read. */
  get behind(): boolean {
    return this.on && (this.turn !== null || this.#next() !== undefined)
  }

  /** Go on with the next turn, where there is one and nothing is being read. */
  more(): void {
    if (!this.on || this.turn || !this.#voices.length) return
    const next = this.#next()
    if (!next) return
    this.turn = next
    this.#after = next.seq
    void this.#read(next, this.#nth)
  }

  #next(): Turn | undefined {
    return this.source()?.turns.find((turn) => turn.seq > this.#after && turn.status === 'ok' && turn.text.trim() !== '')
  }

  async #read(turn: Turn, nth: number): Promise<void> {
    const part = this.#part(turn.actor)
    const { pieces } = await import('./plain')
    if (nth !== this.#nth) return
    const left = pieces(turn.text)
    const on = (): void => {
      if (nth !== this.#nth) return
      const text = left.shift()
      if (text !== undefined) return this.#say(text, part, on, nth)
      this.turn = null
      this.more()
    }
    on()
  }

  #say(text: string, part: Part, on: () => void, nth: number): void {
    const said = new SpeechSynthesisUtterance(text)
    said.voice = part.voice
    if (part.lang) said.lang = part.lang
    said.rate = part.rate
    said.pitch = part.pitch
    said.onend = on
    said.onerror = () => {
      if (nth !== this.#nth) return // it was cancelled
      this.stop()
      this.problem = 'The browser’s voice failed. Try again.'
    }
    this.#said = said
    speechSynthesis.speak(said)
  }

  #hush(): void {
    this.#nth += 1
    if (this.#said) speechSynthesis.cancel()
    this.#said = null
  }

  #part(actor: string): Part {
    if (!this.#parts.size) this.#parts = deal(this.#actors(), this.#voices)
    return this.#parts.get(actor) ?? { voice: null, lang: '', rate: 1, pitch: 1 }
  }

  #actors(): { id: string; voice: Voice }[] {
    const { conversation, table } = this.source() ?? {}
    const agents = conversation?.agents.map(({ seat, voice }) => ({ id: seat, voice })) ?? []
    return table?.host ? [...agents, { id: table.host.id, voice: PLAIN }] : agents
  }
}
