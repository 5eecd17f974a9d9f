/** The voices of this browser, which may load some time after the page. */
class Voices {
  all = $state.raw<SpeechSynthesisVoice[]>([])
  /** Whether one is being tried. */
  speaking = $state(false)
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

  say(text: string, voice: { lang: string; name: string; rate: number; pitch: number }): void {
    const said = new SpeechSynthesisUtterance(text)
    if (voice.lang.trim()) said.lang = voice.lang.trim()
    said.voice = this.all.find((one) => one.name === voice.name) ?? null
    said.rate = voice.rate
    said.pitch = voice.pitch
    said.onend = said.onerror = () => (this.speaking = false)
    speechSynthesis.cancel()
    this.speaking = true
    speechSynthesis.speak(said)
  }

  hush(): void {
    if (this.here) speechSynthesis.cancel()
    this.speaking = false
  }
}

export const voices = new Voices()
