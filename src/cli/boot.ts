import { readFileSync } from 'node:fs'
import { GenesisError, ImportError, GenesisMismatch, StateRootMismatch, CorruptOpenBlockRecord } from '../chain/index.ts'
import { DecodeError } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'
import { ListenError } from '../server/index.ts'
import type { Server } from '../server/index.ts'
import { CorruptRecord, CorruptSection, StorageError, StateFileError } from '../store/index.ts'
import type { PolicyJson } from '../paymaster/index.ts'
import type { Keys } from '../wallet/index.ts'
import { cadenceOf } from './cadence.ts'
import { CommandError, EXIT } from './exit.ts'
import type { Settings } from './options.ts'
import { Progress } from './progress.ts'
import { StateDump, statePaths } from './statedump.ts'
import type { StatePaths } from './statedump.ts'
import { troubleTeller } from './trouble.ts'

/** A node that answers on its port. */
export interface Booted {
  readonly node: Pocketchain
  readonly server: Server
  /** null: none was asked for */
  readonly dump: StateDump | null
}

/** What a start takes beside the settings. */
export interface Ground {
  readonly mnemonic: string
  /** of the wallet, beyond those of the mnemonic */
  readonly keys: Omit<Keys, 'dev'>
  /** of the sponsor; null: its own */
  readonly policies: readonly PolicyJson[] | null
  readonly stop: AbortSignal
  readonly tell: (line: string) => void
}

/** Starts what the settings ask for. Throws CommandError with the exit code that fits, and the signal's reason when that ends an import. */
export async function boot(settings: Settings, ground: Ground): Promise<Booted> {
  const { tell } = ground
  const paths = statePaths(settings)
  const options = optionsOf(settings, paths, ground)
  const node = await started(options, settings, paths)
  try {
    const server = await node.listen(placeOf(settings))
    return { node, server, dump: paths.dump === null ? null : new StateDump(node, paths.dump, settings.stateInterval, tell) }
  } catch (error) {
    await node.close()
    throw error instanceof ListenError ? new CommandError(EXIT.failed, error.message, error) : error
  }
}

async function started(options: PocketchainOptions, settings: Settings, { load }: StatePaths): Promise<Pocketchain> {
  try {
    return await createPocketchain(options)
  } catch (error) {
    if (error instanceof GenesisError) throw new CommandError(EXIT.file, `--genesis ${settings.genesis}: ${error.message}`, error)
    if (error instanceof StateFileError) throw new CommandError(EXIT.file, `${load?.flag} ${load?.path}: ${error.message}`, error)
    if (error instanceof ImportError) throw new CommandError(EXIT.file, `--import ${settings.import}: ${error.message}`, error)
    if (error instanceof DecodeError && settings.import !== null)
      throw new CommandError(EXIT.file, `--import ${settings.import}: ${error.message}`, error)
    const damage = damageOf(error)
    if (damage !== null) throw new CommandError(EXIT.file, `--data ${settings.data}: ${damage}`, error)
    if (error instanceof DecodeError || error instanceof RangeError) throw new CommandError(EXIT.usage, error.message, error)
    throw error
  }
}

/** Why a directory cannot be gone on from; null: that is not what is wrong. */
function damageOf(error: unknown): string | null {
  if (error instanceof StorageError) return error.message
  if (error instanceof GenesisMismatch)
    return `${error.message}. Start it with the flags that it was made with, or choose another directory`
  if (error instanceof CorruptOpenBlockRecord)
    return `${error.message}. Nothing was changed; open the directory once with the version that wrote it, or restore it from a copy`
  if (error instanceof StateRootMismatch || error instanceof CorruptRecord || error instanceof CorruptSection)
    return `${error.message}. Nothing was changed; restore the directory from a copy, or choose another one`
  return null
}

function optionsOf(settings: Settings, { load }: StatePaths, { mnemonic, keys, policies, stop, tell }: Ground): PocketchainOptions {
  const progress = new Progress((line) => settings.quiet || tell(line))
  return {
    mnemonic,
    cadence: cadenceOf(settings),
    clock: settings.clock,
    order: settings.order,
    compat: settings.compat,
    ...present({ clientVersion: settings.clientVersion, latest: settings.latest }),
    accounts: settings.accounts,
    balance: settings.balance,
    derivationPath: settings.derivationPath,
    autoImpersonate: settings.autoImpersonate,
    tier1: settings.tier1,
    wallet: settings.noWallet ? false : { policy: settings.walletPolicy, allowHttpLoopback: settings.allowHttpLoopback, keys },
    bundler: settings.noBundler ? false : {},
    sponsor: settings.noSponsor ? false : present({ policies }),
    onImported: (number) => {
      stop.throwIfAborted()
      progress.at(number)
    },
    onNote: tell,
    onError: troubleTeller(tell),
    ...(settings.genesis === null ? {} : { genesis: readFile(settings.genesis, '--genesis').toString() }),
    ...(settings.import === null ? {} : { importedChain: readFile(settings.import, '--import') }),
    ...(load === null ? {} : { stateFile: readFile(load.path, load.flag) }),
    factories: !settings.disableCreate2,
    ...(settings.disableCodeSizeLimit ? { codeSizeLimit: null } : present({ codeSizeLimit: settings.codeSizeLimit })),
    ...(settings.transactionGasCap === 0n ? { transactionGasCap: null } : present({ transactionGasCap: settings.transactionGasCap })),
    ...present({
      chainId: settings.chainId,
      seed: settings.seed,
      timestamp: settings.timestamp,
      hardfork: settings.hardfork,
      chainType: settings.chainType,
      data: settings.data,
      prune: settings.prune,
      stateHistory: settings.stateHistory,
      workers: settings.workers,
      gasLimit: settings.gasLimit,
      baseFee: settings.baseFee,
      minBaseFee: settings.minBaseFee,
      minGasPrice: settings.gasPrice,
      l1BaseFee: settings.l1BaseFee,
      l1BlobBaseFee: settings.l1BlobBaseFee,
    }),
  }
}

function placeOf(settings: Settings) {
  return {
    port: settings.port,
    host: settings.host,
    allowOrigins: settings.allowOrigin,
    allowHosts: settings.allowHost,
    cors: !settings.noCors,
    ...present({ tlsFolder: settings.tlsFolder }),
  }
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> }

/** Without the keys that hold null: the default is decided where the option is used. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Present<T> // only nulls were taken out
}

function readFile(path: string, flag: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CommandError(EXIT.file, `${flag} ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
