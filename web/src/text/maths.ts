/** TeX → MathML, which browsers draw without fonts, scripts or styles of ours. Loaded only for a text with maths. */
import temml from 'temml'
import type { TokenizerAndRendererExtension } from 'marked'
import { blockAt, inlineAt, nextOpening, type Formula } from './formulas'

/** More than this is shown as it was written: nothing that a model writes may freeze the page. */
const MOST_FORMULAS = 150
const MOST_MARKUP = 40_000
const DEEPEST = 40
/** Definitions can grow without bound, and nobody needs them in a speech. */
const DEFINES = /\\(?:[gex]?def|(?:re)?newcommand|providecommand|let|futurelet|global|long)(?![a-z])/i

let drawn = 0

/** Each text starts at zero. */
export const begin = (): void => void (drawn = 0)

function mathml({ tex, isBlock }: Formula): string | null {
  if (++drawn > MOST_FORMULAS || DEFINES.test(tex) || depth(tex, /[{}]/g, '}') > DEEPEST) return null
  try {
    const made = temml.renderToString(tex, { displayMode: isBlock, throwOnError: true, trust: false, maxExpand: 200, maxSize: [20, 20] })
    const isHuge = made.length > MOST_MARKUP || depth(made, /<\/?m/g, '</m') > DEEPEST
    return isHuge ? null : made.replace(/ style="[^"]*"/g, '') // the page's policy forbids them, and would say so for each
  } catch {
    return null // not TeX, or not of a kind that is safe
  }
}

/** How deep something is nested. */
function depth(text: string, marks: RegExp, closing: string): number {
  let [now, most] = [0, 0]
  for (const [mark] of text.matchAll(marks)) most = Math.max(most, (now += mark === closing ? -1 : 1))
  return most
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

const token = (type: string, found: Formula | null): ({ type: string } & Formula) | undefined => (found ? { type, ...found } : undefined)

/** If it cannot be drawn, the source stays, as code. */
const shown = (formula: unknown): string => mathml(formula as Formula) ?? `<code>${escape((formula as Formula).raw.trim())}</code>`

export const extensions: TokenizerAndRendererExtension[] = [
  {
    name: 'formulaBlock',
    level: 'block',
    start: (text) => text.search(/^ {0,3}(?:\$\$|\\\[)/m),
    tokenizer: (text) => token('formulaBlock', blockAt(text)),
    renderer: (formula) => `<p>${shown(formula)}</p>`,
  },
  { name: 'formula', level: 'inline', start: nextOpening, tokenizer: (text) => token('formula', inlineAt(text)), renderer: shown },
]
