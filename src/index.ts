import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import {
  CADENCES,
  Chain,
  DEFAULT_CODE_SIZE_LIMIT,
  DEFAULT_FEE_PARAMETERS,
  DEFAULT_HARDFORK,
  DEFAULT_L1,
  DEFAULT_TRANSACTION_GAS_CAP,
  ManualClock,
  RealClock,
  SEQUENCER_FEE_VAULT,
  defaultGenesis,
  importChain,
  opConfig,
  parseGenesis,
} from './chain/index.ts'
import type { Cadence, CadenceKind, ChainOptions, Clock, DefaultGenesisOptions, FeeParameters, Genesis, PoolOrder } from './chain/index.ts'
import { COMPAT, STATE_HISTORY_BLOCKS } from './compat.ts'
import type { Compat, CompatName } from './compat.ts'
import { Hash, Mnemonic, Secp256k1 } from './eth/index.ts'
import type { Address, PrivateKey } from './eth/index.ts'
import type { Bundler } from './bundler/index.ts'
import { configureTier1, loadPrecompiles, OP_FORKS } from './evm/index.ts'
import type { OpFork, Tier1Mode, WriteSet } from './evm/index.ts'
import type { Paymaster, PaymasterOptions } from './paymaster/index.ts'
import { CODE, DevAccounts, RpcError, Workers, createRpc, isLoopbackName, nodeThreads } from './rpc/index.ts'
import type { NodeRpc, Rpc, RpcRequest } from './rpc/index.ts'
import type { ListenOptions, Served, Server } from './server/index.ts'
import {
  MemoryShelf,
  ShelfError,
  StateFileError,
  Store,
  layOn,
  layered,
  mergeAccounts,
  openLmdb,
  readStateFile,
  stateFileText,
  stateOf,
} from './store/index.ts'
import type { Shelf, StateFile } from './store/index.ts'
import { Publisher } from './stream/index.ts'
import { Keyring, createWallet, embeddedChain, memoryRecords } from './wallet/index.ts'
import type { Keys, Records, Wallet, WalletChain, WalletFace, WalletOptions } from './wallet/index.ts'

/** Everything has a default; `createPocketchain({})` is the chain that `npx pocketchain` starts. */
export interface PocketchainOptions {
  /** 31337; with a genesis, that of the file */
  readonly chainId?: number
  /** when blocks come: `preconf` */
  readonly cadence?: Cadence | CadenceKind
  /** `manual`: time stands still until the clock is advanced */
  readonly clock?: Clock | 'real' | 'manual'
  /** same seed, same clock and same timestamp: same block hashes */
  readonly seed?: string
  /** order of waiting transactions: `fees` */
  readonly order?: PoolOrder
  /** where nodes disagree: `default` */
  readonly compat?: CompatName

  /** dev accounts: 10 of the words `test test … junk`, 10,000 ETH each */
  readonly accounts?: number
  readonly mnemonic?: string
  /** without the index: `m/44'/60'/0'/0` */
  readonly derivationPath?: string
  /** wei */
  readonly balance?: bigint
  /** eth_sendTransaction works from any address */
  readonly autoImpersonate?: boolean

  /** text of a genesis in geth's format; accounts are then funded by the file alone */
  readonly genesis?: string
  /** RLP blocks to execute before the first block of our own */
  readonly importedChain?: Uint8Array
  /** told of every imported block; what it throws stops the import, and `createPocketchain` rejects with it */
  readonly onImported?: (blockNumber: number) => void
  /**
   * a state file of ours or of anvil, or a genesis of geth, of which the accounts count: what the chain goes on from. A file with a genesis of its
   * own wins over the options that make one
   */
  readonly stateFile?: Uint8Array
  /** Unix time of block 0, seconds: now */
  readonly timestamp?: number
  /** newest rules in force, an OP fork or the L1 fork it runs on */
  readonly hardfork?: string
  /** bytes; null: no limit */
  readonly codeSizeLimit?: number | null
  /** null: no cap */
  readonly transactionGasCap?: bigint | null
  /** false: the default genesis lacks the CREATE2 factories, for scripts that deploy them by their known transactions */
  readonly factories?: boolean
  /** a directory where the chain is kept, and goes on from when it was kept there before: in memory */
  readonly data?: string
  /** with `data`: blocks whose state stays readable; blocks, receipts and logs all stay: unlimited */
  readonly prune?: number
  /** without `data`: blocks whose state stays readable: 8,192 */
  readonly stateHistory?: number

