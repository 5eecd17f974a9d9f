/** Model text as Markdown: untrusted, so it is parsed, then let through a sieve that keeps prose alone. */
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
    image: ({ text, href }) => escape(text || href), // an image would be fetched; its words stay
    checkbox: () => '',
    heading({ tokens, depth }) {
      const level = Math.min(6, depth + 2) // below the page's own headings
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
    },
  },
})

/** Safe HTML. */
export function render(text: string): string {
  const html = marked.parse(text, { async: false })
  return purify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href'],
    ALLOWED_URI_REGEXP: SAFE_LINK,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    KEEP_CONTENT: true,
  })
}
