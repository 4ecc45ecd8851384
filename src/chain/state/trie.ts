import { EMPTY_ROOT, Hash, Hex, Rlp } from '../../eth/index.ts'
import { branch, digit, encodeNode, END, extension, HASHED_BYTES, hashRoot, leaf, ownBranch, setChild } from './trienode.ts'
import type { Branch, Encode, Extension, Leaf, Node, Owner } from './trienode.ts'

/**
 * A Merkle-Patricia trie (Yellow Paper, appendix D). `put` and `update` return a new trie that shares unchanged nodes with the old one;
 * `putInPlace` changes nodes that no other trie shares. Values are encoded when a root or proof is computed. Branches cache their
 * children's hashes, so a root costs only the changed paths.
 * Keys are lower-case hex, one digit per level. For a secure trie the caller hashes the key: `Hash.keccak(bytes)`.
 */
export class Trie<V> {
  #root: Node<V> | null
  readonly #encode: Encode<V>
  /** Marks the branches that only this trie uses. */
  #owner: Owner
  #hash: Uint8Array | null = null
  /** `#hash` as text. */
  #hashText: Hash | null = null

  private constructor(root: Node<V> | null, encode: Encode<V>, owner: Owner) {
    this.#root = root
    this.#encode = encode
    this.#owner = owner
  }

  /** `encode` returns the bytes that the trie commits to: never empty, and equal for the same value. */
  static empty<V>(encode: Encode<V>): Trie<V> {
    return new Trie(null, encode, {})
  }

  /** Returns the root of a trie keyed by the RLP of 0, 1, 2…: transactions, receipts, withdrawals. */
  static orderedRoot(values: readonly Uint8Array[]): Hash {
    const list = new OrderedTrie(identity)
    for (const value of values) list.push(value)
    return list.rootHash()
  }

  /** Sets a key's value; `null` deletes it. Returns this trie when nothing changes. */
  put(key: Hex, value: V | null): Trie<V> {
    return this.update([[key, value]])
  }