  /** of a block */
  readonly gasLimit?: bigint
  /** wei, of block 0 */
  readonly baseFee?: bigint
  /** wei */
  readonly minBaseFee?: bigint
  /** wei; transactions that offer less are refused */
  readonly minGasPrice?: bigint
  /** wei */
  readonly l1BaseFee?: bigint
  /** wei */
  readonly l1BlobBaseFee?: bigint

  /** the wallet beside the chain, whose accounts are the dev accounts and those given here; false: there is none */
  readonly wallet?: WalletChoices | false

  /** the ERC-4337 bundler beside the chain, loaded when it is first asked; false: there is none */
  readonly bundler?: BundlerChoices | false

  /**
   * the gas sponsor (ERC-7677) beside the chain, loaded when it is first asked, and at once when it has promised to pay for what did not come yet;
   * false: there is none
   */
  readonly sponsor?: SponsorChoices | false

  /** threads for calls that take long, started when one comes: one for each core but the first, at most 4. 0: they hold everybody up */
  readonly workers?: number

  /** experimental: what happens to code that burns much gas, for all chains of the process: `off`, it is interpreted */
  readonly tier1?: Tier1Mode

  /** gets what a person should know of the start; written to stderr unless given */
  readonly onNote?: (line: string) => void
  /** gets what broke inside although the node lives on; written to stderr unless given */
  readonly onError?: (error: unknown) => void
}

/** What may be chosen of the wallet. Its first chain is the node beside it, its records lie where the chain's do. */
export interface WalletChoices extends Omit<
  WalletOptions,
  'keyring' | 'records' | 'chains' | 'onError' | 'approvalUrl' | 'admits' | 'sponsor'
> {
  /** further chains, each with its connection */
  readonly chains?: WalletOptions['chains']
  /** keys beyond those of the dev accounts: what a keystore file holds, or keys that end with the process */
  readonly keys?: Omit<Keys, 'dev'>
}

/** What may be chosen of the bundler. */
export interface BundlerChoices {
  /** of the account that sends bundles; one that follows from the mnemonic and the derivation path unless given. The default genesis gives it ether */
  readonly key?: PrivateKey
  /** ERC-7562 holds for validations: true */
  readonly rules?: boolean
}

/** What may be chosen of the sponsor. Its ledger lies where the chain's records do. */
export interface SponsorChoices extends Omit<PaymasterOptions, 'rpc' | 'signer' | 'owner' | 'records' | 'onNote' | 'onError'> {
  /** signs what is sponsored; one that follows from the mnemonic and the derivation path unless given. The default genesis has paymasters for that one only */
  readonly signer?: PrivateKey
  /** pays deployments and deposits; as `signer`. The default genesis gives ether to the one that follows from the words */
  readonly owner?: PrivateKey
}

export interface DevAccount {
  readonly address: Address
  readonly privateKey: Uint8Array
}

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

const CHAIN_ID = 31_337
/** Known to everybody. */
export const DEFAULT_MNEMONIC = 'test test test test test test test test test test test junk'
const PATH = "m/44'/60'/0'/0"
const ETHER = 10n ** 18n
const GAS_LIMIT = 60_000_000n
/** Pays for bundles, which pay it back. */
const BUNDLER_BALANCE = 1_000n * ETHER
/** What the sponsor has for deposits, beside those that its paymasters begin with. */
const SPONSOR_BALANCE = 1_000n * ETHER
const SPONSOR_DEPOSIT = 100n * ETHER
const BASE_FEE = 1_000_000_000n
/** Each takes 20 MB once it has started, and the state a second time. */
const WORKERS = 4

