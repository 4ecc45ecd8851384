import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { Trie } from '../../../src/chain/index.ts'
import { Address, Authorization, EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Hex, Rlp } from '../../../src/eth/index.ts'
import type { AccessListItem, Log, TransactionType } from '../../../src/eth/index.ts'
import { blobBaseFee, executeTransaction, InvalidTransaction, rulesAt, World } from '../../../src/evm/index.ts'
import type {
  Account,
  BlockContext,
  ChainConfig,
  L1Fork,
  Message,
  InvalidTransactionCode,
  StateReader,
  WriteSet,
} from '../../../src/evm/index.ts'

/** Error names of the suite and the corresponding codes. */
const REFUSALS: Readonly<Record<string, readonly InvalidTransactionCode[]>> = {
  INTRINSIC_GAS_TOO_LOW: ['intrinsic-gas'],
  INTRINSIC_GAS_BELOW_FLOOR_GAS_COST: ['floor-gas'],
  INSUFFICIENT_ACCOUNT_FUNDS: ['insufficient-funds'],
  TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH: ['blob-hash-version'],
  INSUFFICIENT_MAX_FEE_PER_GAS: ['fee-cap-below-base-fee'],
  TYPE_3_TX_ZERO_BLOBS: ['blob-hashes-missing'],
  TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED: ['blob-count'],
  TYPE_3_TX_BLOB_COUNT_EXCEEDED: ['blob-count'],
  INSUFFICIENT_MAX_FEE_PER_BLOB_GAS: ['blob-fee-cap-below-base-fee'],
  GAS_LIMIT_EXCEEDS_MAXIMUM: ['gas-limit-cap'],
  TYPE_4_TX_CONTRACT_CREATION: ['authorization-creation'],
  TYPE_4_EMPTY_AUTHORIZATION_LIST: ['empty-authorization-list'],
  SENDER_NOT_EOA: ['sender-not-eoa'],
  PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS: ['tip-above-fee-cap'],
  INITCODE_SIZE_EXCEEDED: ['init-code-size'],
}

interface JsonAccount {
  readonly nonce: string
  readonly balance: string
  readonly code: Hex
  readonly storage: Readonly<Record<string, string>>
}
type JsonState = Readonly<Record<string, JsonAccount>>

interface JsonPost {
  readonly i: readonly [number, number, number]
  readonly hash: string
  readonly logs: string
  readonly err?: string
}

/** One filled test of execution-spec-tests, one per line: one transaction on one state. */
export interface StateTest {
  readonly id: string
  readonly env: Readonly<Record<string, string>>
  readonly pre: JsonState
  readonly tx: {
    readonly nonce: string
    readonly gasPrice?: string
    readonly maxFeePerGas?: string
    readonly maxPriorityFeePerGas?: string
    readonly maxFeePerBlobGas?: string
    readonly gasLimit: readonly string[]
    readonly value: readonly string[]
    readonly data: readonly Hex[]
    readonly to: string
    readonly sender: string
    readonly accessLists?: readonly (readonly { address: string; storageKeys: readonly string[] }[])[]
    readonly blobVersionedHashes?: readonly string[]
    readonly authorizationList?: readonly Record<'chainId' | 'address' | 'nonce' | 'yParity' | 'r' | 's', string>[]
  }
  readonly post: Readonly<Record<string, readonly JsonPost[]>>
}

/** The tests of a file (one JSON object per line, `.br` if compressed) or of all files in a folder. */
export function readStateTests(path: string): StateTest[] {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => readStateTests(join(path, name)))
  if (!/\.(nd)?json(\.br)?$/.test(path)) return []
  const bytes = readFileSync(path)
  const text = (path.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString()
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StateTest) // format of the file
}

/** The fork that a test was filled for. */
export function forkOf({ post }: StateTest): L1Fork {
  return 'Osaka' in post ? 'osaka' : 'prague'
}