  /** Applies entries in order; a later entry for the same key wins. */
  update(entries: Iterable<readonly [Hex, V | null]>): Trie<V> {
    const owner = {}
    let root = this.#root
    for (const [key, value] of entries) root = put(root, key, 0, value, owner)
    if (root === this.#root) return this
    // Both tries now share nodes, so neither may change them in place.
    this.#owner = {}
    return new Trie(root, this.#encode, owner)
  }

  /**
   * Same as `put`, but changes this trie's own branches in place, which saves copying each branch on the path (a kilobyte each). The caller
   * must use only the returned trie. Tries that `put` or `update` derived from this one stay unchanged.
   */
  putInPlace(key: Hex, value: V | null): Trie<V> {
    if (this.#root === null) return this.put(key, value)
    this.#root = put(this.#root, key, 0, value, this.#owner)
    this.#hash = null
    this.#hashText = null
    return this
  }

  /** Cached, like `rootBytes`. */
  rootHash(): Hash {
    return (this.#hashText ??= this.#root === null ? EMPTY_ROOT : Hash.from(this.rootBytes()))
  }

  /** Returns the root hash as 32 bytes. */
  rootBytes(): Uint8Array {
    return (this.#hash ??= this.#root === null ? EMPTY_ROOT_BYTES : hashRoot(this.#root, this.#encode))
  }

  /**
   * Returns the RLP nodes from the root towards `key`, up to the end of the path; they prove its value or its absence. A node embedded in
   * its parent is not repeated. Empty for an empty trie.
   */
  prove(key: Hex): Uint8Array[] {
    const proof: Uint8Array[] = []
    let step: Step<V> | null = this.#root === null ? null : { node: this.#root, depth: 0 }
    for (; step !== null; step = nextStep(step, key)) {
      const bytes = encodeNode(step.node, step.depth, this.#encode).slice()
      if (step.depth === 0 || bytes.length >= HASHED_BYTES) proof.push(bytes)
    }
    return proof
  }
}

/** A list as a trie that grows; computing a root costs only the entries added since the last one. */
export class OrderedTrie<V> {
  #trie: Trie<V>
  #size = 0

  /** `encode` as in `Trie.empty`. */
  constructor(encode: Encode<V>) {
    this.#trie = Trie.empty(encode)
  }

  get size(): number {
    return this.#size
  }

  push(value: V): void {
    this.#trie = this.#trie.putInPlace(orderedKey(this.#size++), value)
  }

  rootHash(): Hash {
    return this.#trie.rootHash()
  }
}

/** Keys by index; at most as many as the largest block has transactions. */
const orderedKeys: Hex[] = []

function orderedKey(index: number): Hex {
  return (orderedKeys[index] ??= Hex.fromBytes(Rlp.encode(index)))
}

const EMPTY_ROOT_BYTES = Hash.toBytes(EMPTY_ROOT)

function identity(bytes: Uint8Array): Uint8Array {
  return bytes
}

/** Returns the node that replaces `node`: the same object if it was changed in place. */
function put<V>(node: Node<V> | null, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> | null {
  if (node === null) return value === null ? null : leaf(key, value)
  return node.kind === 'branch' ? putInBranch(node, key, depth, value, owner) : putOnPath(node, key, depth, value, owner)
}

function putInBranch<V>(node: Branch<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> {
  const index = digit(key, depth)
  const before = childAt(node, index)
  const after = put(before, key, depth + 1, value, owner)
  // An unchanged reference may have been modified in place, except a leaf or a child of a branch with another owner.
  if (after === before && (node.owner !== owner || before === null || before.kind === 'leaf')) return node
  const changed = ownBranch(node, owner)
  setChild(changed, index, after)
  return (after === null ? onlyChild(changed.children, depth) : null) ?? changed
}

/** The key follows a leaf or extension to its end, or diverges before. */
function putOnPath<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> | null {
  const end = node.kind === 'leaf' ? pathEnd(node.key) : node.end
  // Nearly always the same string; comparing its digits took a third of a put.
  const fork = node.key === key ? end : divergence(node.key, key, depth, end)
  if (fork < end) return value === null ? node : split(node, key, depth, fork, value, owner)
  return node.kind === 'leaf' ? replace(node, value) : putInExtension(node, key, depth, value, owner)
}

function replace<V>(node: Leaf<V>, value: V | null): Leaf<V> | null {
  if (value === null) return null
  return value === node.value ? node : leaf(node.key, value)
}

function putInExtension<V>(node: Extension<V>, key: Hex, depth: number, value: V | null, owner: Owner): Node<V> {
  const child = putInBranch(node.child, key, node.end, value, owner)
  return child === node.child ? node : withPrefix(child, depth, node.end)
}

function split<V>(node: Leaf<V> | Extension<V>, key: Hex, depth: number, fork: number, value: V, owner: Owner): Node<V> {
  const children: (Node<V> | null)[] = NO_CHILDREN.slice()
  children[digit(node.key, fork)] = node.kind === 'leaf' ? leaf(node.key, node.value) : withPrefix(node.child, fork + 1, node.end)
  children[digit(key, fork)] = leaf(key, value)
  return withPrefix(branch(children, owner), depth, fork)
}

const NO_CHILDREN: readonly null[] = Array.from({ length: END + 1 }, () => null)

/** A branch with one child left collapses into that child; otherwise `null`. */
function onlyChild<V>(children: readonly (Node<V> | null)[], depth: number): Node<V> | null {
  const [first, second] = children.filter((child) => child !== null)
  return first !== undefined && second === undefined ? withPrefix(first, depth, depth + 1) : null
}

/** Returns the node at depth `from` that leads to `node`, which was at depth `to`. */
function withPrefix<V>(node: Node<V>, from: number, to: number): Node<V> {
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

/** Returns the next node towards `key`, or `null` where the path ends. */
function nextStep<V>({ node, depth }: Step<V>, key: Hex): Step<V> | null {
  if (node.kind === 'leaf') return null
  if (node.kind === 'extension') {
    return divergence(node.key, key, depth, node.end) === node.end ? { node: node.child, depth: node.end } : null
  }
  const index = digit(key, depth)
  const child = index === END ? null : childAt(node, index)
  return child === null ? null : { node: child, depth: depth + 1 }
}

/** One past the end mark, so that a key that is a prefix of a longer one diverges there. */
function pathEnd(key: Hex): number {
  return key.length - 1
}

/** Returns the first depth in from…to at which two keys differ, or `to`. */
function divergence(a: Hex, b: Hex, from: number, to: number): number {
  let depth = from
  while (depth < to && digit(a, depth) === digit(b, depth)) depth++
  return depth
}
