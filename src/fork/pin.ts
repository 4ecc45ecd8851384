import { Hash, Hex, isObject } from '../eth/index.ts'
import { UpstreamError } from './errors.ts'
import { CHAIN_ID, blockCall, isDeposit, malformed, parseBytes, parseForkBlock, parseNumber, resultOf } from './forkblock.ts'
import type { UpstreamAnswer, UpstreamCall } from './endpoint.ts'
import type { ForkBlock, JsonObject } from './forkblock.ts'
import type { ForkCache } from './forkcache.ts'
import { HEAD_DISTANCE, OP_HEAD_DISTANCE } from './limits.ts'
import type { Upstream } from './upstream.ts'

export interface PinOptions {
  /** negative: relative to the head; OP_HEAD_DISTANCE or HEAD_DISTANCE below it by default */
  readonly blockNumber?: number | null
  /** forks from the block before the transaction's, and returns the block's transactions up to it */
  readonly transactionHash?: Hash | null
  /** must be upstream's; with a cached `blockNumber` no request is sent */
  readonly chainId?: number | null
}

/** The transactions to run on top of the fork block. */
export interface ForkReplay {
  /** upstream's answer to eth_getBlockByNumber of their block, with hashes */
  readonly block: JsonObject
  /** envelopes, the requested transaction last */
  readonly transactions: readonly Hex[]
}

export interface PinnedBlock extends ForkBlock {
  readonly replay: ForkReplay | null
}

/** `https://host/path@BLOCK` */
export interface ForkUrl {
  readonly url: string
  readonly blockNumber: number | null
}

/** Splits `URL@BLOCK`; BLOCK is a decimal or 0x number, negative: below the head. An `@` of credentials or of a path is not a separator. */
export function parseForkUrl(text: string): ForkUrl {
  const [, url = '', block = ''] = /^(.+)@(-?\d+|0x[0-9a-f]+)$/i.exec(text) ?? []
  const blockNumber = Number(block)
  return URL.canParse(url) && Number.isSafeInteger(blockNumber) ? { url, blockNumber } : { url: text, blockNumber: null }
}

/** Reads `Name: value` of --fork-header. Throws UpstreamError. */
export function parseForkHeader(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(text) ?? []
  if (name !== undefined && value !== undefined) return [name.toLowerCase(), value.trim()]
  throw new UpstreamError('refused', 'a --fork-header is not of the form "Name: value"; its value may hold a key and is not shown')
}

/**
 * Chooses the fork block and reads it: at most two HTTP requests, three with `transactionHash` and an unusual upstream, none if `chainId` and
 * `blockNumber` are given and the block is cached. Deletes cached state of a block that upstream has replaced. Throws UpstreamError.
 */
export async function resolveForkBlock(upstream: Upstream, options: PinOptions = {}, cache: ForkCache | null = null): Promise<PinnedBlock> {
  const { blockNumber = null, transactionHash = null, chainId = null } = options
  if (transactionHash !== null && blockNumber !== null)
    throw new UpstreamError(
      'block',
      'a fork has a block number or a transaction hash; remove --fork-block-number or --fork-transaction-hash',
    )
  if (transactionHash !== null) return checked(await pinByTransaction(upstream, transactionHash, chainId), cache)
  if (blockNumber === null || blockNumber < 0) return checked(await pinByHead(upstream, blockNumber, chainId), cache)
  const cached = chainId === null ? null : (cache?.find(chainId, blockNumber) ?? null)
  if (cached !== null) return { ...cached, replay: null }
  return checked(await pinByNumber(upstream, blockNumber, chainId, cache), cache)
}

function checked(block: PinnedBlock, cache: ForkCache | null): PinnedBlock {
  cache?.dropReorganised(block)
  return block
}

