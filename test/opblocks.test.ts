import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Trie } from '../src/chain/index.ts'
import { Address, Bloom, EMPTY_CODE_HASH, EMPTY_OMMERS, EMPTY_ROOT, Hash, Header, Hex, Receipt, Rlp, Transaction } from '../src/eth/index.ts'
import type { RlpItem } from '../src/eth/index.ts'
import { beginBlock, endBlock, executeTransaction, OP_FORKS, rulesAt, World } from '../src/evm/index.ts'
import type { Account, BlockContext, ChainConfig, StateReader, WriteSet } from '../src/evm/index.ts'

/**
 * Three real blocks of OP Sepolia under Holocene, executed from a witness of the state they touch. The block hash says
 * whether deposits, data fees, vaults, receipts and the state root came out as they did on the chain.
 */
const FILE = new URL('../../shared/vectors/op-blocks/op-sepolia-blocks.json.br', import.meta.url)

interface JsonBlock {
  readonly number: number
  readonly rollup_config: Readonly<Record<string, unknown>>
  readonly parent_header: Readonly<Record<string, string>>
  readonly payload: {
    readonly timestamp: string
    readonly prevRandao: string
    readonly suggestedFeeRecipient: string
    readonly parentBeaconBlockRoot: string
    readonly transactions: readonly Hex[]
    readonly gasLimit: string
    readonly eip1559Params: Hex
  }
  readonly expected_block_hash: string
  readonly preimages: Readonly<Record<string, Hex>>
}

const blocks = existsSync(FILE) ? (JSON.parse(brotliDecompressSync(readFileSync(FILE)).toString()) as JsonBlock[]) : []

describe.skipIf(blocks.length === 0)('OP Sepolia', () => {
  test.each(blocks)('block $number has the hash that it has on the chain', async (json) => {
    const { header, executed } = await execute(json)
    expect(Header.hash(header)).toBe(json.expected_block_hash)
    expect(executed).toBe(json.payload.transactions.length)
  })

  test('the judge can fail: without data fees the hash is another', async () => {
    const [json] = blocks
    if (json === undefined) throw new Error('no block')
    const { header } = await execute(json, (tx) => (tx.deposit === null ? { ...tx, raw: null } : tx))
    expect(Header.hash(header)).not.toBe(json.expected_block_hash)
  })
})

async function execute(json: JsonBlock, change: (tx: Transaction) => Parameters<typeof executeTransaction>[0] = (tx) => tx) {
  const witness = new Witness(json)
  const world = new World(witness)
  const context = contextOf(json)
  const transactions = json.payload.transactions.map((raw) => Transaction.decode(Hex.toBytes(raw)))
  const receipts: Uint8Array[] = []
  let logsBloom: Uint8Array = Bloom.empty
  let cumulativeGasUsed = 0n
  await beginBlock(context, world)
  for (const tx of transactions) {
    const { outcome, logs, gasUsed, depositNonce } = await executeTransaction(change(tx), context, world)
    cumulativeGasUsed += gasUsed
    const bloom = Bloom.ofLogs(logs)
    logsBloom = Bloom.or(logsBloom, bloom)
    receipts.push(
      Receipt.encode({
        type: tx.type,
        status: outcome.kind === 'success' ? 1 : 0,
        root: null,
        cumulativeGasUsed,
        logsBloom: bloom,
        logs,
        depositNonce,
        depositReceiptVersion: depositNonce === null ? null : 1,
      }),
    )
  }
  await endBlock(context, world, { withdrawals: [], ommers: [], logs: [] })
  const header = headerOf(json, context, {
    stateRoot: witness.rootAfter(world.writes()),
    transactionsRoot: Trie.orderedRoot(transactions.map((tx) => tx.raw)),
    receiptsRoot: Trie.orderedRoot(receipts),
    logsBloom,
    gasUsed: cumulativeGasUsed,
  })
  return { header, executed: receipts.length }
}

type Computed = Pick<Header, 'stateRoot' | 'transactionsRoot' | 'receiptsRoot' | 'logsBloom' | 'gasUsed'>

function headerOf({ payload, parent_header: parent }: JsonBlock, { env }: BlockContext, computed: Computed): Header {
  return {
    ...computed,
    parentHash: parentHash(parent),
    ommersHash: EMPTY_OMMERS,
    coinbase: env.coinbase,
    difficulty: 0n,
    number: env.number,
    gasLimit: env.gasLimit,
    timestamp: env.timestamp,
    extraData: Hex.toBytes(`0x00${payload.eip1559Params.slice(2)}`),
    mixHash: env.prevRandao,
    nonce: new Uint8Array(8),
    baseFeePerGas: env.baseFeePerGas,
    withdrawalsRoot: EMPTY_ROOT,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: env.parentBeaconBlockRoot,
    requestsHash: null,
  }
}

