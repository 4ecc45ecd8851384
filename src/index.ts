import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Bundler } from './bundler/index.ts'
import { CADENCES, Chain, DEFAULT_L1, ManualClock, RealClock, SEQUENCER_FEE_VAULT, importChain } from './chain/index.ts'
import type { ChainOptions, Clock } from './chain/index.ts'
import { COMPAT, STATE_HISTORY_BLOCKS } from './compat.ts'
import type { Compat } from './compat.ts'
import { Hash } from './eth/index.ts'
import { configureTier1, loadPrecompiles } from './evm/index.ts'
import type { Paymaster } from './paymaster/index.ts'
import { GAS_LIMIT, accountsOf, beginningOf, bundlerKey, faceOf, feeParametersOf, genesisCallsOf, genesisOf } from './root/index.ts'
import { assertLedger, loadedOf, sponsorOf, walletOf } from './root/index.ts'
import type { Begun, DevAccount, Loaded, PocketchainOptions, Sponsor } from './root/index.ts'
import { DevAccounts, Workers, createRpc, memoryRecords, nodeThreads } from './rpc/index.ts'
import type { NodeRpc, Records, Rpc, RpcRequest } from './rpc/index.ts'
import type { ListenOptions, Served, Server } from './server/index.ts'
import { MemoryStorage, StorageError, Store, mergeAccounts, openLmdb, stateFileText } from './store/index.ts'
import type { StorageBackend } from './store/index.ts'
import { Publisher } from './stream/index.ts'
import type { Wallet } from './wallet/index.ts'

