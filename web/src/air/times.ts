/** Times for listeners: in their own zone, with the station's beside it if that differs. */
import { OWN_ZONE, clockIn, when } from '../studio/times'

/** The same moment by the station's clock: “09:00”, “Mon 09:00” if the day differs; empty if the zone is the listener's. */
export function there(at: string, zone: string): string {
  const moment = Date.parse(at)
  const clock = clockIn(moment, zone)
  if (clock === clockIn(moment, OWN_ZONE)) return ''
  const [day, own] = [zone, OWN_ZONE].map((one) => when(at, one, 0))
  return day?.split(',')[0] === own?.split(',')[0] ? clock : `${day?.split(/[ ,]/)[0]} ${clock}`
}

export const here = (at: string, now: number): string => when(at, OWN_ZONE, now)

/** “3 d 4 h”, “2 h 5 min”, “4 min 10 s”, “9 s”; nothing once it is due. */
export function countdown(at: string, now: number): string {
  const seconds = Math.ceil((Date.parse(at) - now) / 1000)
  if (seconds <= 0) return ''
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60]
  if (days) return hours ? `${days} d ${hours} h` : `${days} d`
  if (hours) return `${hours} h ${minutes} min`
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
