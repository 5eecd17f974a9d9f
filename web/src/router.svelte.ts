/** The page's own routes, none of which the service uses. */
export type Route =
  | { name: 'home' }
  | { name: 'new'; step: 1 | 2 }
  | { name: 'debate' | 'outcome' | 'replay'; id: string }
  | { name: 'source'; id: string; source: string }
  | { name: 'agents' | 'stations' | 'settings' | 'ratings' | 'example' }
  | { name: 'station'; id: string }
  | { name: 'air'; station: string; debate: string | null }
  | { name: 'guest'; id: string }
  | { name: 'compare'; one: string; other: string | null }
  | { name: 'lost' }

const DEBATE = /^\/d\/([\w-]+)(?:\/(outcome|replay))?\/?$/
const SOURCE = /^\/d\/([\w-]+)\/sources\/(S[1-9]\d{0,2})\/?$/
const STUDIO = /^\/studio\/(?:(agents|settings|ratings)|stations(?:\/([\w-]+))?)\/?$/
const AIR = /^\/air\/([\w-]+)(?:\/([\w-]+))?\/?$/

const GUEST = /^\/guest\/([\w-]+)\/?$/
const COMPARE = /^\/compare\/([\w-]+)(?:\/([\w-]+))?\/?$/

function parse(path: string, search = ''): Route {
  if (path === '/') return { name: 'home' }
  if (path === '/example') return { name: 'example' }
  if (path === '/new') return { name: 'new', step: new URLSearchParams(search).get('step') === '2' ? 2 : 1 }
  const found = DEBATE.exec(path)
  if (found?.[1]) return { name: (found[2] as 'outcome' | 'replay' | undefined) ?? 'debate', id: found[1] }
  const guest = GUEST.exec(path)
  if (guest?.[1]) return { name: 'guest', id: guest[1] }
  const compared = COMPARE.exec(path)
  if (compared?.[1]) return { name: 'compare', one: compared[1], other: compared[2] ?? null }
  const source = SOURCE.exec(path)
  if (source?.[1] && source[2]) return { name: 'source', id: source[1], source: source[2] }
  const air = AIR.exec(path)
  if (air?.[1]) return { name: 'air', station: air[1], debate: air[2] ?? null }
  const studio = STUDIO.exec(path)
  if (!studio) return { name: 'lost' }
  if (studio[2]) return { name: 'station', id: studio[2] }
  return { name: (studio[1] as 'agents' | 'settings' | 'ratings' | undefined) ?? 'stations' }
}

class Router {
  route = $state.raw<Route>(parse(location.pathname, location.search))
  /** Counts navigations, so that the focus can follow them. */
  visits = $state(0)
  /** Whether the browser's Back or Forward led here. */
  returned = false
  #at = location.pathname + location.search

  go(path: string): void {
    if (path !== location.pathname + location.search + location.hash) history.pushState(null, '', path)
    this.returned = false
    this.#follow()
    this.visits += 1
  }

  /** Go to another part of the same screen, which sets the focus itself. */
  turn(path: string, how: 'push' | 'replace' = 'push'): void {
    if (how === 'push') history.pushState({ turned: true }, '', path)
    else history.replaceState(null, '', path)
    this.#follow()
  }

  #follow = (): void => {
    this.route = parse(location.pathname, location.search)
    this.#at = location.pathname + location.search
  }

  #popped = (): void => {
    if (this.#at === location.pathname + location.search) return // a place on this screen
    this.returned = true
    this.#follow()
    this.visits += 1
  }

  /** Handle clicks on our own links, and the browser's Back and Forward. */
  listen(): void {
    addEventListener('popstate', this.#popped)
    addEventListener('click', (event) => {
      if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
      const link = event.target instanceof Element ? event.target.closest('a') : null
      if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
      if (link.hash && link.pathname === location.pathname) return // a place on this screen
      if (parse(link.pathname).name === 'lost') return
      event.preventDefault()
      this.go(link.pathname + link.search + link.hash)
    })
  }
}

export const router = new Router()

export const paths = {
  home: '/',
  setUp: '/new',
  cast: '/new?step=2',
  debate: (id: string) => `/d/${id}`,
  turn: (id: string, number: number) => `/d/${id}#turn-${number}`,
  outcome: (id: string) => `/d/${id}/outcome`,
  replay: (id: string) => `/d/${id}/replay`,
  compare: (one: string, other?: string) => `/compare/${one}${other ? `/${other}` : ''}`,
  source: (id: string, source: string) => `/d/${id}/sources/${source}`,
  /** A passage, with the words that are quoted of it. */
  passage: (id: string, ref: string, words = '') => `/d/${id}/sources/${ref.split('.')[0]}${words && `?quote=${encodeURIComponent(words)}`}#${ref}`,
  example: '/example',
  settings: '/studio/settings',
  agents: '/studio/agents',
  ratings: '/studio/ratings',
  stations: '/studio/stations',
  station: (id: string) => `/studio/stations/${id}`,
  air: (station: string, debate?: string) => `/air/${station}${debate ? `/${debate}` : ''}`,
}
