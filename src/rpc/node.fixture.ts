import {
  Chain,
  DEFAULT_CODE_SIZE_LIMIT,
  DEFAULT_FEE_PARAMETERS,
  DEFAULT_L1,
  DEFAULT_TRANSACTION_GAS_CAP,
  ManualClock,
  SEQUENCER_FEE_VAULT,
  defaultGenesis,
} from '../chain/index.ts'
import type { Cadence, Genesis } from '../chain/index.ts'
import { COMPAT, STATE_HISTORY_BLOCKS } from '../compat.ts'
import type { CompatName } from '../compat.ts'
import { Address, Hash, Hex, Secp256k1, Transaction } from '../eth/index.ts'
import type { TransactionFields } from '../eth/index.ts'
import { MemoryStore } from '../store/index.ts'
import { DevAccounts } from './accounts.ts'
import type { Caller } from './context.ts'
import { createRpc } from './dispatch.ts'
import type { NodeRpc } from './dispatch.ts'

/** A whole node below the server: real rooms, a clock that only the test moves, nothing random. */
export interface TestNode {
  readonly chain: Chain
  readonly clock: ManualClock
  readonly rpc: NodeRpc
  /** what the node reported as its own bugs */
  readonly bugs: unknown[]
  /** Answers the result; throws RpcError. */
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** Signs with the first account's key and submits. Answers the hash. */
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
}

export const GENESIS_SECONDS = 1_700_000_000
export const KEY: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
export const ALICE: Address = Secp256k1.address(KEY)
export const PRECONF: Cadence = { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 }
export const MANUAL: Cadence = { kind: 'manual' }
export const DEDICATED: Caller = { tier: 'dedicated', session: null }
export const PUBLIC: Caller = { tier: 'public', session: null }

/** Deploying this makes a contract that emits one log with 42 as data; its topic is the first word of the call. */
export const LOGGER_INIT_CODE = Hex.toBytes('0x600e600c600039600e6000f3600035602a60005260206000a100')
/** where the first transaction of ALICE puts it */
export const LOGGER = Address.create(ALICE, 0n)

export async function testNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const clock = new ManualClock(GENESIS_SECONDS * 1_000)
  const bugs: unknown[] = []
  const chain = new Chain({
    genesis: options.genesis ?? (await genesis()),
    store: new MemoryStore(),
    clock,
    cadence: options.cadence ?? MANUAL,
    l1: DEFAULT_L1,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    gasLimit: 60_000_000n,
    coinbase: SEQUENCER_FEE_VAULT,
    order: 'fees',
    seed: 'test',
    historyBlocks: options.historyBlocks ?? STATE_HISTORY_BLOCKS,
    instanceId: Hash.zero,
    onBug: (error) => bugs.push(error),
  })
  const rpc = createRpc({
    chain,
    accounts: new DevAccounts([KEY]),
    compat: COMPAT[options.compat ?? 'default'],
    clientVersion: 'pocketchain/test',
    onBug: (error) => bugs.push(error),
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
    ask: (method, ...params) => rpc.request({ method, params }),
    sign,
    send: async (fields) => {
      const tx = sign(fields)
      await chain.submit(tx)
      return tx.hash
    },
  }
}

const DEFAULTS: TransactionFields = {
  type: 2,
  to: null,
  gas: 200_000n,
  maxFeePerGas: 10_000_000_000n,
  maxPriorityFeePerGas: 1_000_000n,
}

function genesis(): Promise<Genesis> {
  return defaultGenesis({
    chainId: 31_337,
    timestamp: GENESIS_SECONDS,
    hardfork: 'jovian',
    gasLimit: 60_000_000n,
    baseFeePerGas: 1_000_000_000n,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    accounts: [{ address: ALICE, balance: 10_000n * 10n ** 18n }],
    codeSizeLimit: DEFAULT_CODE_SIZE_LIMIT,
    transactionGasCap: DEFAULT_TRANSACTION_GAS_CAP,
  })
}