/** Differences to the expected result; empty if the test passes. */
export function failuresOf(json: StateTest, fork: L1Fork, options: { readonly traced?: boolean } = {}): string[] {
  const failures: string[] = []
  for (const post of Object.values(json.post).flat()) {
    const base = new MemoryState(json.pre)
    const world = new World(base, options)
    const found = problem(json, post, fork, base, world)
    world.release()
    if (found !== null) failures.push(`${json.id}: ${found}`)
  }
  return failures
}

function problem(json: StateTest, post: JsonPost, fork: L1Fork, base: MemoryState, world: World): string | null {
  const [message, context] = [messageOf(json, post), contextOf(json, fork)]
  // The pool of gas of a block, which the engine does not have: in the chain the block builder checks it.
  const isBeyondBlock = message.gas > context.env.gasLimit
  if (isBeyondBlock) {
    if (post.err === undefined) return `asks for ${message.gas} gas, the block has ${context.env.gasLimit}`
    return base.rootAfter(world.writes()) === post.hash ? null : 'another state root'
  }
  try {
    const { logs } = executeTransaction(message, context, world)
    if (post.err !== undefined) return `was executed, should be refused (${post.err})`
    if (Hash.keccak(Rlp.encode(logs.map(rlpOfLog))) !== post.logs) return 'other logs'
  } catch (error) {
    if (!(error instanceof InvalidTransaction)) return `threw ${error instanceof Error ? error.stack : String(error)}`
    if (post.err === undefined) return `refused: ${error.message}`
    if (!expectedRefusals(post.err).includes(error.code)) return `refused as ${error.code}, should be ${post.err}`
  }
  return base.rootAfter(world.writes()) === post.hash ? null : 'another state root'
}

/** `TransactionException.A|TransactionException.B`: either is accepted. */
function expectedRefusals(err: string): readonly InvalidTransactionCode[] {
  return err.split('|').flatMap((name) => REFUSALS[name.replace('TransactionException.', '')] ?? [])
}

function rlpOfLog({ address, topics, data }: Log) {
  return [address, topics, data]
}

function contextOf({ env }: StateTest, fork: L1Fork): BlockContext {
  const config = CONFIGS[fork === 'osaka' ? 'osaka' : 'prague']
  const number = Number(env['currentNumber'])
  const rules = rulesAt(config, number, Number(env['currentTimestamp']))
  return {
    config,
    rules,
    env: {
      number,
      timestamp: Number(env['currentTimestamp']),
      gasLimit: BigInt(env['currentGasLimit'] ?? 0),
      coinbase: Address.from(env['currentCoinbase'] ?? ''),
      prevRandao: Hash.from(env['currentRandom'] ?? ''),
      difficulty: 0n,
      baseFeePerGas: BigInt(env['currentBaseFee'] ?? 0),
      blobBaseFee: rules.blob === null ? null : blobBaseFee(BigInt(env['currentExcessBlobGas'] ?? 0), rules.blob),
      parentBeaconBlockRoot: null,
      blockHash: (number) => Hash.keccak(Buffer.from(String(number))),
    },
  }
}

const CONFIGS = { prague: configOf('prague'), osaka: configOf('osaka') }

function configOf(fork: L1Fork): ChainConfig {
  return {
    chainId: 1,
    l1: [{ fork, block: null, timestamp: 0 }],
    op: null,
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: 16_777_216n,
    codeSizeLimit: 24_576,
  }
}

