/** What a draft would come to, in a line. */
import type { Format } from '../api/types'
import { count } from '../text/words'
import type { Draft } from './draft.svelte'

export function figures(draft: Draft, format: Format): string {
  const plan = draft.plan(format)
  if (!plan) return ''
  const waves = plan.stages.reduce((sum, stage) => sum + stage.waves, 0)
  const [fast, slow] = [minutes(waves * 4), minutes(waves * 15)]
  const written = plan.stages.reduce((sum, { turns, tokens }) => sum + turns * (tokens ?? draft.turnTokens), 0)
  const most = Math.round(written / 100) * 100
  return `About ${count(plan.total, 'turn')} · ${fast === slow ? slow : `${fast} to ${slow}`} min · at most ${most.toLocaleString('en')} tokens written`
}

const minutes = (seconds: number): number => Math.max(1, Math.round(seconds / 60))
