import { useEffect, useState } from 'preact/hooks'

/** A page of the explorer. Parameters come from the address and are checked by the page. */
export type Route =
  | { readonly page: 'home' }
  | { readonly page: 'promises' }
  | { readonly page: 'ops' }
  | { readonly page: 'search'; readonly text: string }
  | { readonly page: 'block'; readonly id: string }
  | { readonly page: 'flashblock'; readonly number: string; readonly index: string }
  | { readonly page: 'tx'; readonly hash: string }
  | { readonly page: 'address'; readonly address: string }
  | { readonly page: 'op'; readonly hash: string }
  | { readonly page: 'unknown'; readonly path: string }

/** Returns the page at a path such as `/tx/0x…` with its query. */
export function routeOf(path: string, search: string): Route {
  const [kind = '', first = '', second = ''] = path.split('/').slice(1).map(decoded)
  if (kind === '') return { page: 'home' }
  if (kind === 'ops') return { page: 'ops' }
  if (kind === 'promises') return { page: 'promises' }
  if (kind === 'search') return { page: 'search', text: new URLSearchParams(search).get('q') ?? '' }
  if (kind === 'block' && first !== '') return { page: 'block', id: first }
  if (kind === 'flashblock' && second !== '') return { page: 'flashblock', number: first, index: second }
  if (kind === 'tx' && first !== '') return { page: 'tx', hash: first }
  if (kind === 'address' && first !== '') return { page: 'address', address: first }
  if (kind === 'op' && first !== '') return { page: 'op', hash: first }
  return { page: 'unknown', path }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Shows another page of the explorer without loading a document. */
export function go(path: string): void {
  if (path === `${location.pathname}${location.search}`) return
  history.pushState(null, '', path)
  dispatchEvent(new Event(CHANGED))
  scrollTo(0, 0)
}

/** Changes the query of the shown page in place, so that a copied address shows the same. */
export function replaceSearch(search: string): void {
  history.replaceState(history.state, '', `${location.pathname}${search}`)
}

/** The path and query of the shown page; links within the explorer change it. */
export function useLocation(): { readonly path: string; readonly search: string } {
  const [at, setAt] = useState(current)
  useEffect(() => {
    const update = () => setAt(current())
    addEventListener('popstate', update)
    addEventListener(CHANGED, update)
    document.addEventListener('click', follow)
    return () => {
      removeEventListener('popstate', update)
      removeEventListener(CHANGED, update)
      document.removeEventListener('click', follow)
    }
  }, [])
  return at
}

/** Other pages of this server, which are documents of their own. */
const OTHER_PAGES = /^\/(wallet|sponsor|metrics|health|ca\.pem)(\/|$)/

/** Follows a link within the explorer, unless the user opens it in a new tab or downloads it. */
function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return
  if (OTHER_PAGES.test(link.pathname) || link.getAttribute('href')?.startsWith('#') === true) return
  event.preventDefault()
  go(`${link.pathname}${link.search}`)
}

function current(): { readonly path: string; readonly search: string } {
  return { path: location.pathname, search: location.search }
}

const CHANGED = 'pocketchain route'
