/** The voices of this browser, which may load some time after the page. */
class Voices {
  all = $state.raw<SpeechSynthesisVoice[]>([])
  /** The utterance by which one is being tried. */
  #said = $state.raw<SpeechSynthesisUtterance | null>(null)
  readonly here = 'speechSynthesis' in globalThis

  constructor() {
    if (!this.here) return
    this.all = speechSynthesis.getVoices()
    speechSynthesis.addEventListener('voiceschanged', () => (this.all = speechSynthesis.getVoices()))
  }

  /** The voices of a language, `en` with all of `en-…`; all voices if none is given. */
  of(lang: string): SpeechSynthesisVoice[] {
    const wanted = lang.trim().toLowerCase().split('-')[0]
    const fits = (one: SpeechSynthesisVoice): boolean => one.lang.toLowerCase().split(/[-_]/)[0] === wanted
    return (wanted ? this.all.filter(fits) : this.all).toSorted((a, b) => a.lang.localeCompare(b.lang) || a.name.localeCompare(b.name))
  }

  get langs(): string[] {
    return [...new Set(this.all.map((one) => one.lang.replace('_', '-')))].sort()
  }

  /** Whether one is being tried. */
  get speaking(): boolean {
    return this.#said !== null
  }

  say(text: string, voice: { lang: string; name: string; rate: number; pitch: number }): void {
    const said = new SpeechSynthesisUtterance(text)
    if (voice.lang.trim()) said.lang = voice.lang.trim()
    said.voice = this.all.find((one) => one.name === voice.name) ?? null
    said.rate = voice.rate
    said.pitch = voice.pitch
    // A browser reports the end of a cancelled one later, when the next may be speaking.
    said.onend = said.onerror = () => {
      if (this.#said === said) this.#said = null
    }
    speechSynthesis.cancel()
    this.#said = said
    speechSynthesis.speak(said)
  }

  hush(): void {
    if (this.here) speechSynthesis.cancel()
    this.#said = null
  }
}

export const voices = new Voices()
