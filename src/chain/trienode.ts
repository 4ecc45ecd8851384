import { keccak256 } from '../eth/index.ts'
import type { Hex } from '../eth/index.ts'

/**
 * A node of a trie. It holds a whole key instead of a cut path: its depth is known on the way down to it, and one string
 * serves a leaf, the extensions above it and whoever asked. So a node stands at one depth only and is copied when it moves.
 */
export type Node<V> = Leaf<V> | Extension<V> | Branch<V>

export interface Leaf<V> {
  readonly kind: 'leaf'
  readonly key: Hex
  readonly value: V
  reference: Reference | null
}

/** Leads to the branch at depth `end`; `key` is that of some leaf, and right up to there. */
export interface Extension<V> {
  readonly kind: 'extension'
  readonly key: Hex
  readonly end: number
  readonly child: Branch<V>
  reference: Reference | null
}

/** A child for each digit, then the leaf whose key ends here. At least two of them are there. */
export interface Branch<V> {
  readonly kind: 'branch'
  readonly children: readonly (Node<V> | null)[]
  reference: Reference | null
}

/** The bytes that a value commits to. */
export type Encode<V> = (value: V) => Uint8Array

/**
 * What a parent writes for a node: its hash or, when that is shorter, the node itself. A character is a byte: V8 spends
 * 48 bytes on such a string of 32, 88 on the hash in hex, 232 on an Uint8Array; and a full branch is written twice as fast
 * as from hex.
 */
type Reference = string

/** A node this long is referred to by its hash. */
export const HASHED_BYTES = 32
/** The digit after the last one of a key. */
export const END = 16

export function leaf<V>(key: Hex, value: V): Leaf<V> {
  return { kind: 'leaf', key, value, reference: null }
}

export function extension<V>(key: Hex, end: number, child: Branch<V>): Extension<V> {
  return { kind: 'extension', key, end, child, reference: null }
}

export function branch<V>(children: readonly (Node<V> | null)[]): Branch<V> {
  return { kind: 'branch', children, reference: null }
}

export function digit(key: Hex, depth: number): number {
  if (depth + 2 >= key.length) return END
  const code = key.charCodeAt(depth + 2)
  return code <= 0x39 ? code - 0x30 : code - 0x57
}

/** The hash of the root node: 32 bytes. */
export function hashRoot<V>(root: Node<V>, encode: Encode<V>): Uint8Array {
  const reference = refer(root, 0, encode)
  const bytes = new Uint8Array(reference.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = reference.charCodeAt(index)
  return bytes.length === HASHED_BYTES ? bytes : keccak256(bytes)
}

/** The node's RLP, valid until the next node is encoded. */
export function encodeNode<V>(node: Node<V>, depth: number, encode: Encode<V>): Uint8Array {
  if (node.kind === 'leaf') encodeLeaf(node, depth, encode(node.value))
  else if (node.kind === 'branch') encodeBranch(node, depth, encode)
  else encodeExtension(node, depth, refer(node.child, node.end, encode))
  return scratch.subarray(writeListHead(end - HEAD_BYTES), end)
}

function refer<V>(node: Node<V>, depth: number, encode: Encode<V>): Reference {
  if (node.reference !== null) return node.reference
  const bytes = encodeNode(node, depth, encode)
  return (node.reference = String.fromCharCode(...(bytes.length < HASHED_BYTES ? bytes : keccak256(bytes))))
}

// Nodes are written here and hashed where they lie; `encodeNode` leaves room for the head and fills it in at the end.
// Values and children are encoded before the first byte of a node is written: they may need the place themselves.

/** The longest head of a list or string. */
const HEAD_BYTES = 9
/** The largest branch without a value of its own, with its heads. Nodes that need more let it grow. */
const SCRATCH_BYTES = 1_024
let scratch = new Uint8Array(SCRATCH_BYTES)
let end = 0

function encodeLeaf<V>(node: Leaf<V>, depth: number, value: Uint8Array): void {
  begin(node.key.length + value.length)
  writePath(2, node.key, depth, node.key.length - 2)
  writeString(value)
}

function encodeExtension<V>(node: Extension<V>, depth: number, child: Reference): void {
  begin(node.key.length)
  writePath(0, node.key, depth, node.end)
  writeReference(child)
}

function encodeBranch<V>(node: Branch<V>, depth: number, encode: Encode<V>): void {
  for (let index = 0; index < END; index++) {
    const child = node.children[index]!
    if (child !== null) refer(child, depth + 1, encode)
  }
  // At the end mark stands a leaf without a path of its own: just its value.
  const ending = node.children[END]!
  const value = ending?.kind === 'leaf' ? encode(ending.value) : NOTHING
  begin(value.length)
  for (let index = 0; index < END; index++) writeReference(node.children[index]?.reference ?? NO_CHILD)
  writeString(value)
}

const NOTHING = new Uint8Array()
/** The empty string in RLP. */
const NO_CHILD: Reference = '\x80'

/** Starts a node; `sizeBytes` is what it holds beyond heads and references. */
function begin(sizeBytes: number): void {
  if (sizeBytes + SCRATCH_BYTES > scratch.length) scratch = new Uint8Array(2 * (sizeBytes + SCRATCH_BYTES))
  end = HEAD_BYTES
}

function writeReference(reference: Reference): void {
  const out = scratch
  let at = end
  if (reference.length === HASHED_BYTES) out[at++] = 0x80 + HASHED_BYTES
  for (let index = 0; index < reference.length; index++) out[at++] = reference.charCodeAt(index)
  end = at
}

/** Hex-prefix encoding (Yellow Paper, appendix C); `flag` is 2 for a leaf. */
function writePath(flag: 0 | 2, key: Hex, from: number, to: number): void {
  const isOdd = (to - from) % 2
  const sizeBytes = 1 + (to - from - isOdd) / 2
  if (sizeBytes > 1) writeStringHead(sizeBytes)
  scratch[end++] = isOdd === 1 ? ((flag + 1) << 4) | digit(key, from) : flag << 4
  for (let depth = from + isOdd; depth < to; depth += 2) scratch[end++] = (digit(key, depth) << 4) | digit(key, depth + 1)
}

function writeString(bytes: Uint8Array): void {
  if (bytes.length !== 1 || bytes[0]! >= 0x80) writeStringHead(bytes.length)
  scratch.set(bytes, end)
  end += bytes.length
}

function writeStringHead(sizeBytes: number): void {
  if (sizeBytes < 56) {
    scratch[end++] = 0x80 + sizeBytes
    return
  }
  const digits = Math.ceil((32 - Math.clz32(sizeBytes)) / 8)
  scratch[end++] = 0xb7 + digits
  for (let shift = 8 * (digits - 1); shift >= 0; shift -= 8) scratch[end++] = sizeBytes >>> shift
}

/** Goes in front of the content; answers where it begins. */
function writeListHead(sizeBytes: number): number {
  let start = HEAD_BYTES
  if (sizeBytes < 56) scratch[--start] = 0xc0 + sizeBytes
  else {
    for (let rest = sizeBytes; rest > 0; rest >>>= 8) scratch[--start] = rest
    scratch[start - 1] = 0xf7 + HEAD_BYTES - start
    start--
  }
  return start
}
