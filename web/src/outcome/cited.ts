const CITED = /^([^]*?)\s*\[(turn:\d+(?:, turn:\d+)*|no turn cited)\]$/

export interface Claim {
  text: string
  turns: number[]
  /** Whether it says that nothing was cited; a sentence of the engine's own says neither. */
  uncited: boolean
}

/** “It pays. [turn:3, turn:7]” → its words and its turns. */
export function claim(said: string): Claim {
  const found = CITED.exec(said)
  if (!found) return { text: said, turns: [], uncited: false }
  const turns = [...(found[2] ?? '').matchAll(/\d+/g)].map((number) => Number(number[0]))
  return { text: found[1] ?? '', turns, uncited: turns.length === 0 }
}

const REFERENCE = /\[\s*((?:S\d+\.\d+|\d+)(?:\s*[,;]\s*(?:S\d+\.\d+|\d+))*)\s*(?:\]|[:,]?\s*["“])/g

/** The turns that an answer cites or quotes, each once: [12], [3, S1.4], [12 "the words"]. */
export function turnsCited(answer: string): number[] {
  const found = [...answer.matchAll(REFERENCE)].flatMap((match) => (match[1] ?? '').split(/[,;]/))
  return [...new Set(found.map((one) => one.trim()).filter((one) => /^\d+$/.test(one)).map(Number))].sort((a, b) => a - b)
}
