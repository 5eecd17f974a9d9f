// Makes package-lock.json anew after a change in package.json, without the addresses that npm notes for fun: no lock
// file holds one (tests/unit/test_repo.py).
import { execSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

execSync('npm install --package-lock-only', { stdio: 'inherit' })
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
for (const entry of Object.values(lock.packages)) {
  delete entry.funding
  delete entry.resolved
}
writeFileSync('package-lock.json', JSON.stringify(lock, null, 2) + '\n')
