import { randomBytes } from 'node:crypto'
import { CADENCES, DEFAULT_L1, ManualClock, RealClock, SEQUENCER_FEE_VAULT } from '../chain/index.ts'
import type { ChainOptions, Clock } from '../chain/index.ts'
import { STATE_HISTORY_BLOCKS } from '../compat.ts'
import { Address, Hash } from '../eth/index.ts'
import { StorageError } from '../store/index.ts'
import type { Store } from '../store/index.ts'
import { GAS_LIMIT, storedTimestamp, feeParametersOf, genesisOf } from './genesis.ts'
import type { DevAccount } from './keys.ts'
import type { PocketchainOptions, StartOptions } from './options.ts'
import type { LoadedState } from './statefile.ts'

export interface ChainDeps {
  readonly clock: Clock
  readonly store: Store
  /** null: the chain starts without a state file */
  readonly loaded: LoadedState | null
}

export function chainOptionsOf(options: StartOptions, accounts: readonly DevAccount[], { clock, store, loaded }: ChainDeps): ChainOptions {
  const genesis = loaded?.genesis ?? genesisOf({ ...options, ...storedTimestamp(options, store) }, accounts, clock)
  const { cadence = 'preconf' } = options
  return {
    genesis,
    headState: loaded?.headState ?? null,
    clock,
    startsAtHeadTime: options.timestamp !== undefined || options.genesis !== undefined || (loaded?.genesis ?? null) !== null,
    feeParameters: feeParametersOf(options),
    onBug: options.onError,
    store,
    cadence: typeof cadence === 'string' ? CADENCES[cadence] : cadence,
    l1: {
      ...DEFAULT_L1,
      ...(options.l1BaseFee === undefined ? {} : { baseFee: options.l1BaseFee }),
      ...(options.l1BlobBaseFee === undefined ? {} : { blobBaseFee: options.l1BlobBaseFee }),
    },
    gasLimit: options.gasLimit ?? (options.genesis === undefined && (loaded?.genesis ?? null) === null ? GAS_LIMIT : genesis.gasLimit),
    coinbase: genesis.config.op === null ? Address.zero : SEQUENCER_FEE_VAULT,
    order: options.order ?? 'fees',
    seed: options.seed ?? 'pocketchain',
    historyBlocks: options.stateHistory ?? STATE_HISTORY_BLOCKS,
    instanceId: Hash.from(randomBytes(32)),
  }
}

export function clockOf({ clock = 'real', timestamp }: PocketchainOptions): Clock {
  if (typeof clock !== 'string') return clock
  return clock === 'real' ? new RealClock() : new ManualClock(timestamp === undefined ? Date.now() : timestamp * 1_000)
}

/** Checks the chain id of a data directory, which a genesis block does not contain: transactions of another chain would be replayed. Throws StorageError. */
export function assertChainId({ records, height, firstBlock }: Store, chainId: number): void {
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
