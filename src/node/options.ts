import type {
  Cadence,
  CadenceKind,
  ChaosName,
  ChaosProfile,
  Clock,
  DefaultContract,
  DefaultGenesisOptions,
  ExecutionNotes,
  PoolOrder,
} from '../chain/index.ts'
import type { CompatName, LatestState } from '../compat.ts'
import type { Hash, Hex, PrivateKey } from '../eth/index.ts'
import type { Tier1Mode } from '../evm/index.ts'
import type { BundlerRules } from '../bundler/index.ts'
import type { FleetOptions } from '../fleet/index.ts'
import type { UpstreamOptions } from '../fork/index.ts'
import type { PaymasterOptions } from '../paymaster/index.ts'
import type { ForkStatus, RequestObserver } from '../rpc/index.ts'
import type { Keys, WalletOptions } from '../wallet/index.ts'

export type ChainType = 'op' | 'l1'

/** All options have defaults; `createPocketchain({})` is the chain of `npx pocketchain`. */
export interface PocketchainOptions {
  /** 31337; with a genesis, that of the file */
  readonly chainId?: number
  /** forks a live chain: new blocks on its state */
  readonly fork?: ForkOptions
  /** `preconf` by default */
  readonly cadence?: Cadence | CadenceKind
  /** `real` by default; `manual`: time advances with pocketchain_tick only */
  readonly clock?: Clock | 'real' | 'manual'
  /** random faults: a profile, or rates; none by default */
  readonly chaos?: ChaosName | Partial<ChaosProfile>
  /** the same seed, clock and timestamp give the same block hashes */
  readonly seed?: string
  /** order of pool transactions, `fees` by default */
  readonly order?: PoolOrder
  /** profile for behaviour in which nodes differ, `default` by default */
  readonly compat?: CompatName
  /** what `web3_clientVersion` returns on the dedicated tier: `anvil/v1.7.1/pocketchain/<version>`, since tools accept known dev nodes only */
  readonly clientVersion?: string
  /** the state that reads at `latest` see, `sealed` by default; `promised` includes pre-confirmed transactions */
  readonly latest?: LatestState

  /** number of dev accounts, 10 by default */
  readonly accounts?: number
  readonly mnemonic?: string
  /** path without the index, `m/44'/60'/0'/0` by default */
  readonly derivationPath?: string
  /** wei, of each dev account: 10,000 ETH by default; with a genesis, that of the file */
  readonly balance?: bigint
  /** further accounts with ether from the start, `balance` in wei */
  readonly fundedAccounts?: readonly { readonly address: Hex; readonly balance: bigint }[]
  /** eth_sendTransaction works from any address */
  readonly autoImpersonate?: boolean

  /** text of a genesis in geth's format, which then determines all balances unless `balance` is set */
  readonly genesis?: string
  /** RLP blocks to import before the start */
  readonly importedChain?: Uint8Array
  /** called after every imported block; an exception ends the import, and `createPocketchain` rejects with it */
  readonly onImported?: (blockNumber: number) => void
  /**
   * state file of pocketchain or anvil, or a genesis of geth of which the accounts are taken. Its accounts keep their balances; dev accounts and
   * `fundedAccounts` that it lacks get theirs. Options of the first block that differ from the file's are a RangeError
   */
  readonly stateFile?: Uint8Array
  /** number of the first block: 0, or that of the genesis file */
  readonly number?: number
  /** Unix time of block 0, seconds; the current time by default; with a genesis, that of the file */
  readonly timestamp?: number
  /**
   * `op` by default: an OP chain with L1 attributes first in every block, data fees and predeploys. `l1`: none of these; EntryPoints, Multicall3,
   * CREATE2 factories, sponsor and accounts stay. A genesis file with a `config` overrides it
   */
  readonly chainType?: ChainType
  /** an OP fork such as `karst`, or the L1 fork that it is based on; `azul` by default, on L1 chains `osaka`; a fork has that of the fork block */
  readonly hardfork?: string
  /** bytes; null: no limit */
  readonly codeSizeLimit?: number | null
  /** null: no cap */
  readonly transactionGasCap?: bigint | null
  /** false: the default genesis lacks the CREATE2 factories, for scripts that deploy them by their known transactions */
  readonly factories?: boolean
  /**
   * the default genesis, or a fork where upstream lacks them, has factories and implementations of smart accounts at their published addresses:
   * Safe 1.4.1 with its ERC-4337 module, SimpleAccount for EntryPoint 0.6 to 0.8
   */
  readonly withAccounts?: boolean
  /** directory in which the chain is persisted and from which it continues; in memory by default */
  readonly data?: string
  /** with `data`: number of blocks whose state is kept, all by default; blocks, receipts and logs are all kept */
  readonly prune?: number
  /** without `data`: number of blocks whose state is kept, 8,192 by default */
  readonly stateHistory?: number

  /** gas limit of each block */
  readonly gasLimit?: bigint
  /** wei, of block 0: 1 gwei by default; with a genesis, that of the file */
  readonly baseFee?: bigint
  /** wei */
  readonly minBaseFee?: bigint
  /** wei; transactions below it are refused */
  readonly minGasPrice?: bigint
  /** wei */
  readonly l1BaseFee?: bigint
  /** wei */
  readonly l1BlobBaseFee?: bigint

