/** Debates by when they were made, newest first: days that are near, then months. */
import type { ListedDebate } from '../api/types'

export interface Group {
  label: string
  items: ListedDebate[]
}

const DAY = 86_400_000
const weekday = new Intl.DateTimeFormat([], { weekday: 'short' })
const dayOfMonth = new Intl.DateTimeFormat([], { day: 'numeric', month: 'short' })
const hour = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' })
const month = new Intl.DateTimeFormat([], { month: 'long' })
const monthOfYear = new Intl.DateTimeFormat([], { month: 'long', year: 'numeric' })

/** How many midnights lie between then and now, in the reader's own time. */
function daysAgo(then: Date, now: Date): number {
  const midnight = (at: Date): number => Date.UTC(at.getFullYear(), at.getMonth(), at.getDate())
  return Math.round((midnight(now) - midnight(then)) / DAY)
}

function labelOf(then: Date, now: Date): string {
  const days = daysAgo(then, now)
  if (days <= 0) return 'Today'
  if (days === 1) return 'Yesterday'
  if (days < 7) return 'This week'
  return (then.getFullYear() === now.getFullYear() ? month : monthOfYear).format(then)
}

export function grouped(items: ListedDebate[], now: number): Group[] {
  const groups: Group[] = []
  const today = new Date(now)
  for (const item of items) {
    const label = labelOf(new Date(item.created_at), today)
    const last = groups.at(-1)
    if (last?.label === label) last.items.push(item)
    else groups.push({ label, items: [item] })
  }
  return groups
}

/** What tells debates of one group apart: the hour, the weekday or the day. */
export function shortTime(at: string, now: number): string {
  const then = new Date(at)
  const days = daysAgo(then, new Date(now))
  return (days < 2 ? hour : days < 7 ? weekday : dayOfMonth).format(then)
}
