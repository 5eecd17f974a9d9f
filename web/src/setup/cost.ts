/** Parses an amount with a decimal point or comma; NaN if it could be thousands, or is not an amount. */
export function readCost(typed: string): number | null {
  const written = typed.trim().replace(/^(?:US)?\$\s*/, '')
  const clear = /^(?:\d+|\d*\.\d+|\d+,\d{1,2}|0?,\d+)$/.test(written)
  return !written ? null : clear ? Number(written.replace(',', '.')) : NaN
}

export const COST_HELP = 'Enter an amount such as 0.50 or 0,50, without a thousands separator.'
