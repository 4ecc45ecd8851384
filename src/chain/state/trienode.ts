import { KeccakPad } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'

/**
 * A trie node. It holds a whole key instead of a path segment: its depth is known during descent, and one string serves the leaf, its
 * extensions and the caller. A node is therefore valid at one depth only and is copied when it moves.
 */
export type Node<V> = Leaf<V> | Extension<V> | Branch<V>

export interface Leaf<V> {
  readonly kind: 'leaf'
  readonly key: Hex
  readonly value: V
}

/** Leads to the branch at depth `end`; `key` is the key of some leaf below, valid up to there. */
export interface Extension<V> {
  readonly kind: 'extension'
  readonly key: Hex
  readonly end: number
  readonly child: Branch<V>
}

/**
 * A child per digit, then the leaf whose key ends here; at least two are present. It caches the references of its children, so that only
 * changed children are visited: the others would be cache misses.
 * A reference is the node's hash, or the encoded node itself if shorter than 32 bytes, whose first byte gives its length. Both are stored
 * as eight 32-bit words: V8 needs 64 bytes for them in a number array, 232 in a Uint8Array.
 */
export interface Branch<V> {
  readonly kind: 'branch'
  /** Only this owner may change the branch in place. */
  readonly owner: Owner
  readonly children: Children<V>
  /** References of the present children, in order. */
  words: number[]
  /** Bit mask of the present children. */
  present: number
  /** Bit mask of the children whose reference is the encoded node. */
  short: number
  /** Bit mask of the children whose cached reference is missing or outdated. */
  stale: number
}

type Children<V> = (Node<V> | null)[]

/** Identity of a trie at one time; nodes created for it are in no other trie. */
export type Owner = object

/** Returns the bytes of a value; valid until the next call. */
export type Encode<V> = (value: V) => Uint8Array

/** Encoded nodes of at least this length are referenced by hash. */
export const HASHED_BYTES = 32
/** The digit after a key's last one. */
export const END = 16

export function leaf<V>(key: Hex, value: V): Leaf<V> {
  return { kind: 'leaf', key, value }
}

export function extension<V>(key: Hex, end: number, child: Branch<V>): Extension<V> {
  return { kind: 'extension', key, end, child }
}

export function branch<V>(children: Children<V>, owner: Owner): Branch<V> {
  return { kind: 'branch', owner, children, words: [], present: 0, short: 0, stale: ALL }
}

/** Returns a branch that `owner` may change in place: the node itself if it is the owner's, else a copy. */
export function ownBranch<V>(node: Branch<V>, owner: Owner): Branch<V> {
  if (node.owner === owner) return node
  const { children, words, present, short, stale } = node
  return { kind: 'branch', owner, children: children.slice(), words: words.slice(), present, short, stale }
}

/** Sets a child, or marks a child that was changed in place. */
export function setChild<V>(node: Branch<V>, index: number, child: Node<V> | null): void {
  node.children[index] = child
  node.stale |= 1 << index
}

const ALL = 0xffff

export function digit(key: Hex, depth: number): number {
  if (depth + 2 >= key.length) return END
  const code = key.charCodeAt(depth + 2)
  return (code & 15) + 9 * (code >>> 6) // without a conditional: the digits of a hash are unpredictable
}

/** Returns the root node's hash: 32 bytes. */
export function hashRoot<V>(root: Node<V>, encode: Encode<V>): Uint8Array {
  writeNode(root, 0, encode)
  KeccakPad.hash(start, end)
  return pad.slice(KeccakPad.digest, KeccakPad.digest + HASHED_BYTES)
}

/** Returns the node's RLP; valid until the next hash. */
export function encodeNode<V>(node: Node<V>, depth: number, encode: Encode<V>): Uint8Array {
  writeNode(node, depth, encode)
  return pad.subarray(start, end)
}

// Nodes are encoded in the hash function's input buffer, after space for the list header, which is filled in last. Values and children are
// encoded before the node's first byte is written, because they use the same buffer.

/** Longest header of a list or string. */
const HEAD_BYTES = 9
/** Offset of a node's content. */
const CONTENT = KeccakPad.start + HEAD_BYTES
/** Size of the largest branch without a value, with headers. */
const BRANCH_BYTES = 1_024
let pad = KeccakPad.reserve(BRANCH_BYTES)
let view = new DataView(pad.buffer)
let start = CONTENT
let end = CONTENT

function writeNode<V>(node: Node<V>, depth: number, encode: Encode<V>): void {
  if (node.kind === 'leaf') writeLeaf(node, depth, encode(node.value))
  else if (node.kind === 'branch') writeBranch(node, depth, encode)
  else writeExtension(node, depth, encode)
  writeListHead()
}

function writeLeaf<V>(node: Leaf<V>, depth: number, value: Uint8Array): void {
  begin(node.key.length + value.length)
  writePath(2, node.key, depth, node.key.length - 2)
  writeString(value)
}

function writeExtension<V>(node: Extension<V>, depth: number, encode: Encode<V>): void {
  const words = Array<number>(REFERENCE_WORDS)
  const isShort = storeReference(node.child, node.end, encode, words, 0)
  begin(node.key.length)
  writePath(0, node.key, depth, node.end)
  writeReference(words, 0, isShort)
}

function writeBranch<V>(node: Branch<V>, depth: number, encode: Encode<V>): void {
  updateReferences(node, depth, encode)
  const { words, present, short } = node
  // The end mark holds a leaf with an empty path, which is encoded as its value.
  const ending = node.children[END]!
  const value = ending?.kind === 'leaf' ? encode(ending.value) : EMPTY
  begin(value.length)
  for (let bit = 1, from = 0; bit <= ALL; bit <<= 1) {
    if ((present & bit) === 0) pad[end++] = NO_CHILD
    else {
      writeReference(words, from, (short & bit) !== 0)
      from += REFERENCE_WORDS
    }
  }
  writeString(value)
}

