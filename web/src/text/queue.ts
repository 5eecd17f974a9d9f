/** Runs small jobs, a few milliseconds at a time, so that no frame is missed. */
import { flushSync } from 'svelte'

type Job = () => void

const SLICE = 6
const soon: Job[] = []
const idle: Job[] = []
let running = false

/** For what is on the screen, or about to be. */
export function queue(job: Job): void {
  soon.push(job)
  if (running) return
  running = true
  requestAnimationFrame(work)
}

function work(): void {
  const until = performance.now() + SLICE
  // Let the browser draw after each job; otherwise everything would be drawn at once.
  do flushSync(soon.shift())
  while (soon.length && performance.now() < until)
  running = soon.length > 0
  if (running) requestAnimationFrame(work)
}

/** For what is off the screen: one job per task, and only when idle. */
export function whenIdle(job: Job): void {
  if (idle.push(job) === 1) rest()
}

const rest = (): void => {
  if ('requestIdleCallback' in globalThis) requestIdleCallback(workIdle)
  else setTimeout(workIdle, 30)
}

function workIdle(): void {
  const job = idle[0]
  if (job) flushSync(job)
  idle.shift()
  if (idle.length) rest()
}
