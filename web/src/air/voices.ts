/** Assigns the browser's voices to speakers. */
import type { Voice } from '../api/stations'

export interface Part {
  voice: SpeechSynthesisVoice | null
  lang: string
  rate: number
  pitch: number
}

const primary = (lang: string): string => lang.replace('_', '-').split('-', 1)[0]?.toLowerCase() ?? ''
const same = (a: string, b: string): boolean => a.replace('_', '-').toLowerCase() === b.replace('_', '-').toLowerCase()

/** The voices for a language, those of its region first; without a language, the listener's. */
function speaking(lang: string, voices: SpeechSynthesisVoice[]): SpeechSynthesisVoice[] {
  const wanted = lang || navigator.language
  const found = voices.filter((voice) => primary(voice.lang) === primary(wanted))
  if (!found.length) return lang ? [] : voices
  return [...found.filter((voice) => same(voice.lang, wanted)), ...found.filter((voice) => !same(voice.lang, wanted))]
}

/** A voice for each actor: the one it names, otherwise an unused one of its language if there are enough. */
export function deal(actors: { id: string; voice: Voice }[], voices: SpeechSynthesisVoice[]): Map<string, Part> {
  const named = (voice: Voice): SpeechSynthesisVoice | undefined =>
    voice.name ? voices.find((one) => one.name.toLowerCase() === voice.name.toLowerCase()) : undefined
  const used = new Map<SpeechSynthesisVoice, number>()
  const use = (voice: SpeechSynthesisVoice): SpeechSynthesisVoice => {
    used.set(voice, (used.get(voice) ?? 0) + 1)
    return voice
  }
  for (const { voice } of actors) {
    const found = named(voice)
    if (found) use(found) // before the others choose
  }
  return new Map(
    actors.map(({ id, voice: { lang, rate, pitch, ...rest } }) => {
      const own = named({ lang, rate, pitch, ...rest })
      const all = speaking(lang, voices)
      const least = Math.min(...all.map((one) => used.get(one) ?? 0))
      const free = all.find((one) => (used.get(one) ?? 0) === least)
      const voice = own ?? (free ? use(free) : null)
      return [id, { voice, lang: lang || voice?.lang || '', rate, pitch }]
    }),
  )
}

/** Browsers load their voices late, or never. */
export async function findVoices(patience = 2000): Promise<SpeechSynthesisVoice[]> {
  if (!('speechSynthesis' in window)) return []
  const found = speechSynthesis.getVoices()
  if (found.length) return found
  await new Promise((resolve) => {
    speechSynthesis.addEventListener('voiceschanged', resolve, { once: true })
    setTimeout(resolve, patience)
  })
  return speechSynthesis.getVoices()
}