async function pinByNumber(upstream: Upstream, number: number, chainId: number | null, cache: ForkCache | null): Promise<PinnedBlock> {
  const answers = await read(upstream, [CHAIN_ID, FIRST_OF_HEAD, HEAD_NUMBER, blockCall(number, true)]).catch((error: unknown) => {
    const [known] = cache?.chainIds.filter((id) => cache.find(id, number) !== null) ?? []
    if (!(error instanceof UpstreamError) || known === undefined) throw error
    throw new UpstreamError(
      error.reason,
      `${error.message}; block ${number} of chain ${known} is cached: --fork-chain-id ${known} starts without upstream`,
    )
  })
  const id = chainIdOf(answers[0], chainId, upstream)
  const block = resultOf(answers[3], 'eth_getBlockByNumber', upstream)
  if (block === null)
    throw absent(number, parseNumber(resultOf(answers[2], 'eth_blockNumber', upstream), upstream.name, 'eth_blockNumber'), upstream)
  return pinned(block, number, id, isOpHead(answers[1]), upstream)
}

async function pinByHead(upstream: Upstream, distance: number | null, chainId: number | null): Promise<PinnedBlock> {
  const answers = await read(upstream, [CHAIN_ID, FIRST_OF_HEAD, blockCall('latest', false)])
  const id = chainIdOf(answers[0], chainId, upstream)
  const isOp = isOpHead(answers[1])
  const latest = resultOf(answers[2], 'eth_getBlockByNumber', upstream)
  if (!isObject(latest)) throw malformed(upstream.name, 'eth_getBlockByNumber', 'a block')
  const head = parseNumber(latest['number'], upstream.name, 'eth_getBlockByNumber')
  const below = distance === null ? (isOp ? OP_HEAD_DISTANCE : HEAD_DISTANCE) : -distance
  if (distance !== null && below > head)
    throw new UpstreamError(
      'block',
      `block ${distance} from the head ${head} of upstream ${upstream.name} does not exist; use a smaller distance`,
    )
  const number = Math.max(0, head - below)
  const [answer] = await read(upstream, [blockCall(number, true)])
  const block = resultOf(answer, 'eth_getBlockByNumber', upstream)
  if (block === null) throw absent(number, head, upstream)
  return pinned(block, number, id, isOp, upstream)
}

async function pinByTransaction(upstream: Upstream, hash: Hash, chainId: number | null): Promise<PinnedBlock> {
  const answers = await read(upstream, [CHAIN_ID, FIRST_OF_HEAD, { method: 'eth_getTransactionByHash', params: [hash] }])
  const id = chainIdOf(answers[0], chainId, upstream)
  const transaction = resultOf(answers[2], 'eth_getTransactionByHash', upstream)
  if (!isObject(transaction))
    throw new UpstreamError('block', `upstream ${upstream.name} has no transaction ${hash}; check --fork-transaction-hash`)
  if (transaction['blockNumber'] === null || transaction['blockNumber'] === undefined)
    throw new UpstreamError('block', `transaction ${hash} is not in a block yet; fork when it is`)
  const number = parseNumber(transaction['blockNumber'], upstream.name, 'eth_getTransactionByHash')
  const index = parseNumber(transaction['transactionIndex'], upstream.name, 'eth_getTransactionByHash')
  const indices = Array.from({ length: index + 1 }, (_, i) => i)
  const byIndex = indices.map((i) => ({ method: RAW_BY_INDEX, params: [Hex.fromQuantity(number), Hex.fromQuantity(i)] }))
  const [parent, block, ...raws] = await read(upstream, [blockCall(number - 1, true), blockCall(number, false), ...byIndex])
  const parentBlock = resultOf(parent, 'eth_getBlockByNumber', upstream)
  if (parentBlock === null) throw absent(number - 1, number, upstream)
  const replayed = resultOf(block, 'eth_getBlockByNumber', upstream)
  const hashes = isObject(replayed) && Array.isArray(replayed['transactions']) ? replayed['transactions'].slice(0, index + 1) : []
  if (!isObject(replayed) || hashes[index] !== hash) throw malformed(upstream.name, 'eth_getBlockByNumber', `the block of ${hash}`)
  const transactions = await rawTransactions(upstream, hashes, raws)
  return { ...pinned(parentBlock, number - 1, id, isOpHead(answers[1]), upstream), replay: { block: replayed, transactions } }
}

