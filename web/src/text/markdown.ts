/** Renders model text as Markdown. It is untrusted, so everything except prose is filtered out. */
import DOMPurify from 'dompurify'
import { Marked, type MarkedExtension } from 'marked'
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
const OUR_CLASS = /^(?:hljs-[a-z_-]+|tml-[a-z-]+|task-done|task-open)$/
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
const prose = new Marked(rules)
let withMaths: Marked | null = null

/** Loads what a text needs to be shown well; null if everything is here. */
export function missing(text: string): Promise<unknown> | null {
  const wanted: Promise<unknown>[] = []
  if (!code && FENCED.test(text)) wanted.push(import('./code').then((module) => (code = module)))
  if (!maths && hasFormula(text)) wanted.push(import('./maths').then((module) => (maths = module)))
  return wanted.length ? Promise.allSettled(wanted) : null // without it, code and maths stay plain
}

const CITED = /\[(turn:\d{1,6}(?:, ?turn:\d{1,6})*)\]/g

/** `[turn:3, turn:7]` → links to those turns, made here from digits only, after everything else is safe. */
function link(within: DocumentFragment, base: string): void {
  const owner = within.ownerDocument
  const walker = owner.createTreeWalker(within, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  for (const text of texts) {
    if (!text.data.includes('[turn:') || text.parentElement?.closest('a, code, pre, math')) continue
    const parts = text.data.split(CITED) // every other part is what was between brackets
    if (parts.length < 2) continue
    const made = parts.flatMap((part, nth) => {
      if (nth % 2 === 0) return [part]
      const links = [...part.matchAll(/\d+/g)].flatMap(([number], place) => {
        const anchor = owner.createElement('a')
        anchor.setAttribute('href', `${base}#turn-${Number(number)}`)
        anchor.textContent = `turn ${Number(number)}`
        return place ? [', ', anchor] : [anchor]
      })
      return ['[', ...links, ']']
    })
    text.replaceWith(...made)
  }
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

/** Returns safe HTML. `base` is the path of the transcript, if that is not this page. */
export function render(text: string, base = ''): string {
  if (maths) withMaths ??= new Marked(rules, { extensions: maths.extensions })
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
  link(safe, base)
  furnish(safe)
  const holder = safe.ownerDocument.createElement('div')
  holder.append(safe)
  return holder.innerHTML
}