/**
 * Starts a chain. Throws GenesisError, ImportError, StateFileError or DecodeError for files that cannot be used, RangeError for options that cannot, and
 * ShelfError, OtherGenesis, StateRootMismatch, UnreadableJournal, CorruptRecord or CorruptSection for a directory that cannot.
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

async function started(given: PocketchainOptions, shelf: Shelf): Promise<Pocketchain> {
  const options: Begun = { ...given, genesisCalls: await genesisCallsOf(given) }
  const accounts = accountsOf(options)
  const onError = options.onError ?? writeError
  const clock = clockOf(options)
  const loaded = loadedOf(options, accounts, clock, shelf)
  const store = new Store(shelf, { stateBlocks: options.prune ?? null })
  const settings = chainOptions(options, accounts, { clock, store, loaded, onBug: onError })
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
    wallet: options.wallet === false ? null : { callsStatus: async (id, origin) => beside.wallet?.face.callsStatus(id, origin) },
    bundler:
      options.bundler === false ? null : { request: async (request) => (await bundlerOf(options, rpc, beside, onError)).request(request) },
    sponsor: options.sponsor === false ? null : { request: async (request) => beside.sponsor?.control(request) },
    clientVersion,
    onBug: onError,
  })
  if (options.sponsor !== false) beside.sponsor = await sponsorOf(options, options.sponsor ?? {}, { rpc, store, onError })
  const makeWallet = (records: Records): Wallet => walletOf(options.wallet || {}, records, { chain, rpc, accounts, onError, beside })
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
function bundlerOf(options: PocketchainOptions, rpc: Rpc, beside: Beside, onError: (error: unknown) => void): Promise<Bundler> {
  const choices = options.bundler === false ? undefined : options.bundler
  beside.bundler ??= import('./bundler/index.ts').then(({ createBundler }) =>
    createBundler({ ...choices, rpc, key: bundlerKey(options), testMode: true, onError }),
  )
  return beside.bundler
}

/** No dev account, whose balances and nonces are the tests' own; whoever knows the words knows this key as well. */
function bundlerKey(options: PocketchainOptions): PrivateKey {
  const given = options.bundler === false ? undefined : options.bundler?.key
  return given ?? keyNamed('bundler', options)
}

function keyNamed(name: string, { mnemonic = DEFAULT_MNEMONIC, derivationPath = PATH }: PocketchainOptions): PrivateKey {
  return Hash.toBytes(Hash.ofText(`pocketchain ${name}\n${mnemonic}\n${derivationPath.replace(/\/$/, '')}`))
}

/** The paymaster of the moment. */
interface Sponsor extends Paymaster {
  /** Closes it. The next one keeps its ledger in memory. */
  readonly renew: () => Promise<void>
}

/** Who asks for no sponsorship never loads it. Options that must be right are looked at now: throws RangeError. */
async function sponsorOf(
  options: PocketchainOptions,
  choices: SponsorChoices,
  { rpc, store, onError }: Pick<Parts, 'rpc' | 'store' | 'onError'>,
): Promise<Sponsor> {
  let loaded: Promise<Paymaster> | null = null
  let records: Records = store.records
  const load = (): Promise<Paymaster> =>
    (loaded ??= import('./paymaster/index.ts').then(({ createPaymaster, NewerLedger }) => {
      try {
        return createPaymaster({ ...sponsorKeys(options), ...choices, rpc, records, onNote: options.onNote ?? writeNote, onError })
      } catch (error) {
        throw error instanceof NewerLedger ? new ShelfError('newer-format', error.message, error) : error
      }
    }))
  if (Object.keys(choices).length > 0 || hasPromised(records)) await load()
  return {
    handle: async (body, caller) => (await load()).handle(body, caller),
    control: async (request) => (await load()).control(request),
    settled: async () => (await load()).settled(),
    close: async () => (await loaded)?.close(),
    renew: async () => {
      const before = loaded
      loaded = null
      records = memoryRecords()
      await (await before)?.close()
    },
  }
}

/** A ledger was kept: what was promised may be used at any moment, or was. */
function hasPromised(records: Records): boolean {
  const [first] = records.entries('sponsor/')
  return first !== undefined
}