  /** the wallet, whose accounts are the dev accounts and those of `keys`; false: no wallet */
  readonly wallet?: WalletChoices | false

  /** the ERC-4337 bundler, loaded at its first request; false: no bundler */
  readonly bundler?: BundlerChoices | false

  /**
   * the gas sponsor (ERC-7677), loaded at its first request, or at start if its ledger has open promises; false: no sponsor
   */
  readonly sponsor?: SponsorChoices | false

  /**
   * worker threads for long calls, started when needed. The default is the number of cores minus one, at most 4, but 2 on two cores; 0 runs
   * such calls on the main thread, and recovers all senders of transactions there, which a further thread shares when many arrive together
   */
  readonly workers?: number

  /** how bytecode that uses much gas runs: compiled to WebAssembly (`on`, the default), interpreted (`off`), or both, reporting differences (`shadow`) */
  readonly tier1?: Tier1Mode

  /** joins a fleet: the node runs the chain of its database; options of another chain are a RangeError */
  readonly fleet?: FleetOptions
  /** observes the requests that arrive over HTTP and WebSocket, for a log */
  readonly observer?: RequestObserver
  /** receives notes about failed transactions and calls to the console address, for a log */
  readonly executionNotes?: ExecutionNotes
  /** called while a dev method mines many blocks, every 10 ms or so, and at the end with `mined` equal to `count`; both are lower if it ended early */
  readonly onMining?: (mined: number, count: number) => void

  /** an abort ends a start that is not complete, and `createPocketchain` rejects with its reason */
  readonly signal?: AbortSignal
  /** called every 100 ms or so while a fork starts, with the values fetched so far */
  readonly onForkProgress?: (fetched: ForkProgress) => void

  /** receives notes about the start; written to stderr by default */
  readonly onNote?: (line: string) => void
  /** receives internal errors after which the node continues; written to stderr by default */
  readonly onError?: (error: unknown) => void
}

/** The values that the start of a fork has fetched. */
export type ForkProgress = Pick<ForkStatus, 'requests' | 'keys' | 'cacheHits'>

/** The chain to fork. The first URL that answers is used. */
export interface ForkOptions extends Omit<UpstreamOptions, 'onNote'> {
  /** `https://host/path`, or with the block: `https://host/path@BLOCK` */
  readonly url: string | readonly string[]
  /** negative: relative to the head; by default a few blocks below it, where all nodes behind a URL agree */
  readonly blockNumber?: number
  /** forks from the block before the transaction's */
  readonly transactionHash?: Hash
  /** upstream's chain id, checked; with a cached `blockNumber` the start needs no request */
  readonly chainId?: number
  /** false: nothing is kept on disk */
  readonly storageCaching?: boolean
  /** folder of the cache on disk; the user's cache folder by default, none for a URL of this computer, whose state may change at the same block hash */
  readonly cachePath?: string
}

/** Options with their callbacks. */
export interface ReportingOptions extends PocketchainOptions {
  /** never aborted after the start */
  readonly signal: AbortSignal
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
}

/** Options of a start with the contents of the default genesis that are loaded or computed first. */
export interface StartOptions extends ReportingOptions, GenesisParts {}

export interface GenesisParts {
  readonly genesisCalls: GenesisCalls
  readonly genesisContracts: readonly DefaultContract[]
}

export type GenesisCalls = NonNullable<DefaultGenesisOptions['calls']>

/** Options of the wallet. Its first chain is the node, and its records are stored with the chain's. */
export interface WalletChoices extends Omit<
  WalletOptions,
  'keyring' | 'records' | 'chains' | 'onError' | 'approvalUrl' | 'admits' | 'sponsor'
> {
  /** further chains, each with its RPC connection */
  readonly chains?: WalletOptions['chains']
  /** keys other than those of the dev accounts, of a keystore file or in memory */
  readonly keys?: Omit<Keys, 'dev'>
}

/** Options of the bundler. */
export interface BundlerChoices {
  /** key of the account that sends bundles, derived from mnemonic and derivation path by default. The default genesis funds it */
  readonly key?: PrivateKey
  /**
   * The rules of ERC-7562. `relaxed`, the default: violations are accepted with a warning (`onNote`, `pocketchain_userOperationWarnings`). `strict`, the
   * default in a fleet: they are refused. `off`: not checked. true and false are `strict` and `off`
   */
  readonly rules?: BundlerRules | boolean
  /** the stake with which an entity counts as staked, wei: 0.1 ether */
  readonly minStake?: bigint
  /** and for how long it is bound, seconds: a day */
  readonly minUnstakeDelay?: bigint
}

/** Options of the sponsor. Its ledger is stored with the chain's records. */
export interface SponsorChoices extends Omit<PaymasterOptions, 'rpc' | 'signer' | 'owner' | 'records' | 'onNote' | 'onError'> {
  /** key that signs sponsorships, derived from mnemonic and derivation path by default. The default genesis has paymasters for the derived one only */
  readonly signer?: PrivateKey
  /** key that pays deployments and deposits, derived like `signer`. The default genesis funds the derived one */
  readonly owner?: PrivateKey
}
