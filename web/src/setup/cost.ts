/** An amount as it was typed, with a decimal point or a decimal comma; NaN for what could be thousands, or is no amount. */
export function readCost(typed: string): number | null {
  const written = typed.trim().replace(/^(?:US)?\$\s*/, '')
  const clear = /^(?:\d+|\d*\.\d+|\d+,\d{1,2}|0?,\d+)$/.test(written)
  return !written ? null : clear ? Number(written.replace(',', '.')) : NaN
}

export const COST_HELP = 'Enter an amount such as 0.50 or 0,50, without a thousands separator.'
