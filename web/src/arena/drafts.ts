/** Words that nobody has sent yet: a reload, another tab or a closed browser must not lose them. */
export interface Draft {
  text: string
  answer: Record<string, unknown> | null
  /** Sent with these words: however often they are sent, they count once. */
  key: string
}

const place = (id: string, slot: string): string => `moot.words ${id} ${slot}`
const newKey = (): string => `${Date.now()}-${Math.random().toString(36).slice(2)}`

export function draft(id: string, slot: string): Draft {
  try {
    const found = JSON.parse(localStorage.getItem(place(id, slot)) ?? '{}') as Partial<Draft>
    return { text: String(found.text ?? ''), answer: found.answer ?? null, key: String(found.key ?? '') || newKey() }
  } catch {
    return { text: '', answer: null, key: newKey() }
  }
}

/** Other words have another key. */
export function keep(id: string, slot: string, before: Draft, now: Pick<Draft, 'text' | 'answer'>): Draft {
  const same = now.text === before.text && JSON.stringify(now.answer) === JSON.stringify(before.answer)
  const kept = { ...now, key: same ? before.key : newKey() }
  try {
    localStorage.setItem(place(id, slot), JSON.stringify(kept))
  } catch {
    // storage is full: only the convenience is lost
  }
  return kept
}

export const drop = (id: string, slot: string): void => localStorage.removeItem(place(id, slot))
