/** What a text cites and quotes: the page's twin of core/quoting.py, in the one form that turns have. */
export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'turns'; numbers: number[] }
  /** `words` is empty if the passage is only cited. */
  | { kind: 'passage'; ref: string; words: string }
  | { kind: 'said'; number: number; words: string }
  | { kind: 'unverified'; words: string }

const WORDS = '"([^]{0,4100}?)"'
const ANY = `\\[(?:(turn:\\d{1,6}(?:, ?turn:\\d{1,6})*)|(S[1-9]\\d{0,2}\\.\\d{1,6})(?: ${WORDS})?|(\\d{1,6}) ${WORDS}|unverified ${WORDS})\\]`
const FIRST = new RegExp(`^${ANY}`)
const EACH = new RegExp(ANY, 'g')

function read([, turns, ref, words, number, said, unverified]: RegExpExecArray | RegExpMatchArray): Part {
  if (turns) return { kind: 'turns', numbers: [...turns.matchAll(/\d+/g)].map(([one]) => Number(one)) }
  if (ref) return { kind: 'passage', ref, words: words ?? '' }
  if (number) return { kind: 'said', number: Number(number), words: said ?? '' }
  return { kind: 'unverified', words: unverified ?? '' }
}

/** The citation at the beginning of a text, and how long it is; null if there is none. */
export function first(text: string): { part: Part; raw: string } | null {
  const found = FIRST.exec(text)
  return found && { part: read(found), raw: found[0] }
}

/** A text in parts. */
export function parts(text: string): Part[] {
  const found: Part[] = []
  let at = 0
  for (const match of text.matchAll(EACH)) {
    if (match.index > at) found.push({ kind: 'text', text: text.slice(at, match.index) })
    found.push(read(match))
    at = match.index + match[0].length
  }
  if (at < text.length) found.push({ kind: 'text', text: text.slice(at) })
  return found
}

/** Where the words of a quote stand in a passage, whatever a copy may change: white space, Unicode form, and how quotation marks and dashes are drawn. Null if nowhere. */
export function placeOf(words: string, passage: string): [number, number] | null {
  const wanted = bare(words).text
  if (!wanted) return null
  const { text, places } = bare(passage)
  const start = text.indexOf(wanted)
  if (start < 0) return null
  const last = places[start + wanted.length - 1] ?? 0
  return [places[start] ?? 0, last + (passage.codePointAt(last)! > 0xffff ? 2 : 1)]
}

/** A text as quotes are compared, like `bare` in core/quoting.py, and where each of its characters comes from. */
function bare(text: string): { text: string; places: number[] } {
  const places: number[] = []
  let made = ''
  let at = 0
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    const piece = segment.normalize('NFKC').replace(/[‘’‚‛′`]/g, "'").replace(/[“”„‟«»]/g, '"').replace(/[‐‑‒–—―−]/g, '-').replace(/\s+/g, '')
    for (let n = 0; n < piece.length; n++) places.push(at + Math.min(n, segment.length - 1))
    made += piece
    at += segment.length
  }
  return { text: made, places }
}
