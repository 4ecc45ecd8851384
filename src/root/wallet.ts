import type { Chain } from '../chain/index.ts'
import { CODE, RpcError, isLoopbackName } from '../rpc/index.ts'
import type { Rpc } from '../rpc/index.ts'
import type { Server } from '../server/index.ts'
import { Keyring, createWallet, embeddedChain } from '../wallet/index.ts'
import type { Records, Wallet, WalletChain, WalletFace } from '../wallet/index.ts'
import type { DevAccount } from './keys.ts'
import type { WalletChoices } from './options.ts'

interface Ground {
  readonly chain: Chain
  readonly rpc: Rpc
  readonly accounts: readonly DevAccount[]
  /** all that have listened, now or later */
  readonly servers: readonly Server[]
  readonly hasSponsor: boolean
  readonly onError: (error: unknown) => void
}

/** The wallet beside the node. */
export function walletOf({ keys, chains = [], ...choices }: WalletChoices, records: Records, ground: Ground): Wallet {
  const { chain, rpc, accounts, servers, hasSponsor, onError } = ground
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

/** Of the wallet that there is now: a server outlives one that is renewed. */
export function faceOf(wallet: () => Wallet): WalletFace {
  const now = (): WalletFace => wallet().face
  return {
    handle: (body, caller) => now().handle(body, caller),
    provider: (origin) => now().provider(origin),
    control: {
      request: (request, options) => now().control.request(request, options),
      subscribe: (listener) => now().control.subscribe(listener),
    },
    callsStatus: (id, origin) => now().callsStatus(id, origin),
  }
}

/** Where its paymaster is found over TLS: apps say localhost as well, for which its certificate is, too. */
function originsOf({ httpsUrl, port }: Server): readonly string[] {
  return isLoopbackName(new URL(httpsUrl).hostname) ? [httpsUrl, `https://localhost:${port}`] : [httpsUrl]
}

/** PEM, of all ports: they may keep their certificates apart. */
function authorityOf(servers: readonly Server[]): string {
  return [...new Set(servers.map((server) => server.ca()))].join('\n')
}

function linkOf([server]: readonly Server[]): string {
  const entrance = server?.wallet ?? null
  if (entrance !== null) return entrance.link()
  throw new RpcError(CODE.server, 'no port is open, so there is no page: node.listen() opens one', { reason: 'no-page' })
}
