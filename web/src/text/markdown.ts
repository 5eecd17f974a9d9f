/** Renders model text as Markdown. It is untrusted, so everything except prose is filtered out. */
import DOMPurify from 'dompurify'
import { marked } from 'marked'

const TAGS = [
  ...['p', 'br', 'hr', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a'],
  ...['h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
]
const SAFE_LINK = /^(?:https?|mailto):/i

const purify = DOMPurify(window)
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName !== 'A') return
  if (!SAFE_LINK.test(node.getAttribute('href') ?? '')) return node.removeAttribute('href')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
  node.setAttribute('target', '_blank')
})

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

marked.use({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text), // raw HTML is shown as it was written
    image: ({ text, href }) => escape(text || href), // an image would be fetched; its text stays
    checkbox: () => '',
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2) // below the page's own headings
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
    },
  },
})

const CITED = /\[(turn:\d{1,6}(?:, ?turn:\d{1,6})*)\]/g

/** `[turn:3, turn:7]` → links to those turns, made here from digits only, after everything else is safe. */
function link(within: DocumentFragment, base: string): void {
  const owner = within.ownerDocument
  const walker = owner.createTreeWalker(within, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  for (const text of texts) {
    if (!text.data.includes('[turn:') || text.parentElement?.closest('a, code, pre')) continue
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

/** Returns safe HTML. `base` is the path of the transcript, if that is not this page. */
export function render(text: string, base = ''): string {
  const html = marked.parse(text, { async: false })
  const safe = purify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href'],
    ALLOWED_URI_REGEXP: SAFE_LINK,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    KEEP_CONTENT: true,
  })
  link(safe, base)
  const holder = safe.ownerDocument.createElement('div')
  holder.append(safe)
  return holder.innerHTML
}
