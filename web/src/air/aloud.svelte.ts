/** Reads turns aloud with the browser's voices, in order, from where the listener switched it on. */
import type { Conversation, Voice } from '../api/stations'
import type { Table, Turn } from '../api/types'
import { deal, findVoices, type Part } from './voices'

const PLAIN: Voice = { lang: '', name: '', rate: 1, pitch: 1 }
const NO_VOICES = 'This browser has no voices for reading aloud.'

/** The conversation to read; it grows meanwhile. */
interface Source {
  conversation: Conversation | null
  table: Table | null
  turns: Turn[]
}

export class Aloud {
  on = $state(false)
  /** The turn that is being read. */
  turn = $state.raw<Turn | null>(null)
  /** Why nothing is being read. */
  problem = $state('')

  #voices: SpeechSynthesisVoice[] = []
  #parts = new Map<string, Part>()
  /** Every turn up to this one was read, or came before the start. */
  #after = 0
  /** Counts utterances, so that late callbacks of a cancelled one are ignored. */
  #nth = 0
  /** Keep a reference: a browser may collect an utterance and never report its end. */
  #said: SpeechSynthesisUtterance | null = null

  constructor(readonly source: () => Source | null) {
    addEventListener('pagehide', this.stop)
  }

  close(): void {
    removeEventListener('pagehide', this.stop)
    this.stop()
  }

  /** Read everything after a turn. */
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

  /** Switch to another conversation, from its first turn. */
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

  /** Read the next turn if there is one and nothing is being read. */
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
