/** The service's error about a form: shown at its field until the value changes. */
import { tick } from 'svelte'
import { Refused, sentence } from '../api/client'

/** Focus the first invalid field. */
export async function focusProblem(form: HTMLElement | undefined): Promise<void> {
  await tick()
  form?.querySelector<HTMLElement>('[aria-invalid="true"], .wrong input, .wrong select')?.focus()
}

export class Refusal {
  #said = $state.raw<{ field: string; sentence: string; of: string } | null>(null)

  /** `fields`: those that the form shows. */
  constructor(
    readonly asked: () => object,
    readonly fields: readonly string[],
  ) {}

  forget(): void {
    this.#said = null
  }

  /** Take an error of any kind, and focus the field to fix. */
  async take(error: unknown, form: HTMLElement | undefined): Promise<void> {
    const field = error instanceof Refused ? (error.problem.field ?? '') : ''
    this.#said = { field, sentence: sentence(error), of: this.#value(field) }
    await focusProblem(form)
  }

  at(field: string): string {
    const said = this.#said
    return said && this.#place(said.field) === field && this.#value(said.field) === said.of ? said.sentence : ''
  }

  /** The error if it belongs to no field of the form. */
  get rest(): string {
    return this.#said && !this.#place(this.#said.field) ? this.#said.sentence : ''
  }

  /** `motions[2]` → motions, `voice.rate` as it is: the nearest field that exists. */
  #place(field: string): string {
    const fits = (one: string): boolean => field === one || field.startsWith(`${one}.`) || field.startsWith(`${one}[`)
    return this.fields.filter(fits).sort((a, b) => b.length - a.length)[0] ?? ''
  }

  #value(field: string): string {
    const root = /^\w*/.exec(field)?.[0] ?? ''
    return JSON.stringify((this.asked() as Record<string, unknown>)[root]) ?? ''
  }
}