/** Options, and what is done in block 0 of a chain that has none of its own. */
type Begun = PocketchainOptions & { readonly genesisCalls: GenesisCalls }
type GenesisCalls = NonNullable<DefaultGenesisOptions['calls']>

/** The sponsor's paymasters with their deposits. A chain is the same with a sponsor and without: it is started again either way. */
async function genesisCallsOf(options: PocketchainOptions): Promise<GenesisCalls> {
  const { genesis, stateFile, mnemonic = DEFAULT_MNEMONIC, derivationPath = PATH, chainId = CHAIN_ID } = options
  if (genesis !== undefined) return []
  const isKnown = chainId === CHAIN_ID && mnemonic === DEFAULT_MNEMONIC && derivationPath.replace(/\/$/, '') === PATH
  // A state file may be of another chain.
  if (isKnown && stateFile === undefined) return 'prepared'
  const { depositCall, sponsorDeployments } = await import('./paymaster/index.ts')
  const { owner, signer } = sponsorKeys(options)
  const deployments = sponsorDeployments(Secp256k1.address(owner), Secp256k1.address(signer))
  return deployments.flatMap((each) => [
    { to: each.deployer, data: each.data },
    { ...depositCall(each), value: SPONSOR_DEPOSIT },
  ])
}

/** As the bundler's: of no dev account, and known to whoever knows the words. */
function sponsorKeys(options: PocketchainOptions): Readonly<Record<'owner' | 'signer', PrivateKey>> {
  return { owner: keyNamed('sponsor owner', options), signer: keyNamed('sponsor signer', options) }
}

type Ours = Pick<Parts, 'chain' | 'rpc' | 'accounts' | 'onError' | 'beside'>

function walletOf({ keys, chains = [], ...choices }: WalletChoices, records: Records, ours: Ours): Wallet {
  const { chain, rpc, accounts, onError, beside } = ours
  const open = () => beside.servers.filter(({ isClosed }) => !isClosed)
  const node = embeddedChain({ chain, request: rpc.request, subscribe: rpc.subscribe })
  const here: WalletChain = {
    ...node,
    get rpcUrls() {
      return open().map(({ url }) => url)
    },
  }
  return createWallet({
    ...choices,
    chains: [here, ...chains],
    keyring: Keyring.of({ ...keys, dev: accounts.map(({ privateKey }) => privateKey) }),
    records,
    onError,
    approvalUrl: () => linkOf(open()),
    admits: (origin) => open().every((server) => server.admits(origin)),
    sponsor: beside.sponsor === null ? null : { origins: () => open().flatMap(originsOf), ca: () => authorityOf(open()) },
  })
}

/** Of the wallet that there is now: a server outlives one that is renewed. */
function faceOf(beside: Beside, { face }: Wallet): WalletFace {
  const now = (): WalletFace => beside.wallet?.face ?? face
  return {
    handle: (body, caller) => now().handle(body, caller),
    provider: (origin) => now().provider(origin),
    control: {
      request: (request, options) => now().control.request(request, options),
      subscribe: (listener) => now().control.subscribe(listener),
    },
    callsStatus: (id, origin) => now().callsStatus(id, origin),
  }
}

/** Where its paymaster is found over TLS: apps say localhost as well, for which its certificate is, too. */
function originsOf({ httpsUrl, port }: Server): readonly string[] {
  return isLoopbackName(new URL(httpsUrl).hostname) ? [httpsUrl, `https://localhost:${port}`] : [httpsUrl]
}

/** PEM, of all ports: they may keep their certificates apart. */
function authorityOf(servers: readonly Server[]): string {
  return [...new Set(servers.map((server) => server.ca()))].join('\n')
}

function linkOf([server]: readonly Server[]): string {
  const entrance = server?.wallet ?? null
  if (entrance !== null) return entrance.link()
  throw new RpcError(CODE.server, 'no port is open, so there is no page: node.listen() opens one', { reason: 'no-page' })
}

