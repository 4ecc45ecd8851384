import type { BuilderState } from '../../src/chain/index.ts'
import { Address, EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Header, Hex, Rlp } from '../../src/eth/index.ts'
import type { RlpInput, RlpItem } from '../../src/eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../src/evm/index.ts'

/** Preimages by hash: trie nodes, code, headers. */
export type Preimages = ReadonlyMap<Hash, Uint8Array>

interface Entry {
  readonly account: Account
  readonly storage: PartialTrie
}

/**
 * Partial state: the trie nodes of the touched paths by hash. It keeps only the newest version, which is
 * all that a block's builder reads. Throws if the witness lacks a node.
 */
export class Witness implements BuilderState, StateReader {
  readonly #preimages: Preimages
  readonly #entries = new Map<Address, Entry | null>()
  readonly #codes = new Map<Hash, Uint8Array>()
  #accounts: PartialTrie
  version = 0

  constructor(preimages: Preimages, stateRoot: Hash) {
    this.#preimages = preimages
    this.#accounts = PartialTrie.at(stateRoot, preimages)
  }

  at(version: number): StateReader {
    if (version !== this.version) throw new RangeError(`the witness supports only version ${this.version}, not ${version}`)
    return this
  }

  apply(writes: WriteSet): number {
    for (const [hash, code] of writes.codes) this.#codes.set(hash, code)
    for (const address of new Set([...writes.accounts.keys(), ...writes.storage.keys()])) this.#write(address, writes)
    return ++this.version
  }

  stateRoot(): Hash {
    return this.#accounts.root()
  }

  storageRoot(address: Address): Hash {
    return this.#entry(address)?.storage.root() ?? EMPTY_ROOT
  }

  account(address: Address): Account | null {
    return this.#entry(address)?.account ?? null
  }

  code(codeHash: Hash): Uint8Array {
    if (codeHash === EMPTY_CODE_HASH) return new Uint8Array()
    const code = this.#codes.get(codeHash) ?? this.#preimages.get(codeHash)
    if (code === undefined) throw new Error(`the witness lacks code ${codeHash}`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    const value = this.#entry(address)?.storage.get(digits(Hash.toBytes(slot)))
    return value === undefined || value === null ? 0n : Rlp.toBigint(bytesOf(Rlp.decode(value)))
  }

  slots(address: Address): Iterable<Hash> {
    if (this.storageRoot(address) !== EMPTY_ROOT) throw new Error(`a witness cannot name all slots of ${address}`)
    return []
  }

  #write(address: Address, { accounts, storage }: WriteSet): void {
    const before = this.#entry(address)
    const account = accounts.get(address) ?? (accounts.has(address) ? null : (before?.account ?? null))
    let trie = before?.storage ?? PartialTrie.at(EMPTY_ROOT, this.#preimages)
    for (const [slot, value] of storage.get(address) ?? []) {
      trie = trie.put(digits(Hash.toBytes(slot)), value === 0n ? null : Rlp.encode(value))
    }
    const entry = account === null ? null : { account, storage: trie }
    this.#entries.set(address, entry)
    this.#accounts = this.#accounts.put(digits(Address.toBytes(address)), entry === null ? null : encodeEntry(entry))
  }

  #entry(address: Address): Entry | null {
    const known = this.#entries.get(address)
    if (known !== undefined) return known
    const value = this.#accounts.get(digits(Address.toBytes(address)))
    const entry = value === null ? null : this.#decodeEntry(value)
    this.#entries.set(address, entry)
    return entry
  }

  #decodeEntry(value: Uint8Array): Entry {
    const [nonce, balance, storageRoot, codeHash] = listOf(Rlp.decode(value)).map(bytesOf)
    return {
      account: { nonce: Rlp.toBigint(nonce!), balance: Rlp.toBigint(balance!), codeHash: Hash.from(codeHash!) },
      storage: PartialTrie.at(Hash.from(storageRoot!), this.#preimages),
    }
  }
}

/** Hashes of the parent and of its ancestors whose headers the witness contains. */
export function blockHashes(parent: Header, preimages: Preimages): (number: number) => Hash | null {
  const known = new Map<number, Hash>([[parent.number, Header.hash(parent)]])
  for (let header: Header | null = parent; header !== null;) {
    known.set(header.number - 1, header.parentHash)
    const bytes = preimages.get(header.parentHash)
    header = bytes === undefined ? null : Header.decode(bytes)
  }
  return (number) => known.get(number) ?? null
}

function encodeEntry({ account, storage }: Entry): Uint8Array {
  return Rlp.encode([account.nonce, account.balance, storage.root(), account.codeHash])
}

type Node =
  | { readonly kind: 'hashed'; readonly hash: Hash }
  | { readonly kind: 'leaf'; readonly path: string; readonly value: Uint8Array }
  | { readonly kind: 'extension'; readonly path: string; readonly child: Node }
  | { readonly kind: 'branch'; readonly children: readonly (Node | null)[] }

/** A trie of keys of one length; nodes are read when a path needs them. Immutable. */
class PartialTrie {
  /** decoded nodes by reference, because paths are walked repeatedly */
  static readonly #parsed = new WeakMap<Node, Exclude<Node, { kind: 'hashed' }>>()
  readonly #root: Node | null
  readonly #preimages: Preimages

  private constructor(root: Node | null, preimages: Preimages) {
    this.#root = root
    this.#preimages = preimages
  }

  static at(root: Hash, preimages: Preimages): PartialTrie {
    return new PartialTrie(root === EMPTY_ROOT ? null : { kind: 'hashed', hash: root }, preimages)
  }

