import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../eth/index.ts'
import { rulesAt } from './forks.ts'
import type { ChainConfig, L1Fork, OpFork } from './forks.ts'
import type { BlockContext, BlockEnv, Message } from './message.ts'
import type { Account, StateReader, WriteSet } from './state.ts'

export const ALICE = Address.from('0xa11ce00000000000000000000000000000000001')
export const BOB = Address.from('0xb0b0000000000000000000000000000000000002')
export const CONTRACT = Address.from('0xc000000000000000000000000000000000000003')
export const COINBASE = Address.from('0x4200000000000000000000000000000000000011')
export const ETHER = 10n ** 18n
export const GWEI = 10n ** 9n

interface Setup {
  readonly nonce?: bigint
  readonly balance?: bigint
  readonly code?: Hex
  readonly storage?: Readonly<Record<number, bigint>>
}

/** A state in maps. */
export class Memory implements StateReader {
  readonly #accounts = new Map<Address, Account>()
  readonly #slots = new Map<Address, Map<Hash, bigint>>()
  readonly #codes = new Map<Hash, Uint8Array>()

  constructor(accounts: Readonly<Record<string, Setup>>) {
    for (const [key, setup] of Object.entries(accounts)) this.#add(Address.from(key), setup)
  }

  account(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    return this.#codes.get(codeHash) ?? new Uint8Array()
  }

  storage(address: Address, key: Hash): bigint {
    return this.#slots.get(address)?.get(key) ?? 0n
  }

  slots(address: Address): Iterable<Hash> {
    return this.#slots.get(address)?.keys() ?? []
  }

  #add(address: Address, { nonce = 0n, balance = 0n, code = '0x', storage = {} }: Setup): void {
    const bytes = Hex.toBytes(code)
    const codeHash = bytes.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(bytes)
    this.#codes.set(codeHash, bytes)
    this.#accounts.set(address, { nonce, balance, codeHash })
    this.#slots.set(address, new Map(Object.entries(storage).map(([index, value]) => [slot(Number(index)), value])))
  }
}

export function slot(index: number): Hash {
  return Hash.fromBigint(BigInt(index))
}

export function l1Config(fork: L1Fork, changes: Partial<ChainConfig> = {}): ChainConfig {
  return {
    chainId: 1,
    l1: [{ fork, block: 0, timestamp: null }],
    op: null,
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: 16_777_216n,
    codeSizeLimit: 24_576,
    ...changes,
  }
}

export function opConfig(fork: OpFork): ChainConfig {
  const op = { activations: [{ fork, timestamp: 0 }], elasticity: 6n, denominator: 50n, denominatorCanyon: 250n }
  return l1Config('frontier', { chainId: 8453, op })
}

export function contextOf(config: ChainConfig, changes: Partial<BlockEnv> = {}): BlockContext {
  const env: BlockEnv = {
    number: 1_000,
    timestamp: 1_000_000,
    gasLimit: 30_000_000n,
    coinbase: COINBASE,
    prevRandao: Hash.zero,
    difficulty: 0n,
    baseFeePerGas: GWEI,
    blobBaseFee: 1n,
    parentBeaconBlockRoot: null,
    blockHash: () => null,
    ...changes,
  }
  return { config, rules: rulesAt(config, env.number, env.timestamp), env }
}

/** A type 2 call from Alice to Bob, valid on every chain since London. */
export function message(changes: Partial<Message> = {}): Message {
  return {
    type: 2,
    from: ALICE,
    to: BOB,
    nonce: 0n,
    gas: 100_000n,
    value: 0n,
    data: new Uint8Array(),
    maxFeePerGas: 3n * GWEI,
    maxPriorityFeePerGas: GWEI,
    accessList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    authorizationList: [],
    deposit: null,
    raw: null,
    ...changes,
  }
}

export function isUntouched({ accounts, storage, codes }: WriteSet): boolean {
  return accounts.size === 0 && storage.size === 0 && codes.size === 0
}
