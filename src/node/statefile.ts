import { InconsistentWrites } from '../chain/index.ts'
import type { Clock, Genesis, LoadedHistory } from '../chain/index.ts'
import {
  BlockRecord,
  StateFileError,
  assertSameFork,
  historyOf,
  storeBlocks,
  overlayState,
  readStateFile,
  writeSetOf,
} from '../store/index.ts'
import type { StorageBackend, StateFile } from '../store/index.ts'
import type { Fork } from './fork.ts'
import { fundedAccounts, genesisOf, withChosenLimits } from './genesis.ts'
import { NEXT_BASE_FEE, NEXT_TIME, assertSameChain } from './samechain.ts'
import type { StartOptions } from './options.ts'
import type { DevAccount } from './keys.ts'

/** The content of a state file, as a start uses it. */
export interface LoadedState {
  /** null: the genesis of the options */
  readonly genesis: Genesis | null
  /** state of the newest stored block; null if no blocks were stored, or the storage has the state */
  readonly headState: LoadedHistory | null
  /** accounts to merge into block 0 if the blocks of the file are not used */
  readonly accounts: StateFile['accounts']
  /** accounts to which the newest state gives ether unless it has them */
  readonly funded: readonly FundedAccount[]
}

type FundedAccount = ReturnType<typeof fundedAccounts>[number]

/**
 * Stores the blocks of the state file, if they can be used; over a fork only its accounts. Throws StateFileError, and RangeError if the storage is not empty or an
 * option requests another chain.
 */
export function loadStateFile(
  options: StartOptions,
  accounts: readonly DevAccount[],
  clock: Clock,
  storage: StorageBackend,
  fork: Fork | null,
): LoadedState | null {
  const { stateFile, chainId, onNote } = options
  if (stateFile === undefined) return null
  if (storage.height >= storage.firstBlock)
    throw new RangeError('a state file is for a new chain, and the data directory holds one; omit one of the two or use a new directory')
  const file = readStateFile(stateFile)
  assertSameFork(file, fork?.state.origin ?? null)
  if (fork !== null) return { genesis: null, headState: null, accounts: file.accounts, funded: [] }
  const fileChainId = file.own?.chainId ?? file.anvil?.chainId ?? null
  if (fileChainId !== null && chainId !== undefined && fileChainId !== chainId) {
    throw new StateFileError('chain id', `is ${fileChainId}, and ${chainId} was requested; omit the chain id or use another file`)
  }
  const note = (reason: string) => onNote(`the blocks of the state file are left out: ${reason}; its accounts are laid over block 0`)
  const over = { genesis: null, headState: null, accounts: file.accounts, funded: [] }
  if (file.leftOut !== null) note(file.leftOut)
  const records = file.own?.records ?? file.anvil?.records
  if (records === undefined) return over
  if (file.own === null) assertSameBlock(options, records[0]!)
  else assertSameChain(options, accounts, clock, { ...OF_THE_FILE, genesis: file.own.genesis })
  const genesis =
    file.own === null
      ? genesisOf(fileChainId === null ? options : { ...options, chainId: fileChainId }, accounts, clock)
      : { ...file.own.genesis, config: withChosenLimits(file.own.genesis.config, options) }
  const headState = file.own === null ? overlayState(genesis.state, writeSetOf(file.accounts)) : writeSetOf(file.accounts, true)
  const history = pastHistory(file.own)
  if (storeBlocks(storage, records, genesis, headState))
    return {
      genesis,
      headState: storage.state === null ? (history ?? headState) : null,
      accounts: [],
      funded: fundedAccounts(options, accounts),
    }
  note('the data directory takes only chains that began here')
  return over
}

const OF_THE_FILE = { source: "the state file's chain", otherwise: 'start without the state file', settings: null } as const

/** Block 0 of a file of anvil has no state that a genesis could be compared with. Throws RangeError. */
function assertSameBlock({ genesis, number = 0, timestamp, baseFee }: StartOptions, record: Uint8Array): void {
  const { header } = new BlockRecord(record).decode()
  const { source, otherwise } = OF_THE_FILE
  if (genesis !== undefined)
    throw new RangeError(`${source} has a first block of its own, so a genesis has no effect; omit it, or ${otherwise}`)
  for (const [name, chosen, actual, hint] of [
    ['number', number, header.number, 'the number continues from its newest block'],
    ['time', timestamp, header.timestamp, NEXT_TIME],
    ['base fee', baseFee, header.baseFeePerGas, NEXT_BASE_FEE],
  ] as const) {
    if (chosen !== undefined && chosen !== actual)
      throw new RangeError(
        `the ${name} of the first block of ${source} is ${actual}, and ${chosen} was requested; omit the option (${hint}), or ${otherwise}`,
      )
  }
}

/** Returns the states of older blocks too, if the file has them. Throws StateFileError unless they lead to the newest state. */
function pastHistory(own: StateFile['own']): LoadedHistory | null {
  if (own === null || own.past === null) return null
  try {
    const history = historyOf(own.past)
    const root = history.history.stateRoot()
    if (root === own.stateRoot) return history
    throw new StateFileError(
      'pocketchain.pastStates',
      `lead to the state root ${root} instead of ${own.stateRoot}: some were lost or changed`,
    )
  } catch (error) {
    if (error instanceof InconsistentWrites) throw new StateFileError('pocketchain.pastStates', `contradict each other: ${error.message}`)
    throw error
  }
}
