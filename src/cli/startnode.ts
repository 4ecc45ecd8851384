import { readFileSync } from 'node:fs'
import { GenesisError, ImportError, GenesisMismatch, StateRootMismatch, CorruptOpenBlockRecord, UpstreamError } from '../chain/index.ts'
import { DecodeError } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { FleetOptions } from '../fleet/index.ts'
import type { ForkOptions, Pocketchain, PocketchainOptions } from '../index.ts'
import { ApiKeysError, ListenError } from '../server/index.ts'
import type { Server } from '../server/index.ts'
import { CorruptRecord, CorruptSection, StorageError, StateFileError } from '../store/index.ts'
import type { PolicyJson } from '../paymaster/index.ts'
import type { Keys } from '../wallet/index.ts'
import { cadenceOf } from './cadence.ts'
import { chaosProfileOf } from './chaos.ts'
import { createErrorLog } from './errorlog.ts'
import { CommandError, EXIT } from './exit.ts'
import { Progress } from './log/progress.ts'
import type { Settings } from './options.ts'
import { StateDump, statePaths } from './statedump.ts'
import type { StatePaths } from './statedump.ts'
import { grouped } from './terminal.ts'

/** A node that listens on its port. */
interface StartedNode {
  readonly node: Pocketchain
  readonly server: Server
  /** null: no state file is written */
  readonly dump: StateDump | null
}

/** Inputs of a start other than the settings. */
interface StartDeps {
  readonly mnemonic: string
  /** keys of the wallet other than those of the mnemonic */
  readonly keys: Omit<Keys, 'dev'>
  /** policies of the sponsor; null: its default */
  readonly policies: readonly PolicyJson[] | null
  readonly stop: AbortSignal
  /** called when another process of the fleet has become the sequencer */
  readonly deposed?: (error: Error) => void
  readonly log: (line: string) => void
  /** options of the log; none by default */
  readonly observation?: Pick<PocketchainOptions, 'observer' | 'executionNotes' | 'onMining'>
}

/** Starts a node with these settings. Throws CommandError, and the reason of `stop` if it is aborted before the chain is ready. */
export async function startNode(settings: Settings, deps: StartDeps): Promise<StartedNode> {
  const paths = statePaths(settings)
  const options = optionsOf(settings, paths, deps)
  const node = await createNode(options, settings, paths)
  try {
    const [first = '127.0.0.1', ...further] = settings.host
    const server = await node.listen({ ...listenOptionsOf(settings, first, settings.port), ipc: settings.ipc })
    for (const host of further) await node.listen(listenOptionsOf(settings, host, server.port))
    const { stateInterval: intervalMs, preserveHistoricalStates: pastStates } = settings
    return { node, server, dump: paths.dump === null ? null : new StateDump(node, paths.dump, { intervalMs, pastStates }, deps.log) }
  } catch (error) {
    await node.close()
    if (error instanceof ApiKeysError) throw new CommandError(EXIT.file, `--keys ${settings.keys} ${error.message}`, error)
    throw error instanceof ListenError ? new CommandError(EXIT.failed, error.message, error) : error
  }
}

async function createNode(options: PocketchainOptions, settings: Settings, { load }: StatePaths): Promise<Pocketchain> {
  try {
    return await createPocketchain(options)
  } catch (error) {
    const fileError = (flag: string, path: string | null, message: string) =>
      new CommandError(EXIT.file, `${flag} ${path}: ${message}`, error)
    if (error instanceof Error && error.name === 'FleetError') throw new CommandError(EXIT.failed, error.message, error)
    if (error instanceof UpstreamError) {
      throw new CommandError(EXIT.failed, `--fork-url: ${error.message}`, error)
    }
    if (error instanceof GenesisError) throw fileError('--genesis', settings.genesis, error.message)
    if (error instanceof StateFileError && load !== null) throw fileError(load.flag, load.path, error.message)
    if (error instanceof ImportError || (error instanceof DecodeError && settings.import !== null))
      throw fileError('--import', settings.import, error.message)
    if (error instanceof StorageError && error.reason === 'unavailable') throw new CommandError(EXIT.usage, error.message, error)
    const dataError = dataErrorOf(error)
    if (dataError !== null) throw fileError('--data', settings.data, dataError)
    if (error instanceof DecodeError || error instanceof RangeError) throw new CommandError(EXIT.usage, error.message, error)
    throw error
  }
}

/** Returns the reason why a data directory cannot be used, or null for other errors. */
function dataErrorOf(error: unknown): string | null {
  if (error instanceof StorageError) return error.message
  if (error instanceof GenesisMismatch)
    return `${error.message}. Start it with the flags with which it was created, or choose another directory`
  if (error instanceof CorruptOpenBlockRecord)
    return `${error.message}. Nothing was changed; open the directory once with the version that wrote it, or restore it from a copy`
  if (error instanceof StateRootMismatch || error instanceof CorruptRecord || error instanceof CorruptSection)
    return `${error.message}. Nothing was changed; restore the directory from a copy, or choose another one`
  return null
}

