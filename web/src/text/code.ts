/** Colours for code, as classes. Loaded only for a text with code in one of these languages. */
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

/** Longer code stays plain: nothing that a model writes may freeze the page. */
const MOST = 10_000
const known = { bash, cpp, csharp, diff, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml }
for (const [name, language] of Object.entries(known)) hljs.registerLanguage(name, language)
hljs.registerAliases(['c', 'h'], { languageName: 'cpp' })

/** Returns the code as HTML, escaped; null if it stays plain. */
export function highlight(code: string, language: string): string | null {
  if (code.length > MOST || !hljs.getLanguage(language)) return null
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}
