/** Where a text has maths: `$x$`, `$$x$$`, `\(x\)` or `\[x\]`. `$5 and $10` is money. */
export interface Formula {
  /** With its delimiters. */
  raw: string
  tex: string
  isBlock: boolean
}

const OPENS = /(?<![\w$\\])\$|\\[([]/
const DOLLARS = /^\$\$([^$]{1,1000}?)\$\$/
const DOLLAR = /^\$(?!\s)((?:\\.|[^$\n\\]){1,300})(?<!\s)\$(?![\w$])/
const ROUND = /^\\\(([^]{1,1000}?)\\\)/
const SQUARE = /^\\\[([^]{1,1000}?)\\\]/
const BLOCK = /^ {0,3}(?:\$\$([^$]{1,1000}?)\$\$|\\\[([^]{1,1000}?)\\\])[ \t]*(?:\n|$)/
const SIGNS = /[\\^_=+<>]/

/** Words of a sentence, as opposed to commands, names of variables, and what `\text` holds. */
function isProse(tex: string): boolean {
  return /[a-z]{3}|\s[a-z]{2}/i.test(tex.replace(/\\(?:text\w*|mathrm|operatorname|begin|end)\s*\{[^{}]*\}|\\[a-z]+/gi, ''))
}

/** Where the next formula may begin; -1 if nowhere. */
export const nextOpening = (text: string): number => text.search(OPENS)

/** The formula that a text begins with. */
export function inlineAt(text: string): Formula | null {
  const [raw, shown] = DOLLARS.exec(text) ?? []
  if (raw && shown?.trim()) return { raw, tex: shown, isBlock: true }
  const [priced, priceOrTex] = DOLLAR.exec(text) ?? []
  if (priced && priceOrTex) return /^\d/.test(priceOrTex) && isProse(priceOrTex) ? null : { raw: priced, tex: priceOrTex, isBlock: false }
  const [inRound, inner] = ROUND.exec(text) ?? []
  if (inRound && inner?.trim() && !isProse(inner)) return { raw: inRound, tex: inner, isBlock: false }
  const [inSquare, display] = SQUARE.exec(text) ?? []
  if (inSquare && display && SIGNS.test(display)) return { raw: inSquare, tex: display, isBlock: true } // else \[1\], a note
  return null
}

/** The formula that is a block of its own at the start of a text. */
export function blockAt(text: string): Formula | null {
  const [raw, dollars, square] = BLOCK.exec(text) ?? []
  const tex = dollars ?? square
  return raw && tex?.trim() ? { raw, tex, isBlock: true } : null
}

/** Whether a text has any maths at all. */
export function hasFormula(text: string): boolean {
  for (let rest = text, at = nextOpening(rest); at >= 0; at = nextOpening(rest)) {
    rest = rest.slice(at)
    if (inlineAt(rest)) return true
    rest = rest.slice(1)
  }
  return false
}