function optionsOf(
  settings: Settings,
  { load }: StatePaths,
  { mnemonic, keys, policies, stop, deposed = () => undefined, log, observation = {} }: StartDeps,
): PocketchainOptions {
  const progress = new Progress({ line: log, rewrite: null, intervalMs: IMPORT_INTERVAL_MS })
  const forkProgress = new Progress({ line: log, rewrite: null })
  return {
    ...observation,
    mnemonic,
    ...cadenceChoice(settings),
    order: settings.order,
    compat: settings.compat,
    ...present({ clientVersion: settings.clientVersion, latest: settings.latest }),
    accounts: settings.accounts,
    derivationPath: settings.derivationPath,
    autoImpersonate: settings.autoImpersonate,
    tier1: settings.tier1,
    wallet: settings.noWallet ? false : { policy: settings.walletPolicy, allowHttpLoopback: settings.allowHttpLoopback, keys },
    bundler: settings.noBundler
      ? false
      : present({
          rules: settings.bundlerRules,
          minStake: settings.bundlerMinStake,
          minUnstakeDelay: settings.bundlerUnstakeDelay === null ? null : BigInt(settings.bundlerUnstakeDelay),
        }),
    sponsor: settings.noSponsor ? false : present({ policies }),
    signal: stop,
    onImported: (number) => {
      if (!settings.quiet) progress.update(() => `importing: block ${grouped(number)}`)
    },
    onForkProgress: ({ requests, keys, cacheHits }) => {
      if (!settings.quiet) forkProgress.update(() => `forking: ${requests} requests, ${keys} keys, ${cacheHits} from the cache`)
    },
    onNote: log,
    onError: createErrorLog(log),
    ...(settings.genesis === null ? {} : { genesis: readFile(settings.genesis, '--genesis').toString() }),
    ...(settings.import === null ? {} : { importedChain: readFile(settings.import, '--import') }),
    ...(load === null ? {} : { stateFile: readFile(load.path, load.flag) }),
    ...(settings.disableCreate2 ? { factories: false } : {}),
    ...(settings.withAccounts ? { withAccounts: true } : {}),
    ...(settings.disableCodeSizeLimit ? { codeSizeLimit: null } : present({ codeSizeLimit: settings.codeSizeLimit })),
    ...(settings.transactionGasCap === 0n ? { transactionGasCap: null } : present({ transactionGasCap: settings.transactionGasCap })),
    ...present({
      fork: forkOf(settings),
      fleet: fleetOf(settings, deposed),
      clock: settings.clock,
      chainId: settings.chainId,
      balance: settings.balance,
      fundedAccounts: settings.fundAccounts.length === 0 ? null : fundedAccountsOf(settings),
      chaos: chaosProfileOf(settings),
      seed: settings.seed,
      number: settings.number,
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

/** Empty for the default: a process that joins a fleet has the cadence of its chain. */
function cadenceChoice(settings: Settings): Pick<PocketchainOptions, 'cadence'> {
  const { cadence, noMining, blockTime, flashblockTime, import: importedChain } = settings
  const isDefault = cadence === null && !noMining && blockTime === null && flashblockTime === null && importedChain === null
  return isDefault ? {} : { cadence: cadenceOf(settings) }
}

function fundedAccountsOf({ fundAccounts, balance: ofDevAccounts }: Settings): PocketchainOptions['fundedAccounts'] & {} {
  const standard = ofDevAccounts ?? 10_000n * 10n ** 18n
  return fundAccounts.map(({ address, balance }) => ({ address, balance: balance ?? standard }))
}

/** null without --fleet and --database, which need each other. */
function fleetOf({ fleet, database, role }: Settings, onDeposed: (error: Error) => void): FleetOptions | null {
  if (fleet === null && database === null) return null
  if (fleet === null || database === null)
    throw new CommandError(EXIT.usage, '--fleet and --database need each other: NATS carries the messages, PostgreSQL keeps the blocks')
  return { nats: fleet, database, role, onDeposed }
}

/** Time between two lines about the import. */
const IMPORT_INTERVAL_MS = 1_000
/** null without --fork-url. */
function forkOf(settings: Settings): ForkOptions | null {
  if (settings.forkUrl.length === 0) return null
  return {
    url: settings.forkUrl,
    storageCaching: !settings.noStorageCaching,
    noRateLimit: settings.noRateLimit,
    headers: Object.fromEntries(settings.forkHeader.map(headerOf)),
    ...present({
      blockNumber: settings.forkBlockNumber,
      transactionHash: settings.forkTransactionHash,
      chainId: settings.forkChainId,
      timeoutMs: settings.timeout,
      retries: settings.retries,
      backoffMs: settings.forkRetryBackoff,
      computeUnitsPerSecond: settings.computeUnitsPerSecond,
      cachePath: settings.cachePath,
    }),
  }
}

function headerOf(line: string): readonly [name: string, value: string] {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).trim()]
}

function listenOptionsOf(settings: Settings, host: string, port: number) {
  return {
    port,
    host,
    allowOrigins: settings.allowOrigin,
    allowHosts: settings.allowHost,
    cors: !settings.noCors,
    ...present({ tlsFolder: settings.tlsFolder, keys: settings.keys }),
  }
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> }

/** Removes the keys with null; the module that uses them sets their defaults. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Present<T> // only nulls were removed
}

function readFile(path: string, flag: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CommandError(EXIT.file, `${flag} ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
