/** Parses a long response in a worker, and hands it over in small portions. */
type Asked = { blob: Blob; list: string } | { blob: Blob; field: string }

const PORTION = 100

addEventListener('message', (event: MessageEvent<Asked>) => void read(event.data))

async function read(asked: Asked): Promise<void> {
  try {
    const whole = JSON.parse(await asked.blob.text()) as Record<string, unknown>
    if ('field' in asked) return postMessage({ done: true, value: whole[asked.field] })
    const items = whole[asked.list] as unknown[]
    for (let from = 0; from < items.length; from += PORTION) postMessage({ done: false, items: items.slice(from, from + PORTION) })
    postMessage({ done: true })
  } catch {
    postMessage({ done: true, failed: true })
  }
}