/** A running chain with its JSON-RPC face. No port is open until `listen`. */
export interface Pocketchain extends Rpc {
  readonly chain: Chain
  readonly store: Store
  readonly accounts: readonly DevAccount[]
  /** such as `pocketchain/0.1.0/linux-x64/node20.20.2` */
  readonly clientVersion: string
  /** the flashblock stream, without a socket */
  readonly publisher: Publisher
  /** What apps ask and a person or a script answers. Throws Error when there is none. */
  readonly wallet: Wallet
  /** What sponsors operations. Throws Error when there is none. */
  readonly sponsor: Paymaster
  /** Closes the wallet and puts a new one in its place that knows no site, batch or added chain, and keeps nothing: for the next test. */
  readonly renewWallet: () => Promise<Wallet>
  /** Closes bundler and sponsor; who asks next meets new ones, without faults, operations or a ledger, that keep nothing: for the next test. */
  readonly renewSponsor: () => Promise<void>
  /** EIP-1193. Throws RpcError. */
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** Opens a port: any free one unless said. Throws ListenError, and Error after `close`. */
  readonly listen: (options?: Partial<ListenOptions>) => Promise<Server>
  /**
   * The newest sealed state and all blocks as a state file, which anvil reads too: JSON in pieces, between which the chain may go on. Throws
   * StateFileError for a chain too long, and RewoundState or PrunedState when the chain goes back, or far on, meanwhile.
   */
  readonly stateFile: () => Iterable<string>
  /** Stops the chain and closes what was opened. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export const VERSION = readVersion()

/** Each takes 20 MB once it has started, and the state a second time. */
const WORKERS = 4

/**
 * Starts a chain. Throws GenesisError, ImportError, StateFileError or DecodeError for files that cannot be used, RangeError for options that cannot, and
 * StorageError, OtherGenesis, StateRootMismatch, UnreadableJournal, CorruptRecord or CorruptSection for a directory that cannot.
 */
export async function createPocketchain(options: PocketchainOptions = {}): Promise<Pocketchain> {
  if (options.tier1 !== undefined) configureTier1({ mode: options.tier1 })
  const shelf = await shelfOf(options)
  try {
    return await started(options, shelf)
  } catch (error) {
    await shelf.close()
    throw error
  }
}

async function started(given: PocketchainOptions, shelf: StorageBackend): Promise<Pocketchain> {
  const { onNote = writeNote, onError = writeError } = given
  const options: Begun = { ...given, onNote, onError, genesisCalls: await genesisCallsOf(given) }
  const accounts = accountsOf(options)
  const clock = clockOf(options)
  const loaded = loadedOf(options, accounts, clock, shelf)
  const store = new Store(shelf, { stateBlocks: options.prune ?? null })
  if (options.sponsor !== false) await assertLedger(store.records)
  const settings = chainOptions(options, accounts, { clock, store, loaded })
  assertChainId(store, settings.genesis.config.chainId)
  const chain = new Chain(settings)
  if (loaded !== null && loaded.accounts.length > 0) await chain.edit((world) => mergeAccounts(world, loaded.accounts))
  if (options.minGasPrice !== undefined) chain.setMinGasPrice(options.minGasPrice)
  if (options.importedChain !== undefined) await importChain(chain, options.importedChain, options.onImported)
  const clientVersion = `pocketchain/${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`
  const signers = new DevAccounts(accounts.map(({ privateKey }) => privateKey))
  signers.setAutoImpersonation(options.autoImpersonate ?? false)
  const compat = COMPAT[options.compat ?? 'default']
  const workers = workersOf(options, chain, compat, onError)
  const beside: Beside = { wallet: null, servers: [], bundler: null, sponsor: null }
  const rpc = createRpc({
    chain,
    accounts: signers,
    compat,
    parallel: workers,
    sharing: workers?.sharing ?? null,
    wallet: options.wallet === false ? null : { callsStatus: async (id, origin) => beside.wallet?.face.callsStatus(id, origin) },
    bundler: options.bundler === false ? null : { request: async (request) => (await bundlerOf(options, rpc, beside)).request(request) },
    sponsor: options.sponsor === false ? null : { request: async (request) => beside.sponsor?.control(request) },
    clientVersion,
    onBug: onError,
  })
  if (options.sponsor !== false) beside.sponsor = await sponsorOf(options, rpc, store.records)
  const { servers } = beside
  const hasSponsor = beside.sponsor !== null
  const makeWallet = (records: Records): Wallet =>
    walletOf(options.wallet || {}, records, { chain, rpc, accounts, servers, hasSponsor, onError })
  if (options.wallet !== false) beside.wallet = makeWallet(store.records)
  await chain.start()
  return assemble({ chain, store, rpc, workers, accounts, clientVersion, onError, beside, makeWallet })
}

/** What comes after the node's methods, and they after it. */
interface Beside {
  wallet: Wallet | null
  /** null: nobody has asked it anything */
  bundler: Promise<Bundler> | null
  sponsor: Sponsor | null
  /** that have listened */
  readonly servers: Server[]
}

/** Who sends no user operations never loads it. */
function bundlerOf(options: Begun, rpc: Rpc, beside: Beside): Promise<Bundler> {
  const { onError } = options
  beside.bundler ??= import('./bundler/index.ts').then(({ createBundler }) =>
    createBundler({ ...(options.bundler || undefined), rpc, key: bundlerKey(options), testMode: true, onError }),
  )
  return beside.bundler
}

/** A genesis block does not tell its chain id, and transactions signed for another one would be replayed. Throws StorageError. */
function assertChainId({ records, height }: Store, chainId: number): void {
  const stored = records.get(CHAIN_ID_RECORD)
  const kept = stored === null ? null : Buffer.from(stored).toString()
  if (kept === null || height < 0) records.put(CHAIN_ID_RECORD, Buffer.from(String(chainId)))
  else if (kept !== String(chainId)) {
    throw new StorageError(
      'foreign',
      `the directory holds the chain ${kept}, not ${chainId}; start it with --chain-id ${kept}, or choose another one`,
    )
  }
}

const CHAIN_ID_RECORD = 'chain id'

/** The library of the disk is loaded by those who want one. */
async function shelfOf({ data, prune, stateHistory }: PocketchainOptions): Promise<StorageBackend> {
  if (data === undefined) {
    if (prune !== undefined)
      throw new RangeError('prune is for a chain that is kept in a directory; without one, stateHistory says what stays')
    return new MemoryStorage()
  }
  if (stateHistory !== undefined)
    throw new RangeError('stateHistory is for a chain in memory; of one that is kept in a directory, prune says what stays')
  return openLmdb(data)
}

interface Parts {
  readonly chain: Chain
  readonly store: Store
  readonly rpc: NodeRpc
  readonly workers: Workers | null
  readonly accounts: readonly DevAccount[]
  readonly clientVersion: string
  readonly onError: (error: unknown) => void
  readonly beside: Beside
  readonly makeWallet: (records: Records) => Wallet
}

function assemble(parts: Parts): Pocketchain {
  const { chain, store, rpc, workers, accounts, clientVersion, beside, makeWallet } = parts
  const publisher = new Publisher(chain.head)
  const servers: Promise<Server>[] = []
  let closed: Promise<void> | null = null
  const end = async (): Promise<void> => {
    // Who waits for a person is refused now, or servers would wait along.
    await beside.wallet?.close()
    await (await beside.bundler)?.close()
    await beside.sponsor?.close()
    // Who waits for a thread is refused now, or servers would wait along.
    await workers?.close()
    // Also those that were still opening their port; why one could not, its caller was told.
    const opened = await Promise.allSettled(servers)
    await Promise.all(opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value.close()] : [])))
    await chain.stop()
    publisher.close()
    rpc.close()
    await store.close()
  }
  const close = (): Promise<void> => (closed ??= end())
  return {
    chain,
    store,
    accounts,
    clientVersion,
    publisher,
    get wallet() {
      if (beside.wallet === null) throw new Error('the node was started without a wallet (wallet: false)')
      return beside.wallet
    },
    get sponsor() {
      if (beside.sponsor === null) throw new Error('the node was started without a sponsor (sponsor: false)')
      return beside.sponsor
    },
    renewWallet: async () => {
      if (beside.wallet === null) throw new Error('the node was started without a wallet (wallet: false)')
      await beside.wallet.close()
      return (beside.wallet = makeWallet(memoryRecords()))
    },
    renewSponsor: async () => {
      const bundler = beside.bundler
      beside.bundler = null
      await (await bundler)?.close()
      await beside.sponsor?.renew()
    },
    stateFile: () => stateFileText(chain),
    request: (request) => rpc.request(request),
    subscribe: rpc.subscribe,
    listen: async (where = {}) => {
      if (closed !== null) throw new Error('the node is closed; it opens no port any more')
      const { wallet, sponsor } = beside
      const walletFace = wallet === null ? null : faceOf(() => beside.wallet ?? wallet)
      const server = open({ ...parts, publisher, walletFace, paymaster: sponsor }, { port: 0, ...where })
      servers.push(server)
      beside.servers.push(await server)
      return server
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The curves of the precompiles take 50 ms to load, which a first answer should not wait for, nor a flashblock later on. */
const CURVES_AFTER_MS = 1_000

/** Who never listens never loads the server. */
async function open(served: Served, options: ListenOptions): Promise<Server> {
  const { Server } = await import('./server/index.ts')
  const server = await Server.listen(served, options)
  setTimeout(() => void loadPrecompiles().catch(served.onError), CURVES_AFTER_MS).unref()
  return server
}

interface Ground {
  readonly clock: Clock
  readonly store: Store
  readonly loaded: Loaded | null
}

function chainOptions(options: Begun, accounts: readonly DevAccount[], { clock, store, loaded }: Ground): ChainOptions {
  const genesis = loaded?.genesis ?? genesisOf({ ...options, ...beginningOf(options, store) }, accounts, clock)
  const { cadence = 'preconf' } = options
  return {
    genesis,
    headState: loaded?.headState ?? null,
    clock,
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
    coinbase: SEQUENCER_FEE_VAULT,
    order: options.order ?? 'fees',
    seed: options.seed ?? 'pocketchain',
    historyBlocks: options.stateHistory ?? STATE_HISTORY_BLOCKS,
    instanceId: Hash.from(randomBytes(32)),
  }
}

function workersOf(options: PocketchainOptions, chain: Chain, compat: Compat, onBug: (error: unknown) => void): Workers | null {
  const most = options.workers ?? threadsFor(availableParallelism())
  if (!Number.isSafeInteger(most) || most < 0) throw new RangeError(`workers must be 0 or more, not ${most}`)
  if (most === 0) return null
  const { sealed, config } = chain
  const headVersion = () => sealed.headVersion
  return new Workers({ most, history: sealed.history, headVersion, config, compat, start: nodeThreads(), onBug })
}

/** One core is for the sockets and the chain; of two, these need little as long as threads have work for both. */
function threadsFor(cores: number): number {
  return cores === 1 ? 0 : Math.min(WORKERS, Math.max(2, cores - 1))
}

function clockOf({ clock = 'real', timestamp }: PocketchainOptions): Clock {
  if (typeof clock !== 'string') return clock
  return clock === 'real' ? new RealClock() : new ManualClock(timestamp === undefined ? Date.now() : timestamp * 1_000)
}

function writeNote(line: string): void {
  process.stderr.write(`pocketchain: ${line}\n`)
}

function writeError(error: unknown): void {
  process.stderr.write(`pocketchain: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
}

/** The package's own, found from src/ and from dist/ alike. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown'
}

export { DEFAULT_MNEMONIC } from './root/index.ts'
export type { BundlerChoices, DevAccount, PocketchainOptions, SponsorChoices, WalletChoices } from './root/index.ts'
export type { Server } from './server/index.ts'
export type { Wallet } from './wallet/index.ts'
