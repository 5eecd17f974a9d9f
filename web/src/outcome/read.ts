import { get } from '../api/client'
import { decides, resultOf } from '../api/rules'
import { isFinal, type Debate, type Turn } from '../api/types'
import type { Consensus, Found, Packet, Report, Verdict } from './types'

/** An end that is so fresh that files may still be under way, in milliseconds. */
const JUST = 30_000

export async function read(id: string): Promise<Found> {
  const found = await readAll(id)
  const { debate, report } = found
  if (!report?.spent || report.spent.calls === debate.spent.calls) return found
  return { ...found, debate: await get<Debate>(`/debates/${id}`) } // its report was written meanwhile
}

async function readAll(id: string): Promise<Found> {
  const debate = await get<Debate>(`/debates/${id}`)
  const none: Found = { debate, report: null, verdict: null, packet: null, consensus: null, turns: [] }
  if (!isFinal(debate.status)) return none
  const report = get<Report>(`/debates/${id}/report`)
  if (!decides(debate.rules)) return { ...none, report: await report }
  const turns = get<{ items: Turn[] }>(`/debates/${id}/turns`)
  if (!debate.outcome) return { ...none, report: await report, turns: (await turns).items }
  const verdict = debate.outcome.outcome ? get<Verdict>(`/debates/${id}/verdict`) : null
  const isPacked = resultOf(debate.rules)?.packet
  const packet = isPacked ? get<Packet>(`/debates/${id}/packet`) : null
  const consensus = isPacked ? kept(id, Date.now() - Date.parse(debate.ended_at ?? '') < JUST) : null
  return { debate, report: await report, verdict: await verdict, packet: await packet, consensus: await consensus, turns: (await turns).items }
}

/** `consensus.json`, or null: it may be gone or damaged, and the decision is there all the same. */
async function kept(id: string, again: boolean): Promise<Consensus | null> {
  const replay = await get<{ consensus: Consensus | null }>(`/debates/${id}/replay`).catch(() => null)
  if (isConsensus(replay?.consensus ?? null)) return replay?.consensus ?? null
  if (!again) return null
  await new Promise((resolve) => setTimeout(resolve, 1000)) // it is being written
  return kept(id, false)
}

/** A file that somebody edited may hold anything. */
function isConsensus(found: Consensus | null): found is Consensus {
  const lists = [found?.tally?.round1, found?.tally?.final, found?.moved, found?.missing]
  return (
    lists.every((list) => Array.isArray(list)) &&
    [...(found?.tally.round1 ?? []), ...(found?.tally.final ?? [])].every((counted) => Array.isArray(counted?.stands)) &&
    (found?.moved ?? []).every((move) => Array.isArray(move?.turns) && Array.isArray(move?.after)) &&
    typeof found?.withoutMapping === 'object'
  )
}
