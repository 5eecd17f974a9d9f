/** Jurors as dots: where each of them stood in each reading, laid out as a drawing. */
import { READINGS, type Reading } from '../text/jury'

/** How one juror voted; null where it gave no valid ballot. */
export interface Juror {
  name: string
  model: string
  /** Of each reading that it was asked for. */
  votes: Partial<Record<Reading, string | null>>
  flipped: boolean
  turn: number | null
}

export interface Row {
  /** The option, or what a vote for none is called. */
  name: string
  kind: 'option' | 'undecided' | 'none'
  top: number
  height: number
}

export interface Dot {
  x: number
  y: number
  row: number
}

export interface Track {
  juror: Juror
  number: number
  dots: Dot[]
}

export interface Line {
  path: string
  /** Whether the juror changed its choice. */
  moves: boolean
  /** Whether it did so with the order. */
  flips: boolean
  middle: { x: number; y: number }
}

export interface Plot {
  columns: { reading: Reading; x: number }[]
  rows: Row[]
  tracks: Track[]
  height: number
}

export const HEADS: Record<Reading, string> = { alone: 'Alone', spoken: 'One order', swapped: 'Other order' }
export const UNDECIDED = 'undecided'
export const RADIUS = 10
const LANE = 25
const PAD = 7
const TOP = 26
/** Above the dots of an option, where there is no room for its name beside them. */
const NAME = 22

const ORDER = Object.keys(READINGS) as Reading[]

export const columnsOf = (jurors: Juror[]): Reading[] => ORDER.filter((reading) => jurors.some((juror) => juror.votes[reading] !== undefined))

/** In words, for a row and for a list. */
export const voteWords = (vote: string | null | undefined): string => (vote === UNDECIDED ? 'undecided' : (vote ?? 'no valid ballot'))

/** `left`: the room for names beside the drawing, or 0 if they stand above. */
export function plot(jurors: Juror[], options: string[], width: number, left: number): Plot {
  const readings = columnsOf(jurors)
  const votes = jurors.map((juror) => readings.map((reading) => juror.votes[reading] ?? null))
  const cast = new Set(votes.flat())
  const known = [...options, ...[...cast].filter((vote): vote is string => vote !== null && vote !== UNDECIDED && !options.includes(vote))]
  const keys: (string | null)[] = [...known, ...(cast.has(UNDECIDED) ? [UNDECIDED] : []), ...(cast.has(null) ? [null] : [])]
  const step = (width - left) / readings.length
  const columns = readings.map((reading, nth) => ({ reading, x: left + (nth + 0.5) * step }))

  const rows: Row[] = []
  const lanes: number[][] = [] // of each row: the jurors that were ever in it, so that whoever stays goes straight on
  let top = TOP
  for (const key of keys) {
    const there = jurors.flatMap((_, nth) => (votes[nth]?.includes(key) ? [nth] : []))
    const head = left ? 0 : NAME
    const height = head + Math.max(left ? 44 : 10, there.length * LANE + 2 * PAD)
    const kind = key === null ? 'none' : key === UNDECIDED ? 'undecided' : 'option'
    rows.push({ name: kind === 'option' ? (key ?? '') : kind === 'none' ? 'No valid ballot' : 'Undecided', kind, top, height })
    lanes.push(there)
    top += height
  }
  const tracks = jurors.map((juror, nth) => ({
    juror,
    number: nth + 1,
    dots: columns.map(({ x }, column): Dot => {
      const row = keys.indexOf(votes[nth]?.[column] ?? null)
      const { top: from, height } = rows[row] ?? { top: 0, height: 0 }
      const head = left ? 0 : NAME
      const there = lanes[row] ?? []
      const first = from + head + (height - head - there.length * LANE) / 2 + LANE / 2
      return { x, y: first + there.indexOf(nth) * LANE, row }
    }),
  }))
  return { columns, rows, tracks, height: top }
}

/** From each dot of a juror to its next. */
export function linesOf(track: Track, columns: Plot['columns']): Line[] {
  return track.dots.slice(1).map((to, nth) => {
    const from = track.dots[nth] ?? to
    const [a, b] = [from.x + RADIUS, to.x - RADIUS]
    const half = (a + b) / 2
    const moves = from.row !== to.row
    const flips = moves && track.juror.flipped && columns[nth + 1]?.reading === 'swapped'
    return { path: `M${a},${from.y}C${half},${from.y} ${half},${to.y} ${b - (moves ? 5 : 0)},${to.y}`, moves, flips, middle: { x: half, y: (from.y + to.y) / 2 } }
  })
}

/** What the drawing shows, in words. */
export function described(jurors: Juror[]): string {
  const readings = columnsOf(jurors)
  return jurors
    .map((juror) => {
      const said = readings.map((reading) => `${READINGS[reading]}: ${voteWords(juror.votes[reading])}`)
      return `${juror.name}: ${said.join('; ')}${juror.flipped ? '; it flipped with the order, so its vote does not count' : ''}.`
    })
    .join(' ')
}
