/** A guest's page: opened by a link whose token, behind #, is for one debate. */
const PAGE = /^\/guest\/([\w-]+)/
const TOKEN = /^#(moot_link_[\w-]+)$/

const id = PAGE.exec(location.pathname)?.[1] ?? null
const key = `moot.guest ${id}`

/** Kept for this tab, and taken out of the address, which people copy and show. */
function takeToken(): string {
  const given = TOKEN.exec(location.hash)?.[1]
  if (!given) return sessionStorage.getItem(key) ?? ''
  sessionStorage.setItem(key, given)
  history.replaceState(null, '', location.pathname)
  return given
}

/** The debate that this page is for, and nothing else; null on every other page. */
export const guestOf: string | null = id
export const guestToken: string = id === null ? '' : takeToken()
