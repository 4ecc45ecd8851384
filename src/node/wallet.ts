import type { Chain } from '../chain/index.ts'
import { CODE, RpcError, isLoopbackName } from '../jsonrpc/index.ts'
import type { Records, Rpc } from '../jsonrpc/index.ts'
import type { Server } from '../server/index.ts'
import { Keyring, createWallet, embeddedChain } from '../wallet/index.ts'
import type { Wallet, WalletChain, WalletApi } from '../wallet/index.ts'
import type { DevAccount } from './keys.ts'
import type { WalletChoices } from './options.ts'

interface WalletDeps {
  readonly chain: Chain
  readonly rpc: Rpc
  readonly accounts: readonly DevAccount[]
  readonly hasSponsor: boolean
  readonly onError: (error: unknown) => void
}

/** The current wallet of a node. */
export class NodeWallet {
  /** delegates to the current wallet, because a server stays while its wallet is replaced */
  readonly api: WalletApi = {
    handle: (body, caller) => this.current.api.handle(body, caller),
    provider: (origin) => this.current.api.provider(origin),
    control: {
      request: (request, options) => this.current.api.control.request(request, options),
      subscribe: (listener) => this.current.api.control.subscribe(listener),
      subscribeRequests: (listener) => this.current.api.control.subscribeRequests(listener),
      subscribeActivity: (listener) => this.current.api.control.subscribeActivity(listener),
    },
    callsStatus: (id, origin) => this.current.api.callsStatus(id, origin),
  }
  /** all servers of the node, including closed ones */
  readonly #servers: Server[] = []
  #create: ((records: Records) => Wallet) | null = null
  #current: Wallet | null = null

  open(choices: WalletChoices, records: Records, deps: WalletDeps): void {
    this.#create = (kept) => walletOf(choices, kept, this.#servers, deps)
    this.#current = this.#create(records)
    const { chain } = deps
    this.#current.batches.recheckReplaced(chain.config.chainId, (number, hash) => chain.sealed.store.hashOf(number) === hash)
    chain.head.subscribe((event) => {
      const oldest = event.kind === 'rewind' ? event.removed.at(-1) : undefined
      if (oldest === undefined) return
      // A long rewind names its newest blocks only, and a restart may have a higher first block.
      const first = Math.min(oldest.header.number, event.view.head.header.number + 1)
      this.current.batches.recheckFrom(chain.config.chainId, first, chain.idle())
    })
  }

  get current(): Wallet {
    if (this.#current === null) throw new Error('the wallet is not open yet')
    return this.#current
  }

  addServer(server: Server): void {
    this.#servers.push(server)
  }

  async renew(records: Records): Promise<Wallet> {
    await this.current.close()
    this.#current = this.#create?.(records) ?? null
    return this.current
  }
}

function walletOf(
  { keys, chains = [], ...choices }: WalletChoices,
  records: Records,
  servers: readonly Server[],
  deps: WalletDeps,
): Wallet {
  const { chain, rpc, accounts, hasSponsor, onError } = deps
  const open = () => servers.filter(({ isClosed }) => !isClosed)
  const node = embeddedChain({ chain, request: rpc.request, subscribe: rpc.subscribe })
  const here: WalletChain = {
    ...node,
    get rpcUrls() {
      return open().map(({ url }) => url)
    },
  }
  return createWallet({
    ...choices,
    chains: [here, ...chains],
    keyring: Keyring.of({ ...keys, dev: accounts.map(({ privateKey }) => privateKey) }),
    records,
    onError,
    approvalUrl: () => linkOf(open()),
    admits: (origin) => open().every((server) => server.admits(origin)),
    sponsor: hasSponsor ? { origins: () => open().flatMap(originsOf), ca: () => authorityOf(open()) } : null,
  })
}

/** Returns the https origins of the paymaster. The certificate is also valid for localhost. */
function originsOf({ httpsUrl, port }: Server): readonly string[] {
  return isLoopbackName(new URL(httpsUrl).hostname) ? [httpsUrl, `https://localhost:${port}`] : [httpsUrl]
}

/** Certificates of all servers, PEM: each may have its own. */
function authorityOf(servers: readonly Server[]): string {
  return [...new Set(servers.map((server) => server.ca()))].join('\n')
}

function linkOf([server]: readonly Server[]): string {
  const endpoints = server?.wallet ?? null
  if (endpoints !== null) return endpoints.link()
  throw new RpcError(CODE.server, 'no port is open, so there is no page: node.listen() opens one', { reason: 'no-page' })
}