/** The envelopes, by another method where the first one gave none. */
async function rawTransactions(upstream: Upstream, hashes: readonly unknown[], first: readonly UpstreamAnswer[]): Promise<readonly Hex[]> {
  const found = hashes.map((hash, i) => rawOf(first[i], hash, upstream))
  for (const method of RAW_BY_HASH) {
    const missing = hashes.flatMap((hash, i) => (found[i] === null ? [{ hash, i }] : []))
    if (missing.length === 0) break
    const answers = await read(
      upstream,
      missing.map(({ hash }) => ({ method, params: [hash] })),
    )
    for (const [at, { hash, i }] of missing.entries()) found[i] = rawOf(answers[at], hash, upstream)
  }
  const absentAt = found.indexOf(null)
  if (absentAt < 0) return found.filter((raw) => raw !== null)
  const methods = [RAW_BY_INDEX, ...RAW_BY_HASH].join(', ')
  throw new UpstreamError(
    'refused',
    `upstream ${upstream.name} gives no raw transaction ${String(hashes[absentAt])} by ${methods}; use --fork-block-number`,
  )
}

function rawOf(answer: UpstreamAnswer | undefined, hash: unknown, upstream: Upstream): Hex | null {
  if (answer === undefined || 'error' in answer || answer.result === null || answer.result === '0x') return null
  const raw = parseBytes(answer.result, upstream.name, 'a request for a raw transaction')
  return Hash.keccak(raw) === hash ? Hex.fromBytes(raw) : null
}

const RAW_BY_INDEX = 'eth_getRawTransactionByBlockNumberAndIndex'
const RAW_BY_HASH = ['debug_getRawTransaction', 'eth_getRawTransactionByHash']

// --- answers ---------------------------------------------------------------------------------------------------------------------------

const HEAD_NUMBER: UpstreamCall = { method: 'eth_blockNumber', params: [] }
/** Genesis and empty blocks of an OP chain have no deposit, so the head is looked at besides the fork block. */
const FIRST_OF_HEAD: UpstreamCall = { method: 'eth_getTransactionByBlockNumberAndIndex', params: ['latest', '0x0'] }

function read(upstream: Upstream, calls: readonly UpstreamCall[]): Promise<readonly UpstreamAnswer[]> {
  return upstream.batch(calls)
}

function chainIdOf(answer: UpstreamAnswer | undefined, expected: number | null, upstream: Upstream): number {
  const id = parseNumber(resultOf(answer, 'eth_chainId', upstream), upstream.name, 'eth_chainId')
  if (expected === null || expected === id) return id
  throw new UpstreamError('chain', `upstream ${upstream.name} has chain id ${id}, not ${expected}; check --fork-url and --fork-chain-id`)
}

function isOpHead(answer: UpstreamAnswer | undefined): boolean {
  return answer !== undefined && 'result' in answer && isDeposit(answer.result)
}

function pinned(block: unknown, number: number, chainId: number, isOp: boolean, upstream: Upstream): PinnedBlock {
  const parsed = parseForkBlock(block, chainId, isOp, upstream.name)
  if (parsed.number !== number) throw malformed(upstream.name, 'eth_getBlockByNumber', `block ${number}`)
  return { ...parsed, replay: null }
}

function absent(number: number, head: number, { name }: Upstream): UpstreamError {
  if (number > head)
    return new UpstreamError('block', `block ${number} is above the head ${head} of upstream ${name}; use a lower --fork-block-number`)
  return new UpstreamError('pruned', `upstream ${name} has no block ${number}; use an archive endpoint or a newer --fork-block-number`)
}
