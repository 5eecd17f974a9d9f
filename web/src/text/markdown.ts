/** Renders model text as Markdown. It is untrusted, so everything except prose is filtered out. */
import DOMPurify from 'dompurify'
import { Marked, type MarkedExtension } from 'marked'
import { first } from './citations'
import { hasFormula } from './formulas'

const TAGS = [
  ...['p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a', 'span'],
  ...['h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
]
/** MathML without links, annotations and actions; none of its colours and styles. */
const MATHML = [
  ...['math', 'mrow', 'mi', 'mn', 'mo', 'ms', 'mtext', 'mspace', 'mfrac', 'msqrt', 'mroot', 'mstyle', 'mpadded', 'mphantom'],
  ...['msub', 'msup', 'msubsup', 'munder', 'mover', 'munderover', 'mmultiscripts', 'mprescripts', 'mtable', 'mtr', 'mtd', 'menclose'],
]
const MATHML_ATTRIBUTES = [
  ...['display', 'displaystyle', 'scriptlevel', 'mathvariant', 'form', 'fence', 'separator', 'stretchy', 'symmetric', 'largeop', 'movablelimits'],
  ...['accent', 'accentunder', 'linethickness', 'lspace', 'rspace', 'minsize', 'maxsize', 'width', 'height', 'depth', 'voffset', 'columnspan', 'notation'],
]
const PLAIN_ATTRIBUTES = [...MATHML_ATTRIBUTES, 'align', 'start', 'class']
const SAFE_LINK = /^(?:https?|mailto):/i
const OUR_CLASS = /^(?:hljs-[a-z_-]+|tml-[a-z-]+|task-done|task-open|quoted|unverified)$/
/** A longer formula within a line may be wider than a phone. */
const LONG = 30
const FENCED = /^[ >\-*\d.]*(?:`{3,}|~{3,})[ \t]*\w/m

let maths: typeof import('./maths') | null = null
let code: typeof import('./code') | null = null

const purify = DOMPurify(window)
purify.addHook('uponSanitizeAttribute', (_node, data) => {
  if (data.attrName !== 'class') return
  data.attrValue = data.attrValue.split(' ').filter((name) => OUR_CLASS.test(name)).join(' ')
  data.keepAttr = data.attrValue !== ''
})
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName !== 'A') return node.removeAttribute('href')
  if (!SAFE_LINK.test(node.getAttribute('href') ?? '')) return node.removeAttribute('href')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
  node.setAttribute('target', '_blank')
})

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

const rules: MarkedExtension = {
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text), // raw HTML is shown as it was written
    image: ({ text, href }) => escape(text || href), // an image would be fetched; its text stays
    checkbox: ({ checked }) => (checked ? '<span class="task-done">☑</span> ' : '<span class="task-open">☐</span> '),
    code: ({ text, lang }) => `<pre><code>${code?.highlight(text, lang?.split(/\s/)[0] ?? '') ?? escape(text)}</code></pre>`,
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2) // below the page's own headings
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
    },
  },
}
/** `[S1.14 "…"]`, `[12 "…"]` and `[unverified "…"]` are one piece, whatever signs the words hold: what is ours around them is added in `link`. */
const quotes: MarkedExtension = {
  extensions: [
    {
      name: 'quote',
      level: 'inline',
      start: (source) => source.search(/\[(?:S?\d|unverified ")/),
      tokenizer(source) {
        const found = first(source)
        return found && found.part.kind !== 'turns' ? { type: 'quote', raw: found.raw, part: found.part } : undefined
      },
      renderer: ({ raw }) => `<span class="quoted">${escape(raw)}</span>`,
    },
  ],
}
const prose = new Marked(rules, quotes)
let withMaths: Marked | null = null

/** Loads what a text needs to be shown well; null if everything is here. */
export function missing(text: string): Promise<unknown> | null {
  const wanted: Promise<unknown>[] = []
  if (!code && FENCED.test(text)) wanted.push(import('./code').then((module) => (code = module)))
  if (!maths && hasFormula(text)) wanted.push(import('./maths').then((module) => (maths = module)))
  return wanted.length ? Promise.allSettled(wanted) : null // without it, code and maths stay plain
}

const CITED = /\[(turn:\d{1,6}(?:, ?turn:\d{1,6})*)\]/g

/** Where the links of a text lead: to turns on this page or on another, and to the passages of a debate's sources. */
export interface Places {
  /** The path of the transcript, if that is not this page. */
  transcript: string
  /** The address of a passage; null where there are no sources to see. */
  passage: ((ref: string, words: string) => string) | null
}

const NOWHERE: Places = { transcript: '', passage: null }

/** `[turn:3, turn:7]` → links to those turns, made here from digits only, after everything else is safe. */
function link(within: DocumentFragment, places: Places): void {
  const owner = within.ownerDocument
  const walker = owner.createTreeWalker(within, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  for (const text of texts) {
    if (!text.data.includes('[turn:') || text.parentElement?.closest('a, code, pre, math, .quoted')) continue
    const parts = text.data.split(CITED) // every other part is what was between brackets
    if (parts.length < 2) continue
    const made = parts.flatMap((part, nth) => {
      if (nth % 2 === 0) return [part]
      const links = [...part.matchAll(/\d+/g)].flatMap(([number], place) => {
        const anchor = anchorTo(owner, `${places.transcript}#turn-${Number(number)}`, `turn ${Number(number)}`)
        return place ? [', ', anchor] : [anchor]
      })
      return ['[', ...links, ']']
    })
    text.replaceWith(...made)
  }
  for (const span of within.querySelectorAll<HTMLElement>('span.quoted')) quoted(span, places)
}

