import { Chain, importChain } from '../chain/index.ts'
import type { ChainOptions, Chaos, PromiseControl } from '../chain/index.ts'
import { COMPAT, DEV_CLIENT } from '../compat.ts'
import type { Compat } from '../compat.ts'
import { canReadCurves, loadPrecompiles } from '../evm/index.ts'
import { CODE, RpcError, memoryRecords } from '../jsonrpc/index.ts'
import type { Rpc, RpcRequest } from '../jsonrpc/index.ts'
import type { Paymaster } from '../paymaster/index.ts'
import { DevAccounts, VERSION, createRpc, nodeRecoveryThread } from '../rpc/index.ts'
import type { ForkStatus, NodeRpc } from '../rpc/index.ts'
import type { ListenOptions, ServerDeps, Server } from '../server/index.ts'
import { MemoryStorage, Store, mergeAccounts, openLmdb, stateFileText } from '../store/index.ts'
import type { StateFileOptions } from '../store/index.ts'
import type { StorageBackend } from '../store/index.ts'
import { Publisher } from '../stream/index.ts'
import type { Wallet } from '../wallet/index.ts'
import { bundlerOf } from './bundler.ts'
import type { NodeBundler } from './bundler.ts'
import { ensureChainId, chainOptionsOf, clockOf } from './chainoptions.ts'
import type { ChainDeps } from './chainoptions.ts'
import { chaosProfileOf, startChaos } from './chaos.ts'
import { checkListenOptions, checkOptions, checkStateFileOptions } from './checkoptions.ts'
import type { Fleet } from '../fleet/index.ts'
import { inFleet, loadedOf, openTemporary } from './fleet.ts'
import type { Fork } from './fork.ts'
import { firstBlockOf, genesisPartsOf } from './genesis.ts'
import { accountsOf } from './keys.ts'
import { NodeFork, closeFork } from './nodefork.ts'
import { ProgressTimer } from './progresstimer.ts'
import type { DevAccount } from './keys.ts'
import { serviceRoutes } from './methods.ts'
import type { PocketchainOptions, ReportingOptions, StartOptions } from './options.ts'
import { assertLedger, assertSamePolicies, recordPolicies, sponsorOf } from './sponsor.ts'
import type { Sponsor } from './sponsor.ts'
import { reportForgottenSnapshot } from './snapshotnote.ts'
import { loadStateFile } from './statefile.ts'
import type { LoadedState } from './statefile.ts'
import { workersOf } from './threads.ts'
import type { NodeWorkers } from './threads.ts'
import { NodeWallet } from './wallet.ts'

