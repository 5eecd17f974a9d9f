/** Server-sent events out of a response's bytes (the part of the standard that moot sends). */
export interface SseEvent {
  name: string
  id: number | null
  data: string
}

/** Reads to the end of the stream. Calls `alive` for every chunk, comments included. */
export async function* read(body: ReadableStream<Uint8Array>, alive: () => void): AsyncGenerator<SseEvent[]> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const lines = new Lines()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    alive()
    const events = lines.take(decoder.decode(value, { stream: true }))
    if (events.length) yield events
  }
}

/** Splits text into events, wherever the chunks break. */
export class Lines {
  #rest = ''
  #name = ''
  #id: number | null = null
  #data: string[] = []

  take(text: string): SseEvent[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    const events: SseEvent[] = []
    for (const line of lines) {
      if (line === '') this.#end(events)
      else this.#field(line)
    }
    return events
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    if (colon <= 0) return // a comment, or a field without a value
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    const field = line.slice(0, colon)
    if (field === 'event') this.#name = value
    else if (field === 'id') this.#id = Number(value)
    else if (field === 'data') this.#data.push(value)
  }

  #end(events: SseEvent[]): void {
    if (this.#data.length) events.push({ name: this.#name || 'message', id: this.#id, data: this.#data.join('\n') })
    this.#name = ''
    this.#id = null
    this.#data = []
  }
}
