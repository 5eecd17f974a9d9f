/** Announcements for screen readers: polite, and no more often than they can speak. */
const EVERY = 3000

class Announcer {
  text = $state('')
  #waiting: string[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  say(text: string): void {
    this.#waiting.push(text)
    this.#timer ??= setTimeout(() => {
      const said = this.#waiting.splice(0)
      this.text = said.length > 2 ? `${said.length} new turns. ${said.at(-1)}` : said.join(' ')
      this.#timer = undefined
    }, this.text ? EVERY : 300)
  }
}

export const announcer = new Announcer()
