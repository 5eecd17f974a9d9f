/** Times in a station's time zone. */

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
export const zones = (): string[] => [...new Set(['UTC', OWN_ZONE, ...Intl.supportedValuesOf('timeZone')])]

/** Shows an unknown zone as UTC, and says so. */
function formatter(zone: string, options: Intl.DateTimeFormatOptions, locale: string | string[] = []): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone: zone })
  } catch {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC', ...(options.hour && { timeZoneName: 'short' }) })
  }
}

const dayOf = (at: number, zone: string): string => formatter(zone, { dateStyle: 'short' }, 'en-CA').format(at)
const DAY = 86_400_000

export const clockIn = (at: number, zone: string): string => formatter(zone, { hour: '2-digit', minute: '2-digit' }).format(at)

/** “today, 18:00”, “tomorrow, 07:00”, “Fri 15 Nov, 18:00”. */
export function when(at: string, zone: string, now: number): string {
  const moment = Date.parse(at)
  const day = dayOf(moment, zone)
  const near = { [dayOf(now, zone)]: 'today', [dayOf(now + DAY, zone)]: 'tomorrow', [dayOf(now - DAY, zone)]: 'yesterday' }
  const far = Math.abs(moment - now) > 300 * DAY
  const words = near[day] ?? formatter(zone, { weekday: 'short', day: 'numeric', month: 'short', ...(far && { year: 'numeric' }) }).format(moment)
  return `${words}, ${clockIn(moment, zone)}`
}

/** The same with the time left: “today, 18:00 (in 5 min)”. */
export function coming(at: string, zone: string, now: number): string {
  const left = until(at, now)
  return when(at, zone, now) + (left && ` (${left})`)
}

/** “in 5 min”; empty if it is far off. */
function until(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000
  if (seconds < 0) return ''
  if (seconds < 60) return 'within a minute'
  if (seconds < 3570) return `in ${Math.round(seconds / 60)} min`
  return seconds < 43_200 ? `in ${Math.round(seconds / 3600)} h` : ''
}