const EMPTY = new Uint8Array()
/** The empty string in RLP. */
const NO_CHILD = 0x80
const REFERENCE_WORDS = 8

/** Updates the references of stale children. Nearly always one or two are stale, so only those are visited. */
function updateReferences<V>(node: Branch<V>, depth: number, encode: Encode<V>): void {
  if (node.stale === 0) return
  resizeReferences(node, presentOf(node))
  const { children, words, present, stale } = node
  let short = node.short & ~stale
  for (let rest = stale & present; rest !== 0; rest &= rest - 1) {
    const bit = rest & -rest
    const to = REFERENCE_WORDS * popCount(present & (bit - 1))
    if (storeReference(children[31 - Math.clz32(bit)]!, depth + 1, encode, words, to)) short |= bit
  }
  node.short = short
  node.stale = 0
}

/** Returns the mask of the present children. Only stale ones may have been added or removed since `present` was computed. */
function presentOf<V>({ children, present, stale }: Branch<V>): number {
  let mask = present
  for (let rest = stale & ALL; rest !== 0; rest &= rest - 1) {
    const bit = rest & -rest
    mask = children[31 - Math.clz32(bit)] === null ? mask & ~bit : mask | bit
  }
  return mask
}

/** Makes room for exactly the wanted children and keeps the references of those that remain. */
function resizeReferences<V>(node: Branch<V>, wanted: number): void {
  const { words, present } = node
  if (wanted === present) return
  const moved = Array<number>(REFERENCE_WORDS * popCount(wanted)).fill(0)
  for (let index = 0, from = 0, to = 0; index < END; index++) {
    const bit = 1 << index
    if ((present & wanted & bit) !== 0) for (let word = 0; word < REFERENCE_WORDS; word++) moved[to + word] = words[from + word]!
    if ((present & bit) !== 0) from += REFERENCE_WORDS
    if ((wanted & bit) !== 0) to += REFERENCE_WORDS
  }
  node.words = moved
  node.present = wanted
  node.short &= wanted
}

/** Number of bits in a mask of 16. */
function popCount(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x5555)
  const nibbles = (pairs & 0x3333) + ((pairs >>> 2) & 0x3333)
  const bytes = (nibbles + (nibbles >>> 4)) & 0x0f0f
  return (bytes + (bytes >>> 8)) & 0x1f
}

/** Writes a node's reference to words[to]… and returns true if it is the encoded node. */
function storeReference<V>(node: Node<V>, depth: number, encode: Encode<V>, words: number[], to: number): boolean {
  writeNode(node, depth, encode)
  const isShort = end - start < HASHED_BYTES
  if (!isShort) KeccakPad.hash(start, end)
  const from = isShort ? start : KeccakPad.digest
  for (let word = 0; word < REFERENCE_WORDS; word++) words[to + word] = view.getInt32(from + 4 * word, true)
  return isShort
}

function writeReference(words: readonly number[], from: number, isShort: boolean): void {
  if (!isShort) pad[end++] = NO_CHILD + HASHED_BYTES
  for (let word = 0; word < REFERENCE_WORDS; word++) view.setInt32(end + 4 * word, words[from + word]!, true)
  end += isShort ? pad[end]! - LIST_HEAD + 1 : HASHED_BYTES
}

const LIST_HEAD = 0xc0

/** Starts a node; `sizeBytes` is the size of its content without headers and references. */
function begin(sizeBytes: number): void {
  const memory = KeccakPad.reserve(sizeBytes + BRANCH_BYTES)
  if (memory !== pad) {
    pad = memory
    view = new DataView(memory.buffer)
  }
  end = CONTENT
}

/** Hex-prefix encoding (Yellow Paper, appendix C); `flag` is 2 for a leaf. */
function writePath(flag: 0 | 2, key: Hex, from: number, to: number): void {
  const isOdd = (to - from) % 2
  const sizeBytes = 1 + (to - from - isOdd) / 2
  if (sizeBytes > 1) writeStringHead(sizeBytes)
  pad[end++] = isOdd === 1 ? ((flag + 1) << 4) | digit(key, from) : flag << 4
  for (let depth = from + isOdd; depth < to; depth += 2) pad[end++] = (digit(key, depth) << 4) | digit(key, depth + 1)
}

function writeString(bytes: Uint8Array): void {
  if (bytes.length !== 1 || bytes[0]! >= 0x80) writeStringHead(bytes.length)
  pad.set(bytes, end)
  end += bytes.length
}

function writeStringHead(sizeBytes: number): void {
  if (sizeBytes < 56) {
    pad[end++] = 0x80 + sizeBytes
    return
  }
  const digits = Math.ceil((32 - Math.clz32(sizeBytes)) / 8)
  pad[end++] = 0xb7 + digits
  for (let shift = 8 * (digits - 1); shift >= 0; shift -= 8) pad[end++] = sizeBytes >>> shift
}

/** Writes the header before the content. */
function writeListHead(): void {
  const sizeBytes = end - CONTENT
  start = CONTENT
  if (sizeBytes < 56) pad[--start] = LIST_HEAD + sizeBytes
  else {
    for (let rest = sizeBytes; rest > 0; rest >>>= 8) pad[--start] = rest
    pad[start - 1] = 0xf7 + CONTENT - start
    start--
  }
}
