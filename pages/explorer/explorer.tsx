import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { Mark } from '../wallet/parts.tsx'
import type { PageSecret } from '../wallet/secret.ts'
import { AddressPage } from './address.tsx'
import { BlockPage } from './block.tsx'
import { hasFeature } from './features.ts'
import { FlashblockPage } from './flashblock.tsx'
import { HeadFollower, HeadProvider, useHead } from './head.ts'
import type { HeadState } from './head.ts'
import { Home } from './home.tsx'
import { OperationPage } from './op.tsx'
import { OperationsPage } from './ops.tsx'
import { Notice } from './parts.tsx'
import { PromisesPage } from './promises.tsx'
import { go, routeOf, useLocation } from './route.ts'
import type { Route } from './route.ts'
import { SearchPage } from './search.tsx'
import { TransactionPage } from './tx.tsx'

/** All pages of the explorer, with one connection to the node. */
export function Explorer({ secret }: { secret: PageSecret }) {
  const follower = useMemo(() => new HeadFollower(), [])
  useEffect(() => () => follower.close(), [follower])
  const { path, search } = useLocation()
  const route = routeOf(path, search)
  useEffect(() => {
    document.title = titleOf(route)
  }, [path, search])
  return (
    <HeadProvider value={follower}>
      <div class="explorer sponsor">
        <Header path={path} />
        <main key={route.page === 'search' ? `${path}${search}` : path}>
          <Shown route={route} secret={secret} />
        </main>
      </div>
    </HeadProvider>
  )
}

function Shown({ route, secret }: { route: Route; secret: PageSecret }) {
  if (route.page === 'home') return <Home />
  if (route.page === 'ops') return <OperationsPage />
  if (route.page === 'promises') return <PromisesPage secret={secret} />
  if (route.page === 'search') return <SearchPage text={route.text} />
  if (route.page === 'block') return <BlockPage id={route.id} />
  if (route.page === 'flashblock') return <FlashblockPage number={route.number} index={route.index} />
  if (route.page === 'tx') return <TransactionPage hash={route.hash} />
  if (route.page === 'address') return <AddressPage address={route.address} />
  if (route.page === 'op') return <OperationPage hash={route.hash} />
  return (
    <Notice title="No such page">
      <p>
        The explorer has no page at <code>{visible(route.path)}</code>. Search for a block, a hash or an address.
      </p>
    </Notice>
  )
}

function titleOf(route: Route): string {
  if (route.page === 'home') return 'pocketchain'
  const name = TITLES[route.page] ?? route.page
  return `${name} ${idOf(route).slice(0, 14)} – pocketchain`.replace('  ', ' ')
}

const TITLES: Readonly<Partial<Record<Route['page'], string>>> = { tx: 'transaction', op: 'user operation', ops: 'user operations' }

function idOf(route: Route): string {
  if (route.page === 'block') return route.id
  if (route.page === 'flashblock') return `${route.number}/${route.index}`
  if (route.page === 'address') return route.address
  return 'hash' in route ? route.hash : ''
}

const STATES: Readonly<Record<HeadState['connection'], string>> = { connecting: 'connecting', open: 'live', lost: 'no connection' }

function Header({ path }: { path: string }) {
  const connection = useHead(({ connection }) => connection)
  const chainId = useHead(({ chainId }) => chainId)
  const latest = useHead(({ latest }) => latest)
  const feed = useHead(({ feed }) => feed)
  return (
    <header class="brand top">
      <a href="/" class="name" aria-label="pocketchain, newest blocks">
        <Mark /> pocketchain
      </a>
      <Search />
      <nav class="links" aria-label="Pages">
        <Page href="/" path={path}>
          Chain
        </Page>
        <Page href="/ops" path={path}>
          Operations
        </Page>
        <Page href="/promises" path={path}>
          Promises
        </Page>
        {hasFeature('wallet') && <a href="/wallet">Wallet</a>}
        {hasFeature('sponsor') && <a href="/sponsor">Sponsor</a>}
      </nav>
      <span
        class="state"
        data-testid="connection"
        data-state={connection}
        data-feed={feed}
        title={chainId === null ? '' : `chain id ${chainId}`}
      >
        {STATES[connection]}
        {latest !== null && <span class="soft height"> block {latest}</span>}
      </span>
    </header>
  )
}

function Page({ href, path, children }: { href: string; path: string; children: ComponentChildren }) {
  return (
    <a href={href} {...(path === href ? { 'aria-current': 'page' as const } : {})}>
      {children}
    </a>
  )
}

/** `/` moves the focus here. */
function Search() {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const search = (event: Event) => {
    event.preventDefault()
    const text = input.current?.value.trim() ?? ''
    if (text === '') return
    go(`/search?q=${encodeURIComponent(text)}`)
    if (input.current !== null) input.current.value = ''
  }
  return (
    <form class="search" role="search" onSubmit={search}>
      <input
        ref={input}
        type="search"
        data-testid="search"
        aria-label="Search"
        placeholder="Block, hash, address, topic or name  ( / )"
        autocomplete="off"
        spellcheck={false}
      />
    </form>
  )
}