  root(): Hash {
    if (this.#root === null) return EMPTY_ROOT
    return this.#root.kind === 'hashed' ? this.#root.hash : Hash.keccak(Rlp.encode(structure(this.#root)))
  }

  get(key: string): Uint8Array | null {
    let node = this.#root
    for (let rest = key; node !== null;) {
      const known = this.#known(node)
      if (known.kind === 'branch') {
        node = known.children[digitOf(rest)] ?? null
        rest = rest.slice(1)
      } else if (known.kind === 'leaf') {
        return known.path === rest ? known.value : null
      } else {
        node = rest.startsWith(known.path) ? known.child : null
        rest = rest.slice(known.path.length)
      }
    }
    return null
  }

  put(key: string, value: Uint8Array | null): PartialTrie {
    const root = value === null ? this.#without(this.#root, key) : this.#with(this.#root, key, value)
    return new PartialTrie(root, this.#preimages)
  }

  #with(at: Node | null, key: string, value: Uint8Array): Node {
    if (at === null) return { kind: 'leaf', path: key, value }
    const node = this.#known(at)
    if (node.kind === 'branch') {
      const child = node.children[digitOf(key)] ?? null
      return { kind: 'branch', children: node.children.with(digitOf(key), this.#with(child, key.slice(1), value)) }
    }
    const shared = sharedLength(node.path, key)
    if (node.kind === 'leaf' && shared === key.length) return { kind: 'leaf', path: key, value }
    if (node.kind === 'extension' && shared === node.path.length) {
      return { kind: 'extension', path: node.path, child: this.#with(node.child, key.slice(shared), value) }
    }
    const children = Array<Node | null>(16).fill(null)
    const rest = node.path.slice(shared + 1)
    children[digitOf(node.path.slice(shared))] = node.kind === 'leaf' ? { ...node, path: rest } : extended(rest, node.child)
    children[digitOf(key.slice(shared))] = { kind: 'leaf', path: key.slice(shared + 1), value }
    return extended(key.slice(0, shared), { kind: 'branch', children })
  }

  #without(at: Node | null, key: string): Node | null {
    if (at === null) return null
    const node = this.#known(at)
    if (node.kind === 'leaf') return node.path === key ? null : node
    if (node.kind === 'extension') {
      if (!key.startsWith(node.path)) return node
      const child = this.#without(node.child, key.slice(node.path.length))
      return child === null ? null : this.#joined(node.path, child)
    }
    const child = node.children[digitOf(key)] ?? null
    const children = node.children.with(digitOf(key), this.#without(child, key.slice(1)))
    const left = children.flatMap((one, index) => (one === null ? [] : [index]))
    if (left.length > 1) return { kind: 'branch', children }
    return this.#joined(left[0]!.toString(16), children[left[0]!]!)
  }

  /** Prepends `path` to a node: the child of an extension is always a branch. */
  #joined(path: string, child: Node): Node {
    const known = this.#known(child)
    return known.kind === 'branch' ? extended(path, known) : { ...known, path: path + known.path }
  }

  #known(node: Node): Exclude<Node, { kind: 'hashed' }> {
    if (node.kind !== 'hashed') return node
    const known = PartialTrie.#parsed.get(node)
    if (known !== undefined) return known
    const bytes = this.#preimages.get(node.hash)
    if (bytes === undefined) throw new Error(`the witness lacks node ${node.hash}`)
    const read = parsed(Rlp.decode(bytes))
    PartialTrie.#parsed.set(node, read)
    return read
  }
}

function parsed(item: RlpItem): Exclude<Node, { kind: 'hashed' }> {
  const items = listOf(item)
  if (items.length === 17) return { kind: 'branch', children: items.slice(0, 16).map(referenced) }
  const path = Hex.fromBytes(bytesOf(items[0]!)).slice(2)
  const flag = digitOf(path)
  const rest = path.slice(flag % 2 === 0 ? 2 : 1)
  if (flag >= 2) return { kind: 'leaf', path: rest, value: bytesOf(items[1]!) }
  return { kind: 'extension', path: rest, child: referenced(items[1]!)! }
}

function referenced(item: RlpItem): Node | null {
  if (!(item instanceof Uint8Array)) return parsed(item)
  return item.length === 0 ? null : { kind: 'hashed', hash: Hash.from(item) }
}

function structure(node: Exclude<Node, { kind: 'hashed' }>): RlpInput {
  if (node.kind === 'branch') return [...node.children.map(reference), new Uint8Array()]
  return [hexPrefix(node.path, node.kind === 'leaf' ? 2 : 0), node.kind === 'leaf' ? node.value : reference(node.child)]
}

function reference(node: Node | null): RlpInput {
  if (node === null) return new Uint8Array()
  if (node.kind === 'hashed') return node.hash
  const inline = structure(node)
  const bytes = Rlp.encode(inline)
  return bytes.length < 32 ? inline : Hash.keccak(bytes)
}

function extended(path: string, child: Node): Node {
  return path === '' ? child : { kind: 'extension', path, child }
}

function hexPrefix(path: string, flag: number): Hex {
  return path.length % 2 === 0 ? `0x${flag}0${path}` : `0x${flag + 1}${path}`
}

function sharedLength(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}

function digitOf(path: string): number {
  return Number.parseInt(path.charAt(0), 16)
}

/** Key of a secure trie: the nibbles of the hash. */
function digits(bytes: Uint8Array): string {
  return Hash.keccak(bytes).slice(2)
}

function bytesOf(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new Error('the witness holds a list where bytes belong')
}

function listOf(item: RlpItem): readonly RlpItem[] {
  if (!(item instanceof Uint8Array)) return item
  throw new Error('the witness holds bytes where a list belongs')
}
