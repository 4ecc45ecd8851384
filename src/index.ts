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
import type { Cadence, CadenceKind, ChainOptions, Clock, FeeParameters, Genesis, PoolOrder } from './chain/index.ts'
import { COMPAT, STATE_HISTORY_BLOCKS } from './compat.ts'
import type { Compat, CompatName } from './compat.ts'
import { Hash, Mnemonic, Secp256k1 } from './eth/index.ts'
import type { Address } from './eth/index.ts'
import { configureTier1, loadPrecompiles, OP_FORKS } from './evm/index.ts'
import type { OpFork, Tier1Mode } from './evm/index.ts'
import { DevAccounts, Workers, createRpc, nodeThreads } from './rpc/index.ts'
import type { NodeRpc, Rpc, RpcRequest } from './rpc/index.ts'
import type { ListenOptions, Served, Server } from './server/index.ts'
import { MemoryStore } from './store/index.ts'
import { Publisher } from './stream/index.ts'

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
  /** blocks whose state stays readable: 8,192 */
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

  /** threads for calls that take long, started when one comes: one for each core but the first, at most 4. 0: they hold everybody up */
  readonly workers?: number

  /** experimental: what happens to code that burns much gas, for all chains of the process: `off`, it is interpreted */
  readonly tier1?: Tier1Mode

  /** gets what broke inside although the node lives on; written to stderr unless given */
  readonly onError?: (error: unknown) => void
}

export interface DevAccount {
  readonly address: Address
  readonly privateKey: Uint8Array
}

/** A running chain with its JSON-RPC face. No port is open until `listen`. */
export interface Pocketchain extends Rpc {
  readonly chain: Chain
  readonly accounts: readonly DevAccount[]
  /** such as `pocketchain/0.1.0/linux-x64/node20.20.2` */
  readonly clientVersion: string
  /** the flashblock stream, without a socket */
  readonly publisher: Publisher
  /** EIP-1193. Throws RpcError. */
  readonly request: (request: RpcRequest) => Promise<unknown>
  /** Opens a port: any free one unless said. Throws ListenError, and Error after `close`. */
  readonly listen: (options?: Partial<ListenOptions>) => Promise<Server>
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
const BASE_FEE = 1_000_000_000n
/** Each takes 20 MB once it has started, and the state a second time. */
const WORKERS = 4

/**
 * Starts a chain. Throws GenesisError, ImportError or DecodeError for files that cannot be used, RangeError for options that cannot.
 */
export async function createPocketchain(options: PocketchainOptions = {}): Promise<Pocketchain> {
  if (options.tier1 !== undefined) configureTier1({ mode: options.tier1 })
  const accounts = accountsOf(options)
  const onError = options.onError ?? writeError
  const chain = new Chain(chainOptions(options, accounts, onError))
  if (options.minGasPrice !== undefined) chain.setMinGasPrice(options.minGasPrice)
  if (options.importedChain !== undefined) await importChain(chain, options.importedChain, options.onImported)
  const clientVersion = `pocketchain/${VERSION}/${process.platform}-${process.arch}/node${process.versions.node}`
  const signers = new DevAccounts(accounts.map(({ privateKey }) => privateKey))
  signers.setAutoImpersonation(options.autoImpersonate ?? false)
  const compat = COMPAT[options.compat ?? 'default']
  const workers = workersOf(options, chain, compat, onError)
  const rpc = createRpc({
    chain,
    accounts: signers,
    compat,
    parallel: workers,
    clientVersion,
    onBug: onError,
  })
  await chain.start()
  return assemble({ chain, rpc, workers, accounts, clientVersion, onError })
}

interface Parts {
  readonly chain: Chain
  readonly rpc: NodeRpc
  readonly workers: Workers | null
  readonly accounts: readonly DevAccount[]
  readonly clientVersion: string
  readonly onError: (error: unknown) => void
}

function assemble(parts: Parts): Pocketchain {
  const { chain, rpc, workers, accounts, clientVersion } = parts
  const publisher = new Publisher(chain.head)
  const servers: Promise<Server>[] = []
  let closed: Promise<void> | null = null
  const end = async (): Promise<void> => {
    // Who waits for a thread is refused now, or servers would wait along.
    await workers?.close()
    // Also those that were still opening their port; why one could not, its caller was told.
    const opened = await Promise.allSettled(servers)
    await Promise.all(opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value.close()] : [])))
    await chain.stop()
    publisher.close()
    rpc.close()
  }
  const close = (): Promise<void> => (closed ??= end())
  return {
    chain,
    accounts,
    clientVersion,
    publisher,
    request: (request) => rpc.request(request),
    subscribe: rpc.subscribe,
    listen: async (where = {}) => {
      if (closed !== null) throw new Error('the node is closed; it opens no port any more')
      const server = open({ ...parts, publisher }, { port: 0, ...where })
      servers.push(server)
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

function chainOptions(options: PocketchainOptions, accounts: readonly DevAccount[], onBug: (error: unknown) => void): ChainOptions {
  const clock = clockOf(options)
  const feeParameters = { ...DEFAULT_FEE_PARAMETERS, ...(options.minBaseFee === undefined ? {} : { minBaseFee: options.minBaseFee }) }
  const genesis = genesisOf(options, accounts, clock, feeParameters)
  const { cadence = 'preconf' } = options
  return {
    genesis,
    clock,
    feeParameters,
    onBug,
    store: new MemoryStore(),
    cadence: typeof cadence === 'string' ? CADENCES[cadence] : cadence,
    l1: {
      ...DEFAULT_L1,
      ...(options.l1BaseFee === undefined ? {} : { baseFee: options.l1BaseFee }),
      ...(options.l1BlobBaseFee === undefined ? {} : { blobBaseFee: options.l1BlobBaseFee }),
    },
    gasLimit: options.gasLimit ?? (options.genesis === undefined ? GAS_LIMIT : genesis.gasLimit),
    coinbase: SEQUENCER_FEE_VAULT,
    order: options.order ?? 'fees',
    seed: options.seed ?? 'pocketchain',
    historyBlocks: options.stateHistory ?? STATE_HISTORY_BLOCKS,
    instanceId: Hash.from(randomBytes(32)),
  }
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

function genesisOf(options: PocketchainOptions, accounts: readonly DevAccount[], clock: Clock, feeParameters: FeeParameters): Genesis {
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
    feeParameters,
    chainId: options.chainId ?? CHAIN_ID,
    timestamp: options.timestamp ?? Math.floor(clock.nowMs() / 1_000),
    gasLimit: options.gasLimit ?? GAS_LIMIT,
    baseFeePerGas: options.baseFee ?? BASE_FEE,
    factories: options.factories ?? true,
    accounts: accounts.map(({ address }) => ({ address, balance: options.balance ?? 10_000n * ETHER })),
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

function writeError(error: unknown): void {
  process.stderr.write(`pocketchain: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
}

/** The package's own, found from src/ and from dist/ alike. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown'
}

export type { Server } from './server/index.ts'
