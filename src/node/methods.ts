import type { BundlerContext } from '../bundler/index.ts'
import { BUNDLER_DEV_METHODS, BUNDLER_METHODS } from '../bundler/methods.ts'
import { routesOf } from '../jsonrpc/index.ts'
import type { Chapter, Route } from '../jsonrpc/index.ts'
import type { SponsorContext } from '../paymaster/index.ts'
import { SPONSOR_METHODS } from '../paymaster/methods.ts'
import { CHAPTERS as NODE_CHAPTERS } from '../rpc/index.ts'
import type { Caller } from '../rpc/index.ts'
import { CALLS_STATUS_METHOD } from '../wallet/index.ts'
import type { Batches, WalletApi } from '../wallet/index.ts'

/** Chapters of other modules, by the chapter of the node that they follow in the reference. */
const CHAPTERS_AFTER: ReadonlyMap<string, readonly Chapter[]> = new Map([
  [
    'Sending and signing',
    [
      { title: 'Wallet', methods: [CALLS_STATUS_METHOD] },
      { title: 'User operations (ERC-4337)', methods: BUNDLER_METHODS },
    ],
  ],
  [
    'Dev methods: senders and the pool',
    [
      { title: 'Dev methods: the bundler', methods: BUNDLER_DEV_METHODS },
      { title: 'Dev methods: the sponsor', methods: SPONSOR_METHODS },
    ],
  ],
])

/** All methods of `POST /`, of every module, in the order of the reference. */
export const CHAPTERS: readonly Chapter[] = NODE_CHAPTERS.flatMap((chapter) => [chapter, ...(CHAPTERS_AFTER.get(chapter.title) ?? [])])

/** The services of a node; null if the node runs without one, whose methods then do not exist. */
interface NodeServices {
  readonly wallet: Pick<WalletApi, 'callsStatus'> | null
  readonly bundler: BundlerContext | null
  readonly sponsor: SponsorContext | null
}

/** The methods of the services, for the node's router. */
export function serviceRoutes({ wallet, bundler, sponsor }: NodeServices): readonly Route<Caller>[] {
  return [
    ...(wallet === null ? [] : routesOf([CALLS_STATUS_METHOD], { batches: batchesOf(wallet) })),
    ...(bundler === null ? [] : routesOf([...BUNDLER_METHODS, ...BUNDLER_DEV_METHODS], bundler)),
    ...(sponsor === null ? [] : routesOf(SPONSOR_METHODS, sponsor)),
  ]
}

/** At `POST /` every caller may read a batch by an id that the wallet generated. */
function batchesOf(wallet: Pick<WalletApi, 'callsStatus'>): Pick<Batches, 'status'> {
  return { status: (id, { origin }) => wallet.callsStatus(id, origin) }
}
