import { EMPTY_ROOT, Hash, Hex, Rlp } from '../../eth/index.ts'
import { branch, digit, encodeNode, END, extension, HASHED_BYTES, hashRoot, leaf, ownBranch, setChild } from './trienode.ts'
import type { Branch, Encode, Extension, Leaf, Node, Owner } from './trienode.ts'

/**
 * A Merkle-Patricia trie (Yellow Paper, appendix D): `put` and `update` give a new one that shares every untouched node with
 * the old one, `set` is for whoever needs the old one no more. Values stay what they are and are encoded when a root or a
 * proof is asked for; a branch remembers the hashes of its children, so a root costs the changed paths and nothing else.
 *
 * Keys are lower-case hex, a digit per step. A secure trie's caller hashes first: `Hash.keccak(bytes)`.
 */
export class Trie<V> {
  #root: Node<V> | null
  readonly #encode: Encode<V>
  /** of the branches that are in no other trie */
  #owner: Owner
  #hash: Uint8Array | null = null

  private constructor(root: Node<V> | null, encode: Encode<V>, owner: Owner) {
    this.#root = root
    this.#encode = encode
    this.#owner = owner
  }

  /** `encode` gives the bytes that the trie commits to: never none, and always the same for the same value. */
  static empty<V>(encode: Encode<V>): Trie<V> {
    return new Trie(null, encode, {})
  }

  /** The root of the trie whose keys are the RLP of 0, 1, 2…: transactions, receipts, withdrawals. */
  static orderedRoot(values: readonly Uint8Array[]): Hash {
    const list = new OrderedTrie(itself)
    for (const value of values) list.push(value)
    return list.rootHash()
  }

  /** Sets the value of a key; null deletes it. Answers this same trie when nothing changes. */
  put(key: Hex, value: V | null): Trie<V> {
    return this.update([[key, value]])
  }

