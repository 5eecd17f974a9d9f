/** A turn's Markdown as plain words, in pieces short enough for a browser's voice. */
import { render } from '../text/markdown'

/** Some voices stop in the middle of anything longer. */
const PIECE = 180
const MOST = 12_000
const BLOCKS = 'p, li, h3, h4, h5, h6, tr, blockquote, pre, br, hr'

export function pieces(markdown: string): string[] {
  const { body } = new DOMParser().parseFromString(render(markdown.slice(0, MOST)), 'text/html')
  for (const button of body.querySelectorAll('button')) button.remove()
  for (const tick of body.querySelectorAll('[role=img]')) tick.textContent = `${tick.ariaLabel}:`
  for (const formula of body.querySelectorAll('math')) formula.textContent = 'a formula'
  for (const pre of body.querySelectorAll('pre')) pre.textContent = 'Code, not read aloud.'
  for (const cell of body.querySelectorAll('td, th')) cell.after(', ')
  for (const block of body.querySelectorAll(BLOCKS)) block.after('\n')
  const lines = (body.textContent ?? '')
    .replace(/https?:\/\/\S+/g, 'a link')
    .split('\n')
    .map((line) => line.replace(/[\s\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line))
  if (markdown.length > MOST) lines.push('The rest is on the page.')
  return lines.flatMap(cut)
}

/** Cut at the end of a sentence if possible, otherwise between words, otherwise anywhere. */
function cut(line: string): string[] {
  const found: string[] = []
  let rest = line
  while (rest.length > PIECE) {
    const head = rest.slice(0, PIECE)
    const sentence = Math.max(...['. ', '! ', '? ', '; ', ': ', '。'].map((end) => head.lastIndexOf(end))) + 1
    const at = sentence > PIECE / 3 ? sentence : head.lastIndexOf(' ') > PIECE / 3 ? head.lastIndexOf(' ') : PIECE
    found.push(rest.slice(0, at).trim())
    rest = rest.slice(at).trim()
  }
  if (rest) found.push(rest)
  return found
}
