import { EMPTY_ROOT, Hash, Hex, Rlp } from '../eth/index.ts'
import type { RlpInput } from '../eth/index.ts'

/**
 * A Merkle-Patricia trie (Yellow Paper, appendix D) as an immutable value: a change gives a new trie that shares every
 * untouched node with the old one. Values stay what they are and are encoded when a root or a proof is asked for; a node
 * remembers its hash, so a root costs the changed paths and nothing else.
 *
 * Keys are lower-case hex, a digit per step. A secure trie's caller hashes first: `Hash.keccak(bytes)`.
 */
export class Trie<V> {
  readonly #root: Node<V> | null
  readonly #encode: Encode<V>

  private constructor(root: Node<V> | null, encode: Encode<V>) {
    this.#root = root
    this.#encode = encode
  }

  /** `encode` gives the bytes that the trie commits to: never none, and always the same for the same value. */
  static empty<V>(encode: Encode<V>): Trie<V> {
    return new Trie(null, encode)
  }

  /** The root of the trie whose keys are the RLP of 0, 1, 2…: transactions, receipts, withdrawals. */
  static orderedRoot(values: readonly Uint8Array[]): Hash {
    return LIST.update(values.map((value, index) => [Hex.fromBytes(Rlp.encode(index)), value] as const)).rootHash()
  }

  /** Sets the value of a key; null deletes it. Answers this same trie when nothing changes. */
  put(key: Hex, value: V | null): Trie<V> {
    return this.#with(put(this.#root, key, 0, value))
  }

  /** All entries in turn: of two for one key the later one stands. */
  update(entries: Iterable<readonly [Hex, V | null]>): Trie<V> {
    let root = this.#root
    for (const [key, value] of entries) root = put(root, key, 0, value)
    return this.#with(root)
  }

  rootHash(): Hash {
    if (this.#root === null) return EMPTY_ROOT
    const reference = refer(this.#root, 0, this.#encode)
    return typeof reference === 'string' ? reference : Hash.keccak(reference.encoded)
  }

  /**
   * The nodes from the root towards `key`, each as RLP, as far as that path exists: they prove the value of the key or its
   * absence. A node that stands inside its parent is not repeated. An empty trie proves everything with no node.
   */
  prove(key: Hex): Uint8Array[] {
    const proof: Uint8Array[] = []
    let step: Step<V> | null = this.#root === null ? null : { node: this.#root, depth: 0 }
    for (; step !== null; step = follow(step, key)) {
      const bytes = encodeNode(step.node, step.depth, this.#encode)
      if (step.depth === 0 || bytes.length >= HASHED_BYTES) proof.push(bytes)
    }
    return proof
  }

  #with(root: Node<V> | null): Trie<V> {
    return root === this.#root ? this : new Trie(root, this.#encode)
  }
}

type Encode<V> = (value: V) => Uint8Array

/**
 * Nodes hold whole keys instead of cut paths: a node's depth is known on the way down to it, and one string serves a leaf,
 * the extensions above it and whoever asked. So a node stands at one depth only; `lead` copies it when it moves.
 */
type Node<V> = Leaf<V> | Extension<V> | Branch<V>

interface Leaf<V> {
  readonly kind: 'leaf'
  readonly key: Hex
  readonly value: V
  reference: Reference | null
}

/** Leads to the branch at depth `end`; `key` is that of some leaf, and right up to there. */
interface Extension<V> {
  readonly kind: 'extension'
  readonly key: Hex
  readonly end: number
  readonly child: Branch<V>
  reference: Reference | null
}

/** A child for each digit, then the leaf whose key ends here. At least two of them are there. */
interface Branch<V> {
  readonly kind: 'branch'
  readonly children: readonly (Node<V> | null)[]
  reference: Reference | null
}

/**
 * What a parent writes for a node: its hash or, when that is shorter, the node itself. Kept as a string because V8 spends
 * 88 bytes on a hash in hex, and 232 on an Uint8Array of 32 bytes.
 */
type Reference = Hash | { readonly encoded: Uint8Array }

/** A node this long is referred to by its hash. */
const HASHED_BYTES = 32
/** The digit after the last one of a key. */
const END = 16
const LIST = Trie.empty((value: Uint8Array) => value)

function put<V>(node: Node<V> | null, key: Hex, depth: number, value: V | null): Node<V> | null {
  if (node === null) return value === null ? null : leaf(key, value)
  return node.kind === 'branch' ? putBelow(node, key, depth, value) : putAlong(node, key, depth, value)
}

function putBelow<V>(node: Branch<V>, key: Hex, depth: number, value: V | null): Node<V> {
  const index = digit(key, depth)
  const before = childAt(node, index)
  const after = put(before, key, depth + 1, value)
  if (after === before) return node
  const children = node.children.slice()
  children[index] = after
  return after === null ? collapse(children, depth) : branch(children)
}

/** The key runs along a leaf or an extension to its end, or forks off before. */
function putAlong<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, value: V | null): Node<V> | null {
  const end = node.kind === 'leaf' ? pathEnd(node.key) : node.end
  const fork = divergence(node.key, key, depth, end)
  if (fork < end) return value === null ? node : split(node, key, depth, fork, value)
  return node.kind === 'leaf' ? replace(node, value) : putBehind(node, key, depth, value)
}

function replace<V>(node: Leaf<V>, value: V | null): Leaf<V> | null {
  if (value === null) return null
  return value === node.value ? node : leaf(node.key, value)
}

function putBehind<V>(node: Extension<V>, key: Hex, depth: number, value: V | null): Node<V> {
  const child = putBelow(node.child, key, node.end, value)
  return child === node.child ? node : lead(child, depth, node.end)
}

function split<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, fork: number, value: V): Node<V> {
  const children = new Array<Node<V> | null>(END + 1).fill(null)
  children[digit(node.key, fork)] = node.kind === 'leaf' ? leaf(node.key, node.value) : lead(node.child, fork + 1, node.end)
  children[digit(key, fork)] = leaf(key, value)
  return lead(branch(children), depth, fork)
}

