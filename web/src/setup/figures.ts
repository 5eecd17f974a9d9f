/** What a draft would come to, in a line. */
import type { Format } from '../api/types'
import { minutes, roughly } from '../text/cost'
import { count } from '../text/words'
import type { Draft } from './draft.svelte'

export function figures(draft: Draft, format: Format): string {
  const plan = draft.plan(format)
  if (!plan) return ''
  const { seconds, output_tokens } = plan.estimate
  const most = output_tokens.high ? [`at most ${roughly(output_tokens.high).toLocaleString('en')} tokens written`] : []
  return [`About ${count(plan.total, 'turn')}`, `about ${minutes(seconds.likely)}`, ...most].join(' · ')
}