function messageOf({ tx }: StateTest, { i: [data, gas, value] }: JsonPost): Message {
  const gasPrice = tx.gasPrice ?? tx.maxFeePerGas ?? '0x0'
  return {
    type: typeOf(tx, data),
    from: Address.from(tx.sender),
    to: tx.to === '' ? null : Address.from(tx.to),
    nonce: BigInt(tx.nonce),
    gas: BigInt(tx.gasLimit[gas] ?? 0),
    value: BigInt(tx.value[value] ?? 0),
    data: Hex.toBytes(tx.data[data] ?? '0x'),
    maxFeePerGas: BigInt(gasPrice),
    maxPriorityFeePerGas: BigInt(tx.maxPriorityFeePerGas ?? gasPrice),
    accessList: (tx.accessLists?.[data] ?? []).map(accessListItem),
    maxFeePerBlobGas: BigInt(tx.maxFeePerBlobGas ?? 0),
    blobVersionedHashes: (tx.blobVersionedHashes ?? []).map((hash) => Hash.from(hash)),
    authorizationList: (tx.authorizationList ?? []).map(authorizationOf),
    deposit: null,
    raw: null,
  }
}

function typeOf(tx: StateTest['tx'], data: number): TransactionType {
  if (tx.authorizationList !== undefined) return 4
  if (tx.maxFeePerBlobGas !== undefined || tx.blobVersionedHashes !== undefined) return 3
  if (tx.maxFeePerGas !== undefined) return 2
  return tx.accessLists?.[data] === undefined ? 0 : 1
}

function accessListItem(item: { address: string; storageKeys: readonly string[] }): AccessListItem {
  return { address: Address.from(item.address), storageKeys: item.storageKeys.map((key) => Hash.from(key)) }
}

function authorizationOf(json: Record<'chainId' | 'address' | 'nonce' | 'yParity' | 'r' | 's', string>): Authorization {
  const signed = {
    chainId: BigInt(json.chainId),
    address: Address.from(json.address),
    nonce: BigInt(json.nonce),
    yParity: Number(json.yParity),
    r: BigInt(json.r),
    s: BigInt(json.s),
  }
  return { ...signed, authority: Authorization.recover(signed) }
}

class MemoryState implements StateReader {
  readonly #accounts = new Map<Address, Account>()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #codes = new Map<Hash, Uint8Array>()

  constructor(pre: JsonState) {
    for (const [key, { nonce, balance, code, storage }] of Object.entries(pre)) {
      const bytes = Hex.toBytes(code)
      const codeHash = bytes.length === 0 ? EMPTY_CODE_HASH : Hash.keccak(bytes)
      this.#codes.set(codeHash, bytes)
      this.#accounts.set(Address.from(key), { nonce: BigInt(nonce), balance: BigInt(balance), codeHash })
      const slots = Object.entries(storage).map(([slot, value]) => [Hash.fromBigint(BigInt(slot)), BigInt(value)] as const)
      this.#storage.set(Address.from(key), new Map(slots.filter(([, value]) => value !== 0n)))
    }
  }

  account(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    return this.#codes.get(codeHash) ?? new Uint8Array()
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? 0n
  }

  slots(address: Address): Iterable<Hash> {
    return this.#storage.get(address)?.keys() ?? []
  }

  rootAfter(writes: WriteSet): Hash {
    const accounts = new Map<Address, Account | null>([...this.#accounts, ...writes.accounts])
    const entries = [...accounts].map(([address, account]) => {
      const value = account === null ? null : this.#rlpOf(account, this.#slotsAfter(address, writes))
      return [Hash.keccak(Address.toBytes(address)), value] as const
    })
    return TRIE.update(entries).rootHash()
  }

  #slotsAfter(address: Address, writes: WriteSet): Map<Hash, bigint> {
    return new Map([...(this.#storage.get(address) ?? []), ...(writes.storage.get(address) ?? [])])
  }

  #rlpOf({ nonce, balance, codeHash }: Account, slots: ReadonlyMap<Hash, bigint>): Uint8Array {
    const entries = [...slots].map(([slot, value]) => {
      return [Hash.keccak(Hash.toBytes(slot)), value === 0n ? null : Rlp.encode(value)] as const
    })
    const root = entries.length === 0 ? EMPTY_ROOT : TRIE.update(entries).rootHash()
    return Rlp.encode([nonce, balance, root, codeHash])
  }
}

const TRIE = Trie.empty((bytes: Uint8Array) => bytes)
