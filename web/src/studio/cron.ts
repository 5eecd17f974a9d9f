/** Cron lines, and the few kinds that can be chosen in words. */
export const HOWS = {
  never: 'No schedule',
  hourly: 'Every hour',
  daily: 'Every day at …',
  weekdays: 'Monday to Friday at …',
  own: 'Custom (cron)',
} as const
export type How = keyof typeof HOWS

export interface Rhythm {
  how: How
  /** Of the hour, for `hourly`. */
  minute: number | null
  /** `07:30`, for `daily` and `weekdays`. */
  time: string
  /** As it was typed, for `own`. */
  line: string
}

/** Reads a line, as one of those kinds if possible. */
export function rhythmOf(line: string | null): Rhythm {
  const rhythm: Rhythm = { how: 'never', minute: 0, time: '18:00', line: line ?? '' }
  if (line === null) return rhythm
  const found = /^(\d{1,2}) (\*|\d{1,2}) \* \* (\*|1-5)$/.exec(line.trim())
  if (!found) return { ...rhythm, how: 'own' }
  const [minute, hour, days] = [Number(found[1]), found[2], found[3]]
  if (hour === '*') return days === '*' ? { ...rhythm, how: 'hourly', minute } : { ...rhythm, how: 'own' }
  return { ...rhythm, how: days === '*' ? 'daily' : 'weekdays', time: `${two(Number(hour))}:${two(minute)}` }
}

export function lineOf({ how, minute, time, line }: Rhythm): string | null {
  const [hour = '', minutes = ''] = time.split(':')
  const at = time ? `${Number(minutes)} ${Number(hour)}` : ''
  switch (how) {
    case 'never':
      return null
    case 'hourly':
      return `${minute ?? ''} * * * *`
    case 'daily':
      return `${at} * * *`
    case 'weekdays':
      return `${at} * * 1-5`
    case 'own':
      return line.trim()
  }
}

/** “Every day at 18:00”; other lines are shown as they are. */
export function cronWords(line: string | null): string {
  const { how, minute, time } = rhythmOf(line)
  if (how === 'never') return 'No schedule'
  if (how === 'own') return `Cron: ${line}`
  if (how === 'hourly') return minute ? `Every hour at ${minute} min past` : 'Every hour, on the hour'
  const [hour = 0, minutes = 0] = time.split(':').map(Number)
  return HOWS[how].replace('…', clock.format(Date.UTC(2000, 0, 1, hour, minutes)))
}

const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })
const two = (number: number): string => String(number).padStart(2, '0')