  /** All entries in turn: of two for one key the later one stands. */
  update(entries: Iterable<readonly [Hex, V | null]>): Trie<V> {
    const owner = {}
    let root = this.#root
    for (const [key, value] of entries) root = put(root, key, 0, value, owner)
    if (root === this.#root) return this
    // From now on the two share nodes, which neither may change where they stand.
    this.#owner = {}
    return new Trie(root, this.#encode, owner)
  }

  /**
   * As `put`, for whoever holds this trie alone and goes on with the answer: branches are changed where they stand, which saves a copy of
   * every branch on the way (a kilobyte each). Other tries that `put` or `update` made of this one stay as they are.
   */
  set(key: Hex, value: V | null): Trie<V> {
    if (this.#root === null) return this.put(key, value)
    this.#root = put(this.#root, key, 0, value, this.#owner)
    this.#hash = null
    return this
  }

  rootHash(): Hash {
    return this.#root === null ? EMPTY_ROOT : Hash.from(this.rootBytes())
  }

  /** The root hash as 32 bytes, for what goes into another trie; the same ones each time. */
  rootBytes(): Uint8Array {
    return (this.#hash ??= this.#root === null ? EMPTY_ROOT_BYTES : hashRoot(this.#root, this.#encode))
  }

  /**
   * The nodes from the root towards `key`, each as RLP, as far as that path exists: they prove the value of the key or its
   * absence. A node that stands inside its parent is not repeated. An empty trie proves everything with no node.
   */
  prove(key: Hex): Uint8Array[] {
    const proof: Uint8Array[] = []
    let step: Step<V> | null = this.#root === null ? null : { node: this.#root, depth: 0 }
    for (; step !== null; step = follow(step, key)) {
      const bytes = encodeNode(step.node, step.depth, this.#encode).slice()
      if (step.depth === 0 || bytes.length >= HASHED_BYTES) proof.push(bytes)
    }
    return proof
  }
}

/** A list as a trie that grows: a root costs what is new since the last one. */
export class OrderedTrie<V> {
  #trie: Trie<V>
  #size = 0

  /** `encode` as for any trie. */
  constructor(encode: Encode<V>) {
    this.#trie = Trie.empty(encode)
  }

  get size(): number {
    return this.#size
  }

  push(value: V): void {
    this.#trie = this.#trie.set(Hex.fromBytes(Rlp.encode(this.#size++)), value)
  }

  rootHash(): Hash {
    return this.#trie.rootHash()
  }
}

const EMPTY_ROOT_BYTES = Hash.toBytes(EMPTY_ROOT)

function itself(bytes: Uint8Array): Uint8Array {
  return bytes
}

/** The node that takes the place of `node`: it may be itself, changed, when it is the owner's. */
function put<V>(node: Node<V> | null, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> | null {
  if (node === null) return value === null ? null : leaf(key, value)
  return node.kind === 'branch' ? putBelow(node, key, depth, value, owner) : putAlong(node, key, depth, value, owner)
}

function putBelow<V>(node: Branch<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> {
  const index = digit(key, depth)
  const before = childAt(node, index)
  const after = put(before, key, depth + 1, value, owner)
  // What is still the same node may have changed where it stands, unless it is a leaf or this branch is not the owner's.
  if (after === before && (node.owner !== owner || before === null || before.kind === 'leaf')) return node
  const changed = ownBranch(node, owner)
  setChild(changed, index, after)
  return (after === null ? onlyChild(changed.children, depth) : null) ?? changed
}

/** The key runs along a leaf or an extension to its end, or forks off before. */
function putAlong<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> | null {
  const end = node.kind === 'leaf' ? pathEnd(node.key) : node.end
  // The same text, nearly always, and so the answer at once: looking at its digits was a third of what a put takes.
  const fork = node.key === key ? end : divergence(node.key, key, depth, end)
  if (fork < end) return value === null ? node : split(node, key, depth, fork, value, owner)
  return node.kind === 'leaf' ? replace(node, value) : putBehind(node, key, depth, value, owner)
}

function replace<V>(node: Leaf<V>, value: V | null): Leaf<V> | null {
  if (value === null) return null
  return value === node.value ? node : leaf(node.key, value)
}

function putBehind<V>(node: Extension<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> {
  const child = putBelow(node.child, key, node.end, value, owner)
  return child === node.child ? node : lead(child, depth, node.end)
}

function split<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, fork: number, value: V, owner: Owner): Node<V> {
  const children: (Node<V> | null)[] = CHILDLESS.slice()
  children[digit(node.key, fork)] = node.kind === 'leaf' ? leaf(node.key, node.value) : lead(node.child, fork + 1, node.end)
  children[digit(key, fork)] = leaf(key, value)
  return lead(branch(children, owner), depth, fork)
}

const CHILDLESS: readonly null[] = Array.from({ length: END + 1 }, () => null)

/** A branch with a single child left is no branch: what stands in its place, else null. */
function onlyChild<V>(children: readonly (Node<V> | null)[], depth: number): Node<V> | null {
  const [first, second] = children.filter((child) => child !== null)
  return first !== undefined && second === undefined ? lead(first, depth, depth + 1) : null
}

/** The node for depth `from` that leads to `node`, which stood at depth `to`. */
function lead<V>(node: Node<V>, from: number, to: number): Node<V> {
  if (from === to) return node
  if (node.kind === 'leaf') return leaf(node.key, node.value)
  return node.kind === 'extension' ? extension(node.key, node.end, node.child) : extension(keyBelow(node), to, node)
}

function keyBelow<V>(node: Node<V>): Hex {
  let below = node
  while (below.kind === 'branch') below = below.children.find((child) => child !== null)!
  return below.key
}

function childAt<V>(node: Branch<V>, index: number): Node<V> | null {
  return node.children[index] ?? null
}

interface Step<V> {
  readonly node: Node<V>
  readonly depth: number
}

/** The next node towards `key`, or null where the path ends. */
function follow<V>({ node, depth }: Step<V>, key: Hex): Step<V> | null {
  if (node.kind === 'leaf') return null
  if (node.kind === 'extension') {
    return divergence(node.key, key, depth, node.end) === node.end ? { node: node.child, depth: node.end } : null
  }
  const index = digit(key, depth)
  const child = index === END ? null : childAt(node, index)
  return child === null ? null : { node: child, depth: depth + 1 }
}

/** Past the end mark, so that a key which only begins like a longer one forks off there. */
function pathEnd(key: Hex): number {
  return key.length - 1
}

/** The first depth in from…to at which two keys differ, or `to`. */
function divergence(a: Hex, b: Hex, from: number, to: number): number {
  let depth = from
  while (depth < to && digit(a, depth) === digit(b, depth)) depth++
  return depth
}
