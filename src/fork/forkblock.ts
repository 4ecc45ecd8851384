import { Hash, Hex, isObject } from '../eth/index.ts'
import type { UpstreamAnswer, UpstreamCall } from './endpoint.ts'
import { UpstreamError } from './errors.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** The block that a chain is forked from. */
export interface ForkBlock {
  readonly chainId: number
  readonly number: number
  readonly hash: Hash
  readonly parentHash: Hash
  readonly stateRoot: Hash
  /** an OP Stack chain: its blocks begin with a deposit */
  readonly isOp: boolean
  /** upstream's answer to eth_getBlockByNumber(number, true) */
  readonly block: JsonObject
}

/** Reads a block of upstream. `source` names it in errors. Throws UpstreamError. */
export function parseForkBlock(block: unknown, chainId: number, isOp: boolean, source: string): ForkBlock {
  if (!isObject(block)) throw malformed(source, 'eth_getBlockByNumber', 'a block')
  const hash = parseHash(block['hash'], source, 'eth_getBlockByNumber')
  const parentHash = parseHash(block['parentHash'], source, 'eth_getBlockByNumber')
  const stateRoot = parseHash(block['stateRoot'], source, 'eth_getBlockByNumber')
  const number = parseNumber(block['number'], source, 'eth_getBlockByNumber')
  return { chainId, number, hash, parentHash, stateRoot, isOp: isOp || beginsWithDeposit(block), block }
}

export const CHAIN_ID: UpstreamCall = { method: 'eth_chainId', params: [] }

export function blockCall(block: number | 'latest', isWhole: boolean): UpstreamCall {
  return { method: 'eth_getBlockByNumber', params: [block === 'latest' ? block : Hex.fromQuantity(block), isWhole] }
}

/** The calls whose answers `otherFork` compares. */
export function forkCalls(number: number): readonly UpstreamCall[] {
  return [CHAIN_ID, blockCall(number, false)]
}

/** Returns null if an endpoint has the chain id and the fork block, else the difference: `chain` or `block`, or another reason that may pass. */
export function otherFork({ chainId, number, hash }: ForkBlock, answers: readonly UpstreamAnswer[], name: string): UpstreamError | null {
  const remedy = 'use an endpoint of the same chain'
  try {
    const id = parseNumber(resultOf(answers[0], 'eth_chainId', { name }), name, 'eth_chainId')
    if (id !== chainId)
      return new UpstreamError('chain', `upstream ${name} has chain id ${id}, not ${chainId}, which the fork has; ${remedy}`)
    const block = resultOf(answers[1], 'eth_getBlockByNumber', { name })
    const other = isObject(block) ? block['hash'] : null
    if (typeof other === 'string' && other.toLowerCase() === hash) return null
    const message = `upstream ${name} has ${shownHash(other)} as block ${number}, not the fork block ${hash}; ${remedy}`
    return new UpstreamError(block === null ? 'pruned' : 'block', message)
  } catch (error) {
    if (error instanceof UpstreamError) return error
    throw error
  }
}

/** Throws UpstreamError for an error. */
export function resultOf(answer: UpstreamAnswer | undefined, method: string, { name }: { readonly name: string }): unknown {
  if (answer === undefined) throw malformed(name, method, 'an answer')
  if (!('error' in answer)) return answer.result
  const { code, message } = answer.error
  throw new UpstreamError('refused', `upstream ${name} answered ${method} with error ${code}: ${message}`)
}

export function shownHash(hash: unknown): string {
  return typeof hash === 'string' ? hash.slice(0, 66) : 'no block'
}

/** Returns whether the first transaction of a block with full transactions is a deposit. */
function beginsWithDeposit({ transactions }: JsonObject): boolean {
  return Array.isArray(transactions) && isDeposit(transactions[0])
}

export function isDeposit(transaction: unknown): boolean {
  return isObject(transaction) && transaction['type'] === '0x7e'
}

export function parseHash(value: unknown, source: string, method: string): Hash {
  if (!Hex.isHex(value, 64)) throw malformed(source, method, 'a hash of 32 bytes')
  return Hash.from(value)
}

/** A JSON-RPC quantity or 32-byte value. */
export function parseQuantity(value: unknown, source: string, method: string): bigint {
  if (!Hex.isHex(value) || value.length < 3 || value.length > 66) throw malformed(source, method, 'a quantity of at most 32 bytes')
  return BigInt(value)
}

export function parseNumber(value: unknown, source: string, method: string): number {
  const number = Number(parseQuantity(value, source, method))
  if (!Number.isSafeInteger(number)) throw malformed(source, method, 'a quantity below 2^53')
  return number
}

export function parseBytes(value: unknown, source: string, method: string): Uint8Array {
  if (!Hex.isHex(value) || value.length % 2 !== 0) throw malformed(source, method, 'bytes')
  return Hex.toBytes(value)
}

export function malformed(source: string, method: string, expected: string): UpstreamError {
  return new UpstreamError('malformed', `upstream ${source} answered ${method} with a value that is not ${expected}`)
}