function contextOf({ number, payload, parent_header: parent, rollup_config: rollup }: JsonBlock): BlockContext {
  const activations = OP_FORKS.flatMap((fork) => {
    const timestamp = rollup[`${fork}_time`]
    return typeof timestamp === 'number' ? [{ fork, timestamp }] : []
  })
  const config: ChainConfig = {
    chainId: Number(rollup['l2_chain_id']),
    l1: [],
    op: { activations, elasticity: 6n, denominator: 50n, denominatorCanyon: 250n },
    blobSchedule: {},
    depositContract: null,
    transactionGasCap: null,
    codeSizeLimit: 24_576,
  }
  const timestamp = Number(payload.timestamp)
  return {
    config,
    rules: rulesAt(config, number, timestamp),
    env: {
      number,
      timestamp,
      gasLimit: BigInt(payload.gasLimit),
      coinbase: Address.from(payload.suggestedFeeRecipient),
      prevRandao: Hash.from(payload.prevRandao),
      difficulty: 0n,
      baseFeePerGas: baseFeeAfter(parent),
      blobBaseFee: 1n,
      parentBeaconBlockRoot: Hash.from(payload.parentBeaconBlockRoot),
      blockHash: (asked) => (asked === number - 1 ? parentHash(parent) : null),
    },
  }
}

/** Holocene: denominator and elasticity stand in the parent's extra data. */
function baseFeeAfter(parent: Readonly<Record<string, string>>): bigint {
  const extra = parent['extraData'] ?? ''
  const denominator = BigInt(`0x${extra.slice(4, 12)}`)
  const elasticity = BigInt(`0x${extra.slice(12, 20)}`)
  const [fee, used, limit] = ['baseFeePerGas', 'gasUsed', 'gasLimit'].map((key) => BigInt(parent[key] ?? 0))
  if (fee === undefined || used === undefined || limit === undefined) throw new Error('three keys give three values')
  const target = limit / elasticity
  const step = (fee * (used > target ? used - target : target - used)) / target / denominator
  return used > target ? fee + (step > 1n ? step : 1n) : fee - step
}

function parentHash(json: Readonly<Record<string, string>>): Hash {
  const text = (key: string): Hex => (json[key] ?? '0x') as Hex // header fields are hex strings
  const hash = (key: string) => Hash.from(text(key))
  return Header.hash({
    parentHash: hash('parentHash'),
    ommersHash: hash('sha3Uncles'),
    coinbase: Address.from(text('miner')),
    stateRoot: hash('stateRoot'),
    transactionsRoot: hash('transactionsRoot'),
    receiptsRoot: hash('receiptsRoot'),
    logsBloom: Hex.toBytes(text('logsBloom')),
    difficulty: BigInt(text('difficulty')),
    number: Number(text('number')),
    gasLimit: BigInt(text('gasLimit')),
    gasUsed: BigInt(text('gasUsed')),
    timestamp: Number(text('timestamp')),
    extraData: Hex.toBytes(text('extraData')),
    mixHash: hash('mixHash'),
    nonce: Hex.toBytes(text('nonce')),
    baseFeePerGas: BigInt(text('baseFeePerGas')),
    withdrawalsRoot: hash('withdrawalsRoot'),
    blobGasUsed: BigInt(text('blobGasUsed')),
    excessBlobGas: BigInt(text('excessBlobGas')),
    parentBeaconBlockRoot: hash('parentBeaconBlockRoot'),
    requestsHash: null,
  })
}

/** The touched part of the state, as trie nodes by their hash. */
class Witness implements StateReader {
  readonly #preimages: ReadonlyMap<string, Uint8Array>
  readonly #accounts: Sparse
  readonly #storage = new Map<Address, Sparse>()

  constructor({ preimages, parent_header: parent }: JsonBlock) {
    this.#preimages = new Map(Object.entries(preimages).map(([hash, bytes]) => [hash, Hex.toBytes(bytes)]))
    this.#accounts = new Sparse(this.#preimages, Hash.from(parent['stateRoot'] ?? ''))
  }

