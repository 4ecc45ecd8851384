import { Hash, Hex, Rlp } from '../../eth/index.ts'
import type { RlpInput, RlpItem } from '../../eth/index.ts'

/** Computes a trie root literally by the Yellow Paper's definition, without sharing or caching. */
export function rootOf(entries: ReadonlyMap<Hex, Uint8Array>): Hash {
  const list = [...entries].map(([key, value]): Entry => [key.slice(2), value])
  return Hash.keccak(list.length === 0 ? Rlp.encode(new Uint8Array()) : Rlp.encode(structure(list, 0)))
}

type Entry = readonly [digits: string, value: Uint8Array]

function structure(entries: readonly Entry[], depth: number): RlpInput {
  const [first] = entries
  if (first === undefined) return new Uint8Array()
  if (entries.length === 1) return [hexPrefix(first[0].slice(depth), 2), first[1]]
  const shared = sharedDigits(entries)
  if (shared > depth) return [hexPrefix(first[0].slice(depth, shared), 0), composed(entries, shared)]
  const children = Array.from('0123456789abcdef').map((digit) =>
    composed(
      entries.filter(([key]) => key[depth] === digit),
      depth + 1,
    ),
  )
  return [...children, entries.find(([key]) => key.length === depth)?.[1] ?? new Uint8Array()]
}

function composed(entries: readonly Entry[], depth: number): RlpInput {
  if (entries.length === 0) return new Uint8Array()
  const node = structure(entries, depth)
  const bytes = Rlp.encode(node)
  return bytes.length < 32 ? node : Hash.keccak(bytes)
}

function sharedDigits(entries: readonly Entry[]): number {
  const [first] = entries
  const keys = entries.map(([key]) => key)
  let length = 0
  while (keys.every((key) => key.length > length && key[length] === first?.[0][length])) length++
  return length
}

function hexPrefix(digits: string, flag: number): Hex {
  return digits.length % 2 === 0 ? `0x${flag}0${digits}` : `0x${flag + 1}${digits}`
}

/** Returns the value that a proof gives for a key, or null for absence. Throws for an invalid proof. */
export function verify(root: Hash, key: Hex, proof: readonly Uint8Array[]): Uint8Array | null {
  const nodes = [...proof]
  const answer = nodes.length === 0 && root === rootOf(new Map()) ? null : walk(Hash.toBytes(root), key.slice(2), nodes)
  if (nodes.length > 0) throw new Error(`${nodes.length} nodes of the proof are not on the path`)
  return answer
}

/** Removes the nodes that it uses from `nodes`. */
function walk(reference: RlpItem, digits: string, nodes: Uint8Array[]): Uint8Array | null {
  if (reference.length === 0) return null
  const node = resolve(reference, nodes)
  if (node.length === 17) return digits === '' ? content(node[16]) : walk(node[parseInt(digits.charAt(0), 16)]!, digits.slice(1), nodes)
  const path = Hex.fromBytes(bytesOf(node[0])).slice(2)
  const steps = path.slice(parseInt(path.charAt(0), 16) % 2 === 0 ? 2 : 1)
  const isLeaf = parseInt(path.charAt(0), 16) >= 2
  if (isLeaf) return digits === steps ? content(node[1]) : null
  return digits.startsWith(steps) ? walk(node[1]!, digits.slice(steps.length), nodes) : null
}

function resolve(reference: RlpItem, nodes: Uint8Array[]): readonly RlpItem[] {
  if (!(reference instanceof Uint8Array)) return reference
  const bytes = nodes.shift()
  if (bytes === undefined || Hash.keccak(bytes) !== Hash.from(reference))
    throw new Error(`the proof lacks node ${Hex.fromBytes(reference)}`)
  const node = Rlp.decode(bytes)
  if (node instanceof Uint8Array) throw new Error('a node is a list')
  return node
}

function content(item: RlpItem | undefined): Uint8Array | null {
  const bytes = bytesOf(item)
  return bytes.length === 0 ? null : bytes
}

function bytesOf(item: RlpItem | undefined): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new Error('bytes were expected in a node')
}
