/** The page's own routes. None of them is a route of the service. */
export type Route =
  | { name: 'home' }
  | { name: 'new' }
  | { name: 'debate' | 'outcome' | 'replay'; id: string }
  | { name: 'lost' }

const DEBATE = /^\/d\/([\w-]+)(?:\/(outcome|replay))?\/?$/

function parse(path: string): Route {
  if (path === '/') return { name: 'home' }
  if (path === '/new') return { name: 'new' }
  const found = DEBATE.exec(path)
  if (!found?.[1]) return { name: 'lost' }
  return { name: (found[2] as 'outcome' | 'replay' | undefined) ?? 'debate', id: found[1] }
}

class Router {
  route = $state.raw<Route>(parse(location.pathname))
  /** Counts navigations, so that the focus can follow them. */
  visits = $state(0)

  go(path: string): void {
    if (path !== location.pathname + location.hash) history.pushState(null, '', path)
    this.#follow()
  }

  #follow = (): void => {
    this.route = parse(location.pathname)
    this.visits += 1
  }

  /** Take over clicks on our own links, and the browser's back and forward. */
  listen(): void {
    addEventListener('popstate', this.#follow)
    addEventListener('click', (event) => {
      if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
      const link = event.target instanceof Element ? event.target.closest('a') : null
      if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
      if (link.hash && link.pathname === location.pathname) return // a place on this screen
      if (parse(link.pathname).name === 'lost') return
      event.preventDefault()
      this.go(link.pathname + link.hash)
    })
  }
}

export const router = new Router()

export const paths = {
  home: '/',
  setUp: '/new',
  debate: (id: string) => `/d/${id}`,
  turn: (id: string, seq: number) => `/d/${id}#turn-${seq}`,
  outcome: (id: string) => `/d/${id}/outcome`,
  replay: (id: string) => `/d/${id}/replay`,
}
