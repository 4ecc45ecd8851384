import { NO_WRITES } from '../evm/index.ts'
import { randomBytes } from 'node:crypto'
import { CADENCES, DEFAULT_L1, ManualClock, RealClock, SEQUENCER_FEE_VAULT } from '../chain/index.ts'
import type { ChainOptions, Clock, Genesis, L1Options } from '../chain/index.ts'
import { COMPAT, STATE_HISTORY_BLOCKS } from '../compat.ts'
import { Address, Hash } from '../eth/index.ts'
import { StorageError } from '../store/index.ts'
import type { Store } from '../store/index.ts'
import { GAS_LIMIT, storedTimestamp, feeParametersOf, genesisOf } from './genesis.ts'
import type { OpenedFork } from './fork.ts'
import type { DevAccount } from './keys.ts'
import type { PocketchainOptions, StartOptions } from './options.ts'
import type { LoadedState } from './statefile.ts'

export const DEFAULT_SEED = 'pocketchain'

export interface ChainDeps {
  readonly clock: Clock
  readonly store: Store
  /** null: the chain starts without a state file */
  readonly loaded: LoadedState | null
  /** null: the chain is not forked */
  readonly fork: OpenedFork | null
}

export function chainOptionsOf(options: StartOptions, accounts: readonly DevAccount[], deps: ChainDeps): ChainOptions {
  const { clock, store, fork } = deps
  const chosen = fork === null ? newChainOptions(options, accounts, deps) : forkedChainOptions(options, fork, clock, store)
  const { tier1 } = options
  return tier1 === undefined ? chosen : { ...chosen, genesis: { ...chosen.genesis, config: { ...chosen.genesis.config, tier1 } } }
}

function newChainOptions(options: StartOptions, accounts: readonly DevAccount[], { clock, store, loaded }: ChainDeps): ChainOptions {
  const genesis = loaded?.genesis ?? genesisOf({ ...options, ...storedTimestamp(options, store) }, accounts, clock)
  if (loaded === null && store.timestampOf(0) === null) noteAccountsWithoutEther(options, accounts, genesis)
  return {
    ...commonOptions(options, clock, store),
    genesis,
    headState: loaded?.headState ?? null,
    startsAtHeadTime: options.timestamp !== undefined || options.genesis !== undefined || (loaded?.genesis ?? null) !== null,
    feeParameters: feeParametersOf(options),
    l1: l1OptionsOf(options, DEFAULT_L1),
    gasLimit: options.gasLimit ?? (options.genesis === undefined && (loaded?.genesis ?? null) === null ? GAS_LIMIT : genesis.gasLimit),
    coinbase: genesis.config.op === null ? Address.zero : SEQUENCER_FEE_VAULT,
  }
}

/** anvil gives them ether over a genesis file. Here block 0 is exactly the file's, so that its hash is that of the same chain in other clients. */
function noteAccountsWithoutEther(
  { genesis: file, balance, importedChain, onNote }: StartOptions,
  accounts: readonly DevAccount[],
  { state }: Genesis,
): void {
  if (file === undefined || balance !== undefined || importedChain !== undefined || accounts.length === 0) return
  if (accounts.some(({ address }) => (state.accounts.get(address)?.balance ?? 0n) > 0n)) return
  onNote('the genesis file gives the dev accounts no ether; set the balance (--balance 10000), or add them to its alloc')
}

/** Base fee, gas limit, fee parameters, L1 origin and time continue from the fork block. */
function forkedChainOptions(
  options: StartOptions,
  { start, config, l1, feeParameters }: OpenedFork,
  clock: Clock,
  store: Store,
): ChainOptions {
  const { header } = start.genesis
  return {
    ...commonOptions(options, clock, store),
    genesis: { ...header, config, state: NO_WRITES },
    fork: start,
    startsAtHeadTime: options.clock !== 'real',
    feeParameters: options.minBaseFee === undefined ? feeParameters : { ...feeParameters, minBaseFee: options.minBaseFee },
    l1: l1OptionsOf(options, l1?.options ?? DEFAULT_L1),
    ...(l1 === null ? {} : { l1Start: l1 }),
    gasLimit: options.gasLimit ?? (header.gasLimit === 0n ? GAS_LIMIT : header.gasLimit),
    coinbase: config.op === null ? Address.zero : SEQUENCER_FEE_VAULT,
  }
}

function commonOptions(
  {
    data,
    stateHistory = STATE_HISTORY_BLOCKS,
    onError,
    onMining,
    executionNotes,
    cadence = 'preconf',
    order = 'fees',
    compat = 'default',
    seed = DEFAULT_SEED,
  }: StartOptions,
  clock: Clock,
  store: Store,
): Pick<
  ChainOptions,
  | 'clock'
  | 'store'
  | 'promiseRecords'
  | 'historyBlocks'
  | 'cadence'
  | 'order'
  | 'replacement'
  | 'instantBlock'
  | 'seed'
  | 'instanceId'
  | 'onBug'
  | 'notes'
  | 'onMining'
> {
  return {
    clock,
    store,
    promiseRecords: data === undefined ? null : store.records,
    historyBlocks: stateHistory,
    cadence: typeof cadence === 'string' ? CADENCES[cadence] : cadence,
    order,
    replacement: COMPAT[compat].replacement,
    instantBlock: COMPAT[compat].instantBlock,
    seed,
    instanceId: Hash.from(randomBytes(32)),
    onBug: onError,
    ...(executionNotes === undefined ? {} : { notes: executionNotes }),
    ...(onMining === undefined ? {} : { onMining }),
  }
}

function l1OptionsOf({ l1BaseFee, l1BlobBaseFee }: PocketchainOptions, defaults: L1Options): L1Options {
  return {
    ...defaults,
    ...(l1BaseFee === undefined ? {} : { baseFee: l1BaseFee }),
    ...(l1BlobBaseFee === undefined ? {} : { blobBaseFee: l1BlobBaseFee }),
  }
}

export function clockOf({ clock = 'real', timestamp }: PocketchainOptions): Clock {
  if (typeof clock !== 'string') return clock
  return clock === 'real' ? new RealClock() : new ManualClock(timestamp === undefined ? Date.now() : timestamp * 1_000)
}

/**
 * Records the chain id in a new data directory, and throws StorageError if another one is recorded: a genesis block does not contain the chain
 * id, so transactions of another chain could be replayed.
 */
export function ensureChainId({ records, height, firstBlock }: Store, chainId: number): void {
  const stored = records.get(CHAIN_ID_RECORD)
  const kept = stored === null ? null : Buffer.from(stored).toString()
  if (kept === null || height < firstBlock) records.put(CHAIN_ID_RECORD, Buffer.from(String(chainId)))
  else if (kept !== String(chainId)) {
    throw new StorageError(
      'foreign',
      `the directory holds the chain ${kept}, not ${chainId}; start it with --chain-id ${kept}, or choose another one`,
    )
  }
}

const CHAIN_ID_RECORD = 'chain id'
