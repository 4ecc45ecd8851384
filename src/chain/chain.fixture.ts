import { Address, Hash, Hex, Secp256k1, Transaction } from '../eth/index.ts'
import type { Block, Receipt, TransactionFields } from '../eth/index.ts'
import { MemoryStore } from '../store/index.ts'
import type { BlockStore } from './view/blockstore.ts'
import { CADENCES } from './sequencing/cadence.ts'
import type { CadenceKind } from './sequencing/cadence.ts'
import { Chain } from './chain.ts'
import type { ChainOptions } from './chain.ts'
import { ManualClock } from './sequencing/clock.ts'
import type { Clock } from './sequencing/clock.ts'
import { DEFAULT_FEE_PARAMETERS, DEFAULT_HARDFORK, SEQUENCER_FEE_VAULT, defaultGenesis } from './genesis/defaultgenesis.ts'
import { DEFAULT_CODE_SIZE_LIMIT, DEFAULT_TRANSACTION_GAS_CAP } from './genesis/genesis.ts'
import type { Genesis } from './genesis/genesis.ts'
import type { FlashblockEvent, HeadEvent, RewindEvent, SealedEvent } from './view/head.ts'
import { DEFAULT_L1 } from './l1.ts'

export const GENESIS_SECONDS = 1_700_000_000
export const GENESIS_MS = GENESIS_SECONDS * 1_000
export const GWEI = 10n ** 9n
export const ETHER = 10n ** 18n
export const GAS_LIMIT = 60_000_000n

/** Private keys of funded accounts. */
export const KEYS: readonly Hex[] = Array.from(
  { length: 10 },
  (_, index) =>
    `0x${String(index + 1)
      .repeat(64)
      .slice(0, 64)}` as const,
)
export const RICH: readonly Address[] = KEYS.map((key) => Secp256k1.address(key))
export const ALICE = RICH[0]!
export const BOB = RICH[1]!
export const RECIPIENT = Address.from('0x00000000000000000000000000000000000abcde')

/** Init code of a contract that emits one log with 42 as data and the first calldata word as topic. */
export const LOGGER_INIT_CODE = Hex.toBytes('0x600e600c600039600e6000f3600035602a60005260206000a100')

/** A chain with its clock, its head events, and the errors passed to `onBug`. */
export interface TestChain {
  readonly chain: Chain
  readonly clock: ManualClock
  readonly store: BlockStore
  readonly events: HeadEvent[]
  readonly bugs: unknown[]
}

/** A clock, and the number of its alarms: with the machine's clock each would keep the process alive. */
export function countingClock(): { readonly clock: Clock; readonly alarms: () => number } {
  const manual = new ManualClock(GENESIS_MS)
  let alarms = 0
  const clock: Clock = {
    nowMs: () => manual.nowMs(),
    at: (timeMs, run) => {
      alarms++
      const cancel = manual.at(timeMs, run)
      return () => {
        alarms--
        cancel()
      }
    },
  }
  return { clock, alarms: () => alarms }
}

const geneses = new Map<readonly Address[], Genesis>()

/** The default genesis with these funded accounts; cached per list, because it is immutable. */
export function testGenesis(rich: readonly Address[] = RICH): Genesis {
  const known = geneses.get(rich)
  if (known !== undefined) return known
  const genesis = defaultGenesis({
    chainId: 31_337,
    timestamp: GENESIS_SECONDS,
    hardfork: DEFAULT_HARDFORK,
    gasLimit: GAS_LIMIT,
    baseFeePerGas: GWEI,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    accounts: rich.map((address) => ({ address, balance: 10_000n * ETHER })),
    codeSizeLimit: DEFAULT_CODE_SIZE_LIMIT,
    transactionGasCap: DEFAULT_TRANSACTION_GAS_CAP,
  })
  geneses.set(rich, genesis)
  return genesis
}

/** Creates a chain without starting it. */
export function testChain(kind: CadenceKind = 'preconf', options: Partial<Omit<ChainOptions, 'onBug'>> = {}): TestChain {
  const clock = new ManualClock(GENESIS_MS)
  const store = options.store ?? new MemoryStore()
  const bugs: unknown[] = []
  const chain = new Chain({
    genesis: testGenesis(),
    cadence: CADENCES[kind],
    l1: DEFAULT_L1,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    gasLimit: GAS_LIMIT,
    coinbase: SEQUENCER_FEE_VAULT,
    order: 'fees',
    seed: 'test',
    historyBlocks: 8_192,
    instanceId: Hash.zero,
    clock,
    ...options,
    store,
    onBug: (error) => bugs.push(error),
  })
  const events: HeadEvent[] = []
  chain.head.subscribe((event) => events.push(event))
  return { chain, clock, store, events, bugs }
}

export async function startedChain(...parameters: Parameters<typeof testChain>): Promise<TestChain> {
  const parts = testChain(...parameters)
  await parts.chain.start()
  return parts
}

/** A transfer of 1 wei to RECIPIENT by default, signed by the account of that index. */
export function signed(fields: TransactionFields = {}, account = 0): Transaction {
  return Transaction.sign({ ...TRANSFER, ...fields }, KEYS[account]!)
}

const TRANSFER: TransactionFields = {
  type: 2,
  chainId: 31_337,
  gas: 21_000n,
  to: RECIPIENT,
  value: 1n,
  maxFeePerGas: 10n * GWEI,
  maxPriorityFeePerGas: 1n,
}

export function flashblocksOf(events: readonly HeadEvent[]): FlashblockEvent[] {
  return events.filter((event): event is FlashblockEvent => event.kind === 'block' && !event.sealed)
}

export function sealedOf(events: readonly HeadEvent[]): SealedEvent[] {
  return events.filter((event): event is SealedEvent => event.kind === 'block' && event.sealed)
}

export function rewindsOf(events: readonly HeadEvent[]): RewindEvent[] {
  return events.filter((event): event is RewindEvent => event.kind === 'rewind')
}

/** Hashes of the transactions other than deposits. */
export function hashesOf(block: Block | null): readonly Hash[] {
  return (block?.transactions ?? []).filter((tx) => tx.type !== 0x7e).map((tx) => tx.hash)
}

export function receiptOf(chain: Chain, hash: Hash): Receipt | null {
  const place = chain.head.view.locate(hash)
  return place === null ? null : (place.block.receipts[place.index] ?? null)
}

/** Seeded random numbers from 0 to below 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** An integer from 0 to below `bound`. */
export function below(next: () => number, bound: number): number {
  return Math.floor(next() * bound)
}