function anchorTo(owner: Document, href: string, text: string): HTMLAnchorElement {
  const anchor = owner.createElement('a')
  anchor.setAttribute('href', href)
  anchor.textContent = text
  return anchor
}

/** A citation or a quote: its words, and a link to where they stand; or the mark that nobody found them there. */
function quoted(span: HTMLElement, places: Places): void {
  const part = first(span.textContent)?.part
  if (!part || part.kind === 'text' || part.kind === 'turns') return
  const owner = span.ownerDocument
  if (part.kind === 'unverified') {
    const mark = owner.createElement('span')
    mark.className = 'mark'
    mark.textContent = 'unverified quote'
    span.className = 'unverified'
    return span.replaceChildren(`“${part.words}” `, mark)
  }
  const words = owner.createElement('q')
  words.textContent = part.words
  const before = part.words ? [words, ' '] : []
  if (part.kind === 'said') return span.replaceChildren(...before, anchorTo(owner, `${places.transcript}#turn-${part.number}`, `turn ${part.number}`))
  span.replaceChildren(...before, places.passage ? anchorTo(owner, places.passage(part.ref, part.words), part.ref) : `[${part.ref}]`)
}

/** Wraps an element in one of ours. */
function wrap(element: Element, tag: 'div' | 'span', className: string): HTMLElement {
  const around = element.ownerDocument.createElement(tag)
  around.className = className
  element.replaceWith(around)
  around.append(element)
  return around
}

/** It scrolls sideways, so the keyboard must reach it. */
function reach(element: HTMLElement, name: string): void {
  element.tabIndex = 0
  element.setAttribute('role', 'group')
  element.setAttribute('aria-label', name)
}

/** What is ours around what a model wrote, added after everything else is safe. */
function furnish(within: DocumentFragment): void {
  for (const tick of within.querySelectorAll('.task-done, .task-open')) {
    tick.setAttribute('role', 'img')
    tick.setAttribute('aria-label', tick.className === 'task-done' ? 'done' : 'not done')
  }
  for (const table of within.querySelectorAll('table')) reach(wrap(table, 'div', 'wide'), 'Table')
  for (const formula of within.querySelectorAll('math')) {
    if (formula.getAttribute('display') === 'block') reach(wrap(formula, 'span', 'wide'), 'Formula')
    else if (formula.textContent.length > LONG) reach(wrap(formula, 'span', 'wide within'), 'Formula') // no line break helps it
  }
  for (const block of within.querySelectorAll('pre')) {
    const button = within.ownerDocument.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    reach(block, 'Code')
    wrap(block, 'div', 'code').append(button)
  }
}

/** Returns safe HTML. */
export function render(text: string, places: Places = NOWHERE): string {
  if (maths) withMaths ??= new Marked(rules, quotes, { extensions: maths.extensions })
  maths?.begin()
  const html = (withMaths ?? prose).parse(text, { async: false })
  const safe = purify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: [...TAGS, ...MATHML],
    ALLOWED_ATTR: ['href', ...PLAIN_ATTRIBUTES],
    ADD_URI_SAFE_ATTR: PLAIN_ATTRIBUTES,
    ALLOWED_URI_REGEXP: SAFE_LINK,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    KEEP_CONTENT: true,
  })
  link(safe, places)
  furnish(safe)
  const holder = safe.ownerDocument.createElement('div')
  holder.append(safe)
  return holder.innerHTML
}