/** A genesis block does not tell its chain id, and transactions signed for another one would be replayed. Throws ShelfError. */
function assertChainId({ records, height }: Store, chainId: number): void {
  const stored = records.get(CHAIN_ID_RECORD)
  const kept = stored === null ? null : Buffer.from(stored).toString()
  if (kept === null || height < 0) records.put(CHAIN_ID_RECORD, Buffer.from(String(chainId)))
  else if (kept !== String(chainId)) {
    throw new ShelfError(
      'foreign',
      `the directory holds the chain ${kept}, not ${chainId}; start it with --chain-id ${kept}, or choose another one`,
    )
  }
}

const CHAIN_ID_RECORD = 'chain id'

/** The library of the disk is loaded by those who want one. */
async function shelfOf({ data, prune, stateHistory }: PocketchainOptions): Promise<Shelf> {
  if (data === undefined) {
    if (prune !== undefined)
      throw new RangeError('prune is for a chain that is kept in a directory; without one, stateHistory says what stays')
    return new MemoryShelf()
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
      const server = open(
        { ...parts, publisher, walletFace: beside.wallet === null ? null : faceOf(beside, beside.wallet), paymaster: beside.sponsor },
        { port: 0, ...where },
      )
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

function accountsOf(options: PocketchainOptions): readonly DevAccount[] {
  const path = (options.derivationPath ?? PATH).replace(/\/$/, '')
  const keys = Mnemonic.privateKeys(options.mnemonic ?? DEFAULT_MNEMONIC, options.accounts ?? 10, path)
  return keys.map((privateKey) => ({ address: Secp256k1.address(privateKey), privateKey }))
}

interface Ground {
  readonly clock: Clock
  readonly store: Store
  readonly loaded: Loaded | null
  readonly onBug: (error: unknown) => void
}

function chainOptions(options: Begun, accounts: readonly DevAccount[], { clock, store, loaded, onBug }: Ground): ChainOptions {
  const genesis = loaded?.genesis ?? genesisOf({ ...options, ...beginningOf(options, store) }, accounts, clock)
  const { cadence = 'preconf' } = options
  return {
    genesis,
    headState: loaded?.headState ?? null,
    clock,
    feeParameters: feeParametersOf(options),
    onBug,
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

function feeParametersOf({ minBaseFee }: PocketchainOptions): FeeParameters {
  return minBaseFee === undefined ? DEFAULT_FEE_PARAMETERS : { ...DEFAULT_FEE_PARAMETERS, minBaseFee }
}

/** What a state file makes of a start. */
interface Loaded {
  /** null: that of the options */
  readonly genesis: Genesis | null
  /** of the newest block that lies on the shelf; null: none does, or the shelf keeps it */
  readonly headState: WriteSet | null
  /** what is laid over block 0 when the file's blocks are not */
  readonly accounts: StateFile['accounts']
}

/** Lays the file's blocks on the shelf, if it has any that can be. Throws StateFileError, and RangeError for a shelf that is not empty. */
function loadedOf(options: Begun, accounts: readonly DevAccount[], clock: Clock, shelf: Shelf): Loaded | null {
  const { stateFile, chainId, onNote = writeNote } = options
  if (stateFile === undefined) return null
  if (shelf.height >= 0)
    throw new RangeError(
      'a state file is for a new chain, and the data directory holds one; leave one of the two out, or take a new directory',
    )
  const file = readStateFile(stateFile)
  const told = file.own?.chainId ?? file.anvil?.chainId ?? null
  if (told !== null && chainId !== undefined && told !== chainId) {
    throw new StateFileError('chain id', `is ${told}, and ${chainId} was asked for; leave the chain id out, or take another file`)
  }
  const note = (reason: string) => onNote(`the blocks of the state file are left out: ${reason}; its accounts are laid over block 0`)
  const over = { genesis: null, headState: null, accounts: file.accounts }
  if (file.leftOut !== null) note(file.leftOut)
  const records = file.own?.records ?? file.anvil?.records
  if (records === undefined) return over
  const genesis = file.own?.genesis ?? genesisOf(told === null ? options : { ...options, chainId: told }, accounts, clock)
  const headState = file.own === null ? layered(genesis.state, stateOf(file.accounts)) : stateOf(file.accounts, true)
  if (layOn(shelf, records, genesis, headState)) return { genesis, headState: shelf.state === null ? headState : null, accounts: [] }
  note('the data directory takes only chains that began here')
  return over
}

/** A chain that goes on began when it began. */
function beginningOf({ timestamp }: PocketchainOptions, store: Store): Pick<PocketchainOptions, 'timestamp'> {
  const stored = store.timestampOf(0)
  return timestamp !== undefined || stored === null ? {} : { timestamp: stored }
}

function workersOf(options: PocketchainOptions, chain: Chain, compat: Compat, onBug: (error: unknown) => void): Workers | null {
  const most = options.workers ?? Math.min(WORKERS, availableParallelism() - 1)
  if (!Number.isSafeInteger(most) || most < 0) throw new RangeError(`workers must be 0 or more, not ${most}`)
  return most === 0 ? null : new Workers({ most, history: chain.sealed.history, config: chain.config, compat, start: nodeThreads(), onBug })
}

function clockOf({ clock = 'real', timestamp }: PocketchainOptions): Clock {
  if (typeof clock !== 'string') return clock
  return clock === 'real' ? new RealClock() : new ManualClock(timestamp === undefined ? Date.now() : timestamp * 1_000)
}

function genesisOf(options: Begun, accounts: readonly DevAccount[], clock: Clock): Genesis {
  const limits = {
    codeSizeLimit: options.codeSizeLimit === undefined ? DEFAULT_CODE_SIZE_LIMIT : options.codeSizeLimit,
    transactionGasCap: options.transactionGasCap === undefined ? DEFAULT_TRANSACTION_GAS_CAP : options.transactionGasCap,
  }
  const hardfork = opForkOf(options.hardfork ?? DEFAULT_HARDFORK)
  if (options.genesis !== undefined) {
    // A file without rules gets ours from block 1 on: its own block 0 keeps the fields it has.
    const genesis = parseGenesis(options.genesis, (time) => opConfig(options.chainId ?? CHAIN_ID, hardfork, time + 1, limits))
    return options.chainId === undefined ? genesis : { ...genesis, config: { ...genesis.config, chainId: options.chainId } }
  }
  return defaultGenesis({
    ...limits,
    hardfork,
    feeParameters: feeParametersOf(options),
    chainId: options.chainId ?? CHAIN_ID,
    timestamp: options.timestamp ?? Math.floor(clock.nowMs() / 1_000),
    gasLimit: options.gasLimit ?? GAS_LIMIT,
    baseFeePerGas: options.baseFee ?? BASE_FEE,
    factories: options.factories ?? true,
    calls: options.genesisCalls,
    accounts: [
      ...accounts.map(({ address }) => ({ address, balance: options.balance ?? 10_000n * ETHER })),
      ...(options.bundler === false ? [] : [{ address: Secp256k1.address(bundlerKey(options)), balance: BUNDLER_BALANCE }]),
      { address: Secp256k1.address(sponsorKeys(options).owner), balance: SPONSOR_BALANCE },
    ],
  })
}

/** The newest OP fork that runs on the L1 rules of that name. */
const RUNS_ON: Readonly<Record<string, OpFork>> = { cancun: 'holocene', prague: 'jovian', osaka: 'azul', latest: DEFAULT_HARDFORK }

function opForkOf(name: string): OpFork {
  const fork = OP_FORKS.find((each) => each === name.toLowerCase()) ?? RUNS_ON[name.toLowerCase()]
  // What came before charged data fees by rules that are not built.
  if (fork !== undefined && OP_FORKS.indexOf(fork) >= OP_FORKS.indexOf('fjord')) return fork
  const known = [...OP_FORKS.slice(OP_FORKS.indexOf('fjord')), ...Object.keys(RUNS_ON)]
  throw new RangeError(`hardfork must be one of ${known.join(', ')}, not ${JSON.stringify(name)}`)
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

export type { Server } from './server/index.ts'
export type { Wallet } from './wallet/index.ts'
