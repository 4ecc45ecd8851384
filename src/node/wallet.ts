import type { Chain } from '../chain/index.ts'
import { CODE, Endpoint, JSON_WRITER, RpcError, isLoopbackName, memoryRecords, toRpcErrorBy } from '../jsonrpc/index.ts'
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
    handle: async (body, caller) => (this.#refusal === null ? this.current.api.handle(body, caller) : this.#refusing.handle(body, null)),
    provider: (origin) => this.current.api.provider(origin),
    control: {
      request: async (request, options) => {
        this.#assertOpen()
        return this.current.api.control.request(request, options)
      },
      subscribe: (listener) => this.current.api.control.subscribe(listener),
      subscribeRequests: (listener) => this.current.api.control.subscribeRequests(listener),
      subscribeActivity: (listener) => this.current.api.control.subscribeActivity(listener),
    },
    callsStatus: async (id, origin) => {
      this.#assertOpen()
      return this.current.api.callsStatus(id, origin)
    },
  }
  /** all servers of the node, including closed ones */
  readonly #servers: Server[] = []
  #create: ((records: Records) => Wallet) | null = null
  #current: Wallet | null = null
  /** of the newest wallet */
  #records: Records = memoryRecords()
  #refusal: (() => RpcError) | null = null
  /** answers in place of a suspended wallet */
  readonly #refusing = new Endpoint<null>({
    call: () => this.#assertOpen(),
    toRpcError: toRpcErrorBy({ onBug: () => undefined }),
    writer: JSON_WRITER,
  })

  open(choices: WalletChoices, records: Records, deps: WalletDeps): void {
    const { chain } = deps
    this.#create = (kept) => {
      const wallet = walletOf(choices, kept, this.#servers, deps)
      wallet.batches.recheckReplaced(chain.config.chainId, (number, hash) => chain.sealed.store.hashOf(number) === hash)
      return wallet
    }
    this.#begin(records)
    chain.head.subscribe((event) => {
      const oldest = event.kind === 'rewind' ? event.removed.at(-1) : undefined
      if (oldest === undefined || this.#refusal !== null) return
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
    this.#begin(records)
    return this.current
  }

  /** Closes the wallet, whose records stay, and refuses requests until `resume`. */
  async suspend(refusal: () => RpcError): Promise<void> {
    this.#refusal = refusal
    await this.current.close()
  }

  /** Replaces a suspended wallet with one over the same records, which another process may have changed. */
  resume(): void {
    if (this.#refusal === null) return
    this.#refusal = null
    this.#begin(this.#records)
  }

  #begin(records: Records): void {
    this.#records = records
    this.#current = this.#create?.(records) ?? null
  }

  #assertOpen(): void {
    if (this.#refusal !== null) throw this.#refusal()
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