  account(address: Address): Account | null {
    const fields = this.#leaf(address)
    if (fields === null) return null
    const [nonce, balance, , codeHash] = fields.map(bytesOf)
    if (nonce === undefined || balance === undefined || codeHash === undefined) throw new Error('an account has four fields')
    return { nonce: Rlp.toBigint(nonce), balance: Rlp.toBigint(balance), codeHash: Hash.from(codeHash) }
  }

  code(codeHash: Hash): Uint8Array {
    const code = codeHash === EMPTY_CODE_HASH ? new Uint8Array() : this.#preimages.get(codeHash)
    if (code === undefined) throw new Error(`the witness lacks code ${codeHash}`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    const found = this.#storageOf(address).get(Hash.keccak(Hash.toBytes(slot)))
    return found === null ? 0n : Rlp.toBigint(bytesOf(Rlp.decode(found)))
  }

  /** A witness cannot list what was not touched; only accounts without storage are asked here. */
  slots(address: Address): Iterable<Hash> {
    if (!this.#storageOf(address).isEmpty) throw new Error('a witness does not list slots')
    return []
  }

  rootAfter({ accounts, storage }: WriteSet): Hash {
    for (const address of new Set([...accounts.keys(), ...storage.keys()])) {
      const slots = this.#storageOf(address)
      for (const [slot, value] of storage.get(address) ?? []) {
        slots.put(Hash.keccak(Hash.toBytes(slot)), value === 0n ? null : Rlp.encode(value))
      }
      const account = accounts.has(address) ? (accounts.get(address) ?? null) : this.account(address)
      const leaf = account && Rlp.encode([account.nonce, account.balance, slots.root(), account.codeHash])
      this.#accounts.put(Hash.keccak(Address.toBytes(address)), leaf)
    }
    return this.#accounts.root()
  }

  #leaf(address: Address): readonly RlpItem[] | null {
    const found = this.#accounts.get(Hash.keccak(Address.toBytes(address)))
    return found === null ? null : listOf(Rlp.decode(found))
  }

  #storageOf(address: Address): Sparse {
    let trie = this.#storage.get(address)
    if (trie === undefined) {
      const root = this.#leaf(address)?.[2]
      trie = new Sparse(this.#preimages, root === undefined ? EMPTY_ROOT : Hash.from(bytesOf(root)))
      this.#storage.set(address, trie)
    }
    return trie
  }
}

type Node =
  | { readonly kind: 'leaf'; readonly path: string; readonly value: Uint8Array }
  | { readonly kind: 'extension'; readonly path: string; readonly child: Node }
  | { readonly kind: 'branch'; readonly children: readonly (Node | null)[] }
  | { readonly kind: 'unread'; readonly hash: Hash }

/** A trie of which only some nodes are known; the others stay what their hash says. */
class Sparse {
  readonly #preimages: ReadonlyMap<string, Uint8Array>
  #root: Node | null

  constructor(preimages: ReadonlyMap<string, Uint8Array>, root: Hash) {
    this.#preimages = preimages
    this.#root = root === EMPTY_ROOT ? null : { kind: 'unread', hash: root }
  }

  get isEmpty(): boolean {
    return this.#root === null
  }

  get(key: Hash): Uint8Array | null {
    let path = key.slice(2)
    for (let node = this.#root; node !== null; ) {
      const read = this.#read(node)
      if (read.kind === 'leaf') return read.path === path ? read.value : null
      if (read.kind === 'extension') {
        if (!path.startsWith(read.path)) return null
        path = path.slice(read.path.length)
        node = read.child
      } else {
        node = read.children[Number.parseInt(path.charAt(0), 16)] ?? null
        path = path.slice(1)
      }
    }
    return null
  }

  put(key: Hash, value: Uint8Array | null): void {
    this.#root = value === null ? this.#remove(this.#root, key.slice(2)) : this.#insert(this.#root, key.slice(2), value)
  }

  root(): Hash {
    return this.#root === null ? EMPTY_ROOT : this.#root.kind === 'unread' ? this.#root.hash : Hash.keccak(encoded(this.#root))
  }

  #read(node: Node): Exclude<Node, { kind: 'unread' }> {
    if (node.kind !== 'unread') return node
    const bytes = this.#preimages.get(node.hash)
    if (bytes === undefined) throw new Error(`the witness lacks node ${node.hash}`)
    return decoded(Rlp.decode(bytes))
  }