/** A branch with a single child left is no branch. */
function collapse<V>(children: readonly (Node<V> | null)[], depth: number): Node<V> {
  const [first, second] = children.filter((child) => child !== null)
  return first !== undefined && second === undefined ? lead(first, depth, depth + 1) : branch(children)
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

function leaf<V>(key: Hex, value: V): Leaf<V> {
  return { kind: 'leaf', key, value, reference: null }
}

function extension<V>(key: Hex, end: number, child: Branch<V>): Extension<V> {
  return { kind: 'extension', key, end, child, reference: null }
}

function branch<V>(children: readonly (Node<V> | null)[]): Branch<V> {
  return { kind: 'branch', children, reference: null }
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

function digit(key: Hex, depth: number): number {
  if (depth + 2 >= key.length) return END
  const code = key.charCodeAt(depth + 2)
  return code <= 0x39 ? code - 0x30 : code - 0x57
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

function refer<V>(node: Node<V>, depth: number, encode: Encode<V>): Reference {
  return (node.reference ??= makeReference(encodeNode(node, depth, encode)))
}

function makeReference(encoded: Uint8Array): Reference {
  return encoded.length < HASHED_BYTES ? { encoded } : Hash.keccak(encoded)
}

function encodeNode<V>(node: Node<V>, depth: number, encode: Encode<V>): Uint8Array {
  if (node.kind === 'leaf') return Rlp.encode([path(LEAF_FLAGS, node.key, depth, node.key.length - 2), encode(node.value)])
  if (node.kind === 'branch') return encodeBranch(node, depth, encode)
  return Rlp.encode([path(EXTENSION_FLAGS, node.key, depth, node.end), refer(node.child, node.end, encode)])
}

function encodeBranch<V>(node: Branch<V>, depth: number, encode: Encode<V>): Uint8Array {
  const items = node.children.map((child, index): RlpInput => {
    if (child === null) return '0x'
    // At the end mark stands a leaf without a path of its own: just its value.
    return index === END && child.kind === 'leaf' ? encode(child.value) : refer(child, depth + 1, encode)
  })
  return Rlp.encode(items)
}

/** What a path begins with, when its length is even and when it is odd. */
const EXTENSION_FLAGS = ['00', '1'] as const
const LEAF_FLAGS = ['20', '3'] as const

/** Hex-prefix encoding (appendix C). */
function path(flags: readonly [string, string], key: Hex, from: number, to: number): Hex {
  return `0x${(to - from) % 2 === 0 ? flags[0] : flags[1]}${key.slice(from + 2, to + 2)}`
}