/** A running chain with its JSON-RPC methods. No port is open until `listen`. */
export interface Pocketchain extends Rpc {
  readonly chain: Chain
  readonly store: Store
  readonly accounts: readonly DevAccount[]
  /** Status of the fork: upstream, fork block and counters of its requests; null: the chain is not a fork. */
  readonly fork: ForkStatus | null
  /** The node's part in a fleet; null: one process. */
  readonly fleet: Pick<Fleet, 'status'> | null
  /** such as `pocketchain/1.2.3/linux-x64/node20.20.2` */
  readonly clientVersion: string
  /** the flashblock stream, without a socket */
  readonly publisher: Publisher
  /** Control over promises, and the records of their outcomes. */
  readonly promises: PromiseControl
  /** The wallet of the node. Throws Error if the node runs without one. */
  readonly wallet: Wallet
  /** The gas sponsor of the node. Throws Error if the node runs without one. */
  readonly sponsor: Paymaster
  /** Closes the wallet and replaces it with a new one without sites, batches and added chains, which keeps its records in memory: for the next test. */
  readonly renewWallet: () => Promise<Wallet>
  /** Closes bundler and sponsor; the next requests create new ones without faults, operations and ledger, which keep nothing: for the next test. */
  readonly renewSponsor: () => Promise<void>
  /** EIP-1193. Throws RpcError; after `close` for every request. */
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** Opens a port, any free one unless given. Throws ListenError, RangeError for options that cannot be used, and Error after `close`. */
  readonly listen: (options?: Partial<ListenOptions>) => Promise<Server>
  /**
   * The newest sealed state and all blocks as a state file, which anvil reads too: JSON in pieces, between which the chain may continue. Throws
   * StateFileError for a chain that is too large, and RewoundState or PrunedState if the chain is rewound, or moves too far, meanwhile.
   */
  readonly stateFile: (options?: StateFileOptions) => Iterable<string>
  /** Stops the chain and closes all parts of the node. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/**
 * Starts a chain. Throws GenesisError, ImportError, StateFileError or DecodeError for files that cannot be used, RangeError for options that cannot, and
 * StorageError, GenesisMismatch, StateRootMismatch, CorruptOpenBlockRecord, CorruptRecord or CorruptSection for a directory that cannot. Rejects with the
 * reason of `signal` if it is aborted before the node is ready.
 */
export async function createPocketchain(options: PocketchainOptions = {}): Promise<Pocketchain> {
  checkOptions(options)
  if (!canReadCurves()) await loadPrecompiles()
  const { signal: stop, onNote = writeNote, onError = writeError } = options
  stop?.throwIfAborted()
  const start = new AbortController()
  const { signal } = start
  const abort = () => start.abort(stop?.reason)
  stop?.addEventListener('abort', abort)
  try {
    const node = await startNode({ ...options, signal, onNote, onError })
    if (signal.aborted) await node.close()
    signal.throwIfAborted()
    return node
  } catch (error) {
    // The part that was interrupted rejects with an error of its own.
    signal.throwIfAborted()
    throw error
  } finally {
    stop?.removeEventListener('abort', abort)
  }
}

async function startNode(options: ReportingOptions): Promise<Pocketchain> {
  if (options.fork === undefined) return openNode(options, null)
  const { openUpstream } = await import('./fork.ts')
  const progress = options.onForkProgress === undefined ? null : new ProgressTimer(options.onForkProgress)
  try {
    return await openNode(options, await openUpstream(options, options.fork, { progress, signal: options.signal }))
  } finally {
    progress?.end()
  }
}

async function openNode(options: ReportingOptions, fork: Fork | null): Promise<Pocketchain> {
  const storage = await openStorage(options, fork?.block.header.number ?? firstBlockOf(options))
  let fleet: Fleet | null = null
  try {
    fleet = await joinFleet(options, storage)
    return await createNode(options, fleet?.storage ?? storage, fork, fleet)
  } catch (error) {
    await fleet?.close()
    await storage.close()
    // Another sequencer began the chain at the same time: this one joins it.
    if (fleet !== null && error instanceof (await import('../fleet/index.ts')).FleetError && error.reason === 'begun')
      return openNode(options, fork)
    await closeFork(fork)
    throw error
  }
}

/** The clients of NATS and PostgreSQL are loaded for a fleet only. */
async function joinFleet({ fleet, chainId, signal, onNote, onError }: ReportingOptions, storage: StorageBackend): Promise<Fleet | null> {
  if (fleet === undefined) return null
  return (await import('../fleet/index.ts')).Fleet.join(fleet, { storage, chainId: chainId ?? null, signal, onNote, onError })
}

/** LMDB is loaded only for a chain that is kept in a directory. */
async function openStorage({ data, prune, stateHistory, fleet }: PocketchainOptions, firstBlock: number): Promise<StorageBackend> {
  if (fleet !== undefined && firstBlock !== 0)
    throw new RangeError(`a fleet's chain begins with block 0, not ${firstBlock}; leave out the number`)
  if (data === undefined && fleet !== undefined) return openTemporary()
  if (data === undefined) {
    if (prune !== undefined) throw new RangeError('prune needs a data directory; use stateHistory for a chain in memory')
    return new MemoryStorage(firstBlock)
  }
  if (firstBlock !== 0) throw new RangeError(`a chain in a data directory begins with block 0, not ${firstBlock}; leave out --data`)
  if (stateHistory !== undefined) throw new RangeError('stateHistory is for a chain in memory; use prune with a data directory')
  return openLmdb(data)
}

async function createNode(
  given: ReportingOptions,
  storage: StorageBackend,
  origin: Fork | null,
  fleet: Fleet | null,
): Promise<Pocketchain> {
  const { onNote, onError } = given
  const forked = origin === null ? given : { ...given, chainId: origin.chainId }
  const options: StartOptions = { ...forked, ...(await genesisPartsOf(forked)) }
  const accounts = accountsOf(options)
  const chaosProfile = chaosProfileOf(options)
  const clock = clockOf(options)
  // Before the store, whose index covers the blocks that are in the storage when it is opened.
  const loaded = loadedOf(fleet, options, accounts, clock) ?? loadStateFile(options, accounts, clock, storage, origin)
  const store = new Store(storage, { stateBlocks: options.prune ?? null })
  if (options.sponsor !== false) {
    if (fleet !== null) assertSamePolicies(fleet, options, store.records)
    await assertLedger(store.records)
  }
  const fork = origin === null ? null : await (await import('./fork.ts')).startFork(origin, options, accounts)
  const start = inFleet(fleet, chainOptionsOf(options, accounts, { clock, store, loaded, fork }))
  const chain = await chainOf(options, start, { store, loaded, fleet })
  reportForgottenSnapshot(chain, options)
  const signers = new DevAccounts(accounts.map(({ privateKey }) => privateKey))
  signers.setAutoImpersonation(options.autoImpersonate ?? false)
  const clientVersion = `pocketchain/${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`
  const compat = compatOf(options)
  const workers = workersOf(options, { chain, compat, onBug: onError })
  // The products use the node's Rpc port, and their methods are routes of the node.
  const node = (): NodeRpc => rpc
  const wallet = options.wallet === false || (fleet !== null && fleet.role !== 'sequencer') ? null : new NodeWallet()
  const bundler =
    options.bundler === false
      ? null
      : bundlerOf(options, {
          rpc: node,
          head: chain.head,
          records: options.data === undefined && fleet === null ? null : store.records,
          settled: fleet?.recordsSettled ?? (async () => undefined),
        })
  const sponsor = options.sponsor === false ? null : sponsorOf(options, node, store.records)
  const onRestart = async (): Promise<void> => {
    await workers?.renew()
    await bundler?.renew()
    await sponsor?.renew()
  }
  const nodeFork = new NodeFork({ chain, accounts, options, start, store, fork, onRestart })
  const rpc = createRpc({
    chain,
    accounts: signers,
    compat,
    workers,
    offloadPolicy: workers?.offloadPolicy ?? null,
    recoveryThread: workers === null ? null : nodeRecoveryThread(),
    routes: serviceRoutes({ wallet: wallet?.api ?? null, bundler, sponsor }),
    clientVersion,
    ...(options.observer === undefined ? {} : { observer: options.observer }),
    fork: nodeFork,
    intercept: () => fleet?.intercept ?? null,
    devClientVersion: options.clientVersion ?? `${DEV_CLIENT}/pocketchain/${VERSION}`,
    onBug: onError,
  })
  if (fleet === null || fleet.isSequencer) await sponsor?.prepare()
  wallet?.open(options.wallet || {}, store.records, { chain, rpc, accounts, hasSponsor: sponsor !== null, onError })
  if (origin !== null && origin.replay !== null) await (await import('./fork.ts')).replayTransactions(chain, origin.replay)
  try {
    if (fleet === null) await chain.start()
    else
      await fleet.start({
        chain,
        rpc,
        paymaster: sponsor,
        onLead: async () => {
          wallet?.resume()
          if (sponsor !== null) recordPolicies(fleet, options, store.records)
          await sponsor?.prepare()
          await bundler?.prepare()
        },
        onFollow: async (refusal) => {
          await wallet?.suspend(refusal)
          await bundler?.suspend(refusal)
        },
        endSponsor: async (refusal) => sponsor?.suspend(refusal),
      })
    if (fleet === null) await bundler?.prepare()
  } catch (error) {
    fleet?.giveUpWaiting()
    await chain.close()
    throw error
  }
  const chaos = chaosProfile === null ? null : startChaos(chaosProfile, options, chain)
  return assemble({
    chain,
    chaos,
    store,
    rpc,
    workers,
    accounts,
    clientVersion,
    onNote,
    onError,
    wallet,
    bundler,
    sponsor,
    fork: nodeFork,
    fleet,
  })
}

function compatOf({ compat = 'default', latest = COMPAT[compat].latestState }: PocketchainOptions): Compat {
  return { ...COMPAT[compat], latestState: latest }
}

async function chainOf(
  options: StartOptions,
  settings: ChainOptions,
  { store, loaded, fleet }: Pick<ChainDeps, 'store' | 'loaded'> & { readonly fleet: Fleet | null },
): Promise<Chain> {
  ensureChainId(store, settings.genesis.config.chainId)
  const chain = new Chain(settings)
  if (chain.hasOtherContracts) options.onNote(chain.hasGenesisState ? OTHER_CONTRACTS : OTHER_START)
  if (fleet !== null && fleet.definition === null) await fleet.define(chain, settings)
  if (loaded !== null && loaded.accounts.length > 0) await chain.edit((world) => mergeAccounts(world, loaded.accounts))
  await fundLacking(chain, loaded?.funded ?? [])
  if (options.minGasPrice !== undefined) chain.setMinGasPrice(options.minGasPrice)
  if (options.importedChain !== undefined) {
    await importChain(chain, options.importedChain, (number) => {
      options.signal.throwIfAborted()
      options.onImported?.(number)
    })
    await fleet?.noteImported(chain)
  }
  return chain
}

/** As anvil: accounts of a state file keep their balances, and those that it lacks get theirs. */
async function fundLacking(chain: Chain, accounts: LoadedState['funded']): Promise<void> {
  const { view } = chain.head
  const state = view.state(view.head)
  const lacking = accounts.filter(({ address, balance }) => balance > 0n && state.account(address) === null)
  if (lacking.length === 0) return
  await chain.edit((world) => {
    for (const { address, balance } of lacking) world.setBalance(address, balance)
  })
}

const OTHER_CONTRACTS =
  'the chain in this directory began with other contracts, in another version of pocketchain or with another --with-accounts: it keeps those'

const OTHER_START =
  'the chain in this directory began with other flags or in another version of pocketchain, and its first state cannot be compared, because it was edited before block 1 or is pruned: the chain keeps its accounts, and anvil_reset is refused until it is started with the flags with which it was created'

interface Parts {
  readonly chain: Chain
  /** null: no faults */
  readonly chaos: Chaos | null
  readonly store: Store
  readonly rpc: NodeRpc
  readonly workers: NodeWorkers | null
  readonly accounts: readonly DevAccount[]
  readonly clientVersion: string
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
  readonly wallet: NodeWallet | null
  readonly bundler: NodeBundler | null
  readonly sponsor: Sponsor | null
  readonly fork: NodeFork
  /** null: one process */
  readonly fleet: Fleet | null
}

function assemble(parts: Parts): Pocketchain {
  const { chain, rpc, accounts, clientVersion, bundler } = parts
  const publisher = new Publisher(chain.head)
  const servers: Promise<Server>[] = []
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= shutDown(parts, publisher, servers))
  const refused = (): Promise<never> => Promise.reject(new RpcError(CODE.server, 'the node is closed; createPocketchain starts another'))
  const wallet = (): NodeWallet => {
    if (parts.wallet === null) throw new Error('the node was started without a wallet (wallet: false)')
    return parts.wallet
  }
  return {
    chain,
    get store() {
      return parts.fork.store
    },
    get fork() {
      return parts.fork.status
    },
    fleet: parts.fleet,
    accounts,
    clientVersion,
    publisher,
    promises: chain.promises,
    get wallet() {
      return wallet().current
    },
    get sponsor() {
      if (parts.sponsor === null) throw new Error('the node was started without a sponsor (sponsor: false)')
      return parts.sponsor
    },
    renewWallet: async () => wallet().renew(memoryRecords()),
    renewSponsor: async () => {
      await bundler?.renew()
      await parts.sponsor?.renew()
    },
    stateFile: (what = {}) => {
      checkStateFileOptions(what)
      return stateFileText(chain, what)
    },
    request: (request) => (closed === null ? rpc.request(request) : refused()),
    subscribe: (params, listener) => (closed === null ? rpc.subscribe(params, listener) : refused()),
    listen: async (where = {}) => {
      checkListenOptions(where)
      if (closed !== null) throw new Error('the node is closed; it opens no port any more')
      const forkStatus = () => parts.fork.status
      const server = open(
        {
          ...parts,
          forkStatus,
          ...(parts.fleet === null ? {} : { fleetStatus: () => parts.fleet!.status() }),
          publisher,
          walletApi: parts.wallet?.api ?? null,
          paymaster: parts.sponsor === null ? null : (parts.fleet?.paymaster(parts.sponsor) ?? parts.sponsor),
        },
        { port: 0, ...where },
      )
      servers.push(server)
      parts.fork.ownPorts.add((await server).port)
      parts.wallet?.addServer(await server)
      return server
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function shutDown(
  { chain, chaos, store, rpc, workers, wallet, bundler, sponsor, fork, fleet }: Parts,
  publisher: Publisher,
  servers: readonly Promise<Server>[],
): Promise<void> {
  // Requests that wait for a person, a thread or another fork, or that mine many blocks, end first, because a server waits for its requests.
  chain.endMining()
  fork.endChanges()
  await wallet?.current.close()
  // Awaited below: a request of its own may wait for the database of a fleet or for the upstream of a fork.
  const bundlerClosed = bundler?.close()
  await sponsor?.close()
  await workers?.close()
  // Includes servers that were still opening their port; the caller of `listen` gets the reason of one that could not.
  const opened = await Promise.allSettled(servers)
  await Promise.all(opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value.close()] : [])))
  chaos?.stop()
  await fleet?.leave()
  fleet?.giveUpWaiting()
  await chain.close()
  publisher.close()
  await rpc.close()
  await fleet?.close()
  await fork.close()
  await bundlerClosed
  await store.close()
}

/** The curves of the precompiles take 50 ms to load, which would delay the first answer, or a flashblock later. */
const PRECOMPILES_DELAY_MS = 1_000

/** The server is loaded at the first `listen`. */
async function open(deps: ServerDeps, options: ListenOptions): Promise<Server> {
  const { Server } = await import('../server/index.ts')
  const server = await Server.listen(deps, options)
  setTimeout(() => void loadPrecompiles().catch(deps.onError), PRECOMPILES_DELAY_MS).unref()
  return server
}

function writeNote(line: string): void {
  process.stderr.write(`pocketchain: ${line}\n`)
}

function writeError(error: unknown): void {
  process.stderr.write(`pocketchain: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
}