  #insert(node: Node | null, path: string, value: Uint8Array): Node {
    if (node === null) return { kind: 'leaf', path, value }
    const read = this.#read(node)
    if (read.kind === 'branch') return withChild(read.children, path, (child) => this.#insert(child, path.slice(1), value))
    const shared = commonPrefix(read.path, path)
    if (read.kind === 'leaf' && read.path === path) return { kind: 'leaf', path, value }
    if (read.kind === 'extension' && shared === read.path) {
      return extended(shared, this.#insert(read.child, path.slice(shared.length), value))
    }
    const rest = read.path.slice(shared.length)
    const old: Node = read.kind === 'leaf' ? { ...read, path: rest.slice(1) } : extended(rest.slice(1), read.child)
    const split = withChild(NO_CHILDREN, rest, () => old)
    return extended(shared, this.#insert(split, path.slice(shared.length), value))
  }

  #remove(node: Node | null, path: string): Node | null {
    if (node === null) return null
    const read = this.#read(node)
    if (read.kind === 'leaf') return read.path === path ? null : read
    if (read.kind === 'extension') {
      if (!path.startsWith(read.path)) return read
      const child = this.#remove(read.child, path.slice(read.path.length))
      return child === null ? null : this.#joined(read.path, child)
    }
    const branch = withChild(read.children, path, (child) => this.#remove(child, path.slice(1)))
    const left = branch.children.flatMap((child, index) => (child === null ? [] : [{ child, index }]))
    const [only] = left
    return left.length === 1 && only !== undefined ? this.#joined(only.index.toString(16), only.child) : branch
  }

  #joined(prefix: string, child: Node): Node {
    const read = this.#read(child)
    if (read.kind === 'leaf') return { ...read, path: prefix + read.path }
    return read.kind === 'extension' ? extended(prefix + read.path, read.child) : extended(prefix, child)
  }
}

const NO_CHILDREN: readonly null[] = new Array<null>(16).fill(null)

function withChild(children: readonly (Node | null)[], path: string, change: (child: Node | null) => Node | null) {
  const index = Number.parseInt(path.charAt(0), 16)
  return { kind: 'branch' as const, children: children.with(index, change(children[index] ?? null)) }
}

function extended(path: string, child: Node): Node {
  return path === '' ? child : { kind: 'extension', path, child }
}

function commonPrefix(a: string, b: string): string {
  let size = 0
  while (size < a.length && a[size] === b[size]) size++
  return a.slice(0, size)
}

function encoded(node: Node): Uint8Array {
  if (node.kind === 'unread') throw new Error('an unread node is its hash')
  if (node.kind === 'leaf') return Rlp.encode([compact(node.path, true), node.value])
  if (node.kind === 'extension') return Rlp.encode([compact(node.path, false), reference(node.child)])
  return Rlp.encode([...node.children.map((child) => (child === null ? '0x' : reference(child))), '0x'])
}

function reference(node: Node) {
  if (node.kind === 'unread') return node.hash
  const bytes = encoded(node)
  return bytes.length < 32 ? { encoded: bytes } : Hash.keccak(bytes)
}

function compact(path: string, leaf: boolean): Hex {
  const flag = leaf ? 2 : 0
  return path.length % 2 === 0 ? `0x${flag}0${path}` : `0x${flag + 1}${path}`
}

function decoded(item: RlpItem): Exclude<Node, { kind: 'unread' }> {
  const list = listOf(item)
  if (list.length === 17) return { kind: 'branch', children: list.slice(0, 16).map(childOf) }
  const [head, tail] = list
  if (head === undefined || tail === undefined) throw new Error('a short node has two items')
  const flagged = Hex.fromBytes(bytesOf(head)).slice(2)
  const flag = Number(flagged.charAt(0))
  const path = flagged.slice(flag % 2 === 1 ? 1 : 2)
  if (flag >= 2) return { kind: 'leaf', path, value: bytesOf(tail) }
  const child = childOf(tail)
  if (child === null) throw new Error('an extension has a child')
  return { kind: 'extension', path, child }
}

function childOf(item: RlpItem): Node | null {
  if (!(item instanceof Uint8Array)) return decoded(item)
  return item.length === 0 ? null : { kind: 'unread', hash: Hash.from(item) }
}

function bytesOf(item: RlpItem): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new Error('bytes, not a list, are expected')
  return item
}

function listOf(item: RlpItem): readonly RlpItem[] {
  if (item instanceof Uint8Array) throw new Error('a list, not bytes, is expected')
  return item
}
