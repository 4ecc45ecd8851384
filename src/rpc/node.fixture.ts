import { GENESIS_SECONDS, GWEI, LOGGER_INIT_CODE, testChain, testGenesis } from '../chain/chain.fixture.ts'
import { CADENCES } from '../chain/index.ts'
import type { Cadence, Chain, Clock, Genesis, ManualClock } from '../chain/index.ts'
import { COMPAT } from '../compat.ts'
import type { CompatName } from '../compat.ts'
import { Address, Secp256k1, Transaction } from '../eth/index.ts'
import type { Hash, Hex, TransactionFields } from '../eth/index.ts'
import { DevAccounts } from './accounts.ts'
import type { Caller } from './context.ts'
import type { Route } from '../jsonrpc/index.ts'
import { createRpc } from './noderpc.ts'
import type { NodeRpc } from './noderpc.ts'
import type { RequestObserver } from './observer.ts'
import { Workers } from './workers/pool.ts'
import type { WorkersOptions } from './workers/pool.ts'

/** A node without a server: real modules, a clock that only the test moves, nothing random. */
export interface TestNode {
  readonly chain: Chain
  readonly clock: ManualClock
  readonly rpc: NodeRpc
  /** the bugs that the node reported */
  readonly bugs: unknown[]
  readonly workers: Workers | null
  /** Returns the result; throws RpcError. */
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** Signs with the first account's key and submits. Returns the hash. */
  readonly send: (fields: Partial<TransactionFields>) => Promise<Hash>
  /** Signs with the first account's key and the next nonce. */
  readonly sign: (fields: Partial<TransactionFields>) => Transaction
}

export interface TestNodeOptions {
  readonly cadence?: Cadence
  readonly compat?: CompatName
  readonly genesis?: Genesis
  readonly now?: () => number
  readonly historyBlocks?: number
  readonly methodTimeMs?: number
  readonly observer?: RequestObserver
  /** methods of other modules; none by default */
  readonly routes?: readonly Route<Caller>[]
  /** a manual clock by default */
  readonly clock?: Clock
  /** threads for heavy requests: none unless given */
  readonly workers?: Pick<WorkersOptions, 'maxThreads' | 'start' | 'mainThreadMs' | 'idleMs' | 'maxWaiting'>
}

export { GENESIS_SECONDS, LOGGER_INIT_CODE }
export const KEY: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
export const ALICE: Address = Secp256k1.address(KEY)
export const PRECONF: Cadence = CADENCES.preconf
export const MANUAL: Cadence = CADENCES.manual
export const DEDICATED: Caller = { tier: 'dedicated', session: null }
export const PUBLIC: Caller = { tier: 'public', session: null }

const RICH: readonly Address[] = [ALICE]
/** the address of the logger if ALICE's first transaction deploys it */
export const LOGGER = Address.create(ALICE, 0n)

export async function testNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const { chain, clock, bugs } = testChain('manual', {
    genesis: options.genesis ?? testGenesis(RICH),
    ...(options.cadence === undefined ? undefined : { cadence: options.cadence }),
    ...(options.clock === undefined ? undefined : { clock: options.clock }),
    ...(options.historyBlocks === undefined ? undefined : { historyBlocks: options.historyBlocks }),
  })
  const compat = COMPAT[options.compat ?? 'default']
  const onBug = (error: unknown) => bugs.push(error)
  const { history } = chain.sealed
  const headVersion = () => chain.sealed.headVersion
  const workers =
    options.workers === undefined ? null : new Workers({ ...options.workers, history, headVersion, config: chain.config, compat, onBug })
  const rpc = createRpc({
    chain,
    accounts: new DevAccounts([KEY]),
    compat,
    workers,
    offloadPolicy: workers?.offloadPolicy ?? null,
    clientVersion: 'pocketchain/test',
    devClientVersion: 'anvil/test',
    onBug,
    ...(options.observer === undefined ? undefined : { observer: options.observer }),
    ...(options.routes === undefined ? undefined : { routes: options.routes }),
    ...(options.now === undefined ? undefined : { now: options.now }),
    ...(options.methodTimeMs === undefined ? undefined : { methodTimeMs: options.methodTimeMs }),
  })
  await chain.start()
  let nonce = 0n
  const sign = (fields: Partial<TransactionFields>) =>
    Transaction.sign({ ...DEFAULTS, chainId: chain.config.chainId, nonce: nonce++, ...fields }, KEY)
  return {
    chain,
    clock,
    rpc,
    bugs,
    workers,
    ask: (method, ...params) => rpc.request({ method, params }),
    sign,
    send: (fields) => chain.submit(sign(fields)),
  }
}

const DEFAULTS: TransactionFields = {
  type: 2,
  to: null,
  gas: 200_000n,
  maxFeePerGas: 10n * GWEI,
  maxPriorityFeePerGas: 1_000_000n,
}
