import { DEFAULT_FEE_PARAMETERS, configOf, decodeExtraData, decodeL1Attributes, openFork } from '../chain/index.ts'
import type { Chain, FeeParameters, L1Attributes, OpenedChain } from '../chain/index.ts'
import { Hex, Transaction } from '../eth/index.ts'
import type { Block } from '../eth/index.ts'
import type { ChainConfig } from '../evm/index.ts'
import {
  ForkCache,
  ForkState,
  NEWEST_BLOBS,
  Upstream,
  defaultCachePath,
  forkBlockOf,
  hardforkOf,
  l1AttributesOf,
  parseForkUrl,
  resolveForkBlock,
} from '../fork/index.ts'
import type { ForkReplay, ForkUrl } from '../fork/index.ts'
import { isLoopbackName } from '../jsonrpc/index.ts'
import { chainHardforkOf, fundedAccounts, limitsOf } from './genesis.ts'
import type { DevAccount } from './keys.ts'
import type { ProgressTimer } from './progresstimer.ts'
import type { ForkOptions, ReportingOptions, StartOptions } from './options.ts'

/** The start of a forked chain. */
export interface Fork {
  readonly upstream: Upstream
  readonly state: ForkState
  readonly chainId: number
  readonly config: ChainConfig
  /** Without its transactions. */
  readonly block: Block
  /** L1 origin of the fork block; null on L1 chains. */
  readonly l1: L1Attributes | null
  readonly feeParameters: FeeParameters
  /** Transactions that are executed on top of the fork block; null: none. */
  readonly replay: ForkReplay | null
}

/** A fork, and the chain's first block over its state. */
export interface OpenedFork extends Fork {
  readonly start: OpenedChain
}

/** Executes the transactions of `--fork-transaction-hash` in one block, with the time and randomness of theirs. Deposits are this chain's own. */
export async function replayTransactions(chain: Chain, { block, transactions }: ForkReplay): Promise<void> {
  const { header } = forkBlockOf(block)
  const decoded = transactions.map((raw) => Transaction.decode(Hex.toBytes(raw))).filter(({ type }) => type !== 0x7e)
  await chain.sealTransactions(decoded, { timestamp: header.timestamp, prevRandao: header.mixHash })
}

/** Returns the fork with the chain's first block: funded accounts, and the contracts that upstream lacks. Throws UpstreamError. */
export async function startFork(fork: Fork, options: StartOptions, accounts: readonly DevAccount[]): Promise<OpenedFork> {
  const start = await openFork({
    config: fork.config,
    block: fork.block,
    base: fork.state,
    accounts: fundedAccounts(options, accounts),
    contracts: options.genesisContracts,
    calls: options.genesisCalls === 'precomputed' ? [] : options.genesisCalls,
    onNote: options.onNote,
  })
  return { ...fork, start }
}

/** Options that describe another first block than upstream's. */
const EXCLUDED = ['genesis', 'importedChain', 'data', 'number', 'timestamp'] as const

/** Of a fork that is opened while the node starts. */
interface ForkStart {
  readonly progress?: ProgressTimer | null
  /** closes the connection to upstream */
  readonly signal?: AbortSignal | null
}

/** Connects to upstream and pins the fork block. Throws UpstreamError, and RangeError for options that cannot be combined. */
export async function openUpstream(
  options: ReportingOptions,
  { url, blockNumber, ...fork }: ForkOptions,
  { progress = null, signal = null }: ForkStart = {},
): Promise<Fork> {
  for (const name of EXCLUDED) {
    if (options[name] !== undefined)
      throw new RangeError(`${name} cannot be combined with fork: the chain begins with the block that it is forked from`)
  }
  signal?.throwIfAborted()
  const urls = urlsOf(url)
  const upstream = upstreamAt({ url, ...fork }, options.onNote)
  signal?.addEventListener('abort', () => upstream.close())
  progress?.watch(() => ({ requests: upstream.stats.requests, keys: 0, cacheHits: 0 }))
  const cachePath = fork.storageCaching === false ? null : (fork.cachePath ?? (urls.some(isOfDeveloper) ? null : defaultCachePath()))
  const cache = cachePath === null ? null : new ForkCache(cachePath, { warn: options.onNote })
  const number = blockNumber ?? urls.find((each) => each.blockNumber !== null)?.blockNumber ?? null
  const { transactionHash = null, chainId = null } = fork
  const pinned = await resolveForkBlock(upstream, { blockNumber: number, transactionHash, chainId }, cache)
  const { chainType = pinned.isOp ? 'op' : 'l1' } = options
  if ((chainType === 'op') !== pinned.isOp)
    throw new RangeError(`the forked chain is of type ${pinned.isOp ? 'op' : 'l1'}, not ${chainType}`)
  const block = forkBlockOf(pinned.block)
  const { header } = block
  const id = options.chainId ?? pinned.chainId
  const hardfork =
    options.hardfork === undefined ? hardforkOf(pinned.chainId, header, pinned.isOp) : chainHardforkOf({ ...options, chainType })
  const config = configOf(id, hardfork, 0, limitsOf(options))
  const attributes = l1AttributesOf(pinned.block)
  const state = new ForkState({ upstream, block: pinned, cache })
  progress?.watch(() => state.stats)
  return {
    upstream,
    state,
    chainId: id,
    config: config.op === null ? { ...config, blobSchedule: { ...config.blobSchedule, osaka: NEWEST_BLOBS } } : config,
    block,
    l1: attributes === null ? null : decodeL1Attributes(attributes),
    feeParameters: decodeExtraData(header.extraData) ?? DEFAULT_FEE_PARAMETERS,
    replay: pinned.replay,
  }
}

/** Throws UpstreamError. */
export function upstreamAt({ url, ...options }: ForkOptions, onNote: (line: string) => void): Upstream {
  return new Upstream(
    urlsOf(url).map((each) => each.url),
    { ...options, onNote },
  )
}

/** A chain on this computer is a development chain, whose state methods such as anvil_setBalance change without another block hash. */
function isOfDeveloper({ url }: ForkUrl): boolean {
  return URL.canParse(url) && isLoopbackName(new URL(url).hostname)
}

function urlsOf(url: ForkOptions['url']): readonly ForkUrl[] {
  return (typeof url === 'string' ? [url] : url).map(parseForkUrl)
}
