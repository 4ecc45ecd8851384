import type { Cadence, CadenceKind, Clock, DefaultGenesisOptions, PoolOrder } from '../chain/index.ts'
import type { CompatName } from '../compat.ts'
import type { PrivateKey } from '../eth/index.ts'
import type { Tier1Mode } from '../evm/index.ts'
import type { PaymasterOptions } from '../paymaster/index.ts'
import type { Keys, WalletOptions } from '../wallet/index.ts'

/** Everything has a default; `createPocketchain({})` is the chain that `npx pocketchain` starts. */
export interface PocketchainOptions {
  /** 31337; with a genesis, that of the file */
  readonly chainId?: number
  /** when blocks are sealed: `preconf` */
  readonly cadence?: Cadence | CadenceKind
  /** `manual`: the test advances the time */
  readonly clock?: Clock | 'real' | 'manual'
  /** same seed, same clock and same timestamp: same block hashes */
  readonly seed?: string
  /** order of waiting transactions: `fees` */
  readonly order?: PoolOrder
  /** behaviour where nodes differ: `default` */
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
  /** called for every imported block; an error of it stops the import and rejects `createPocketchain` */
  readonly onImported?: (blockNumber: number) => void
  /**
   * a state file of pocketchain or anvil, from which the chain continues, or a genesis of geth, whose accounts are used. A file with a genesis
   * takes precedence over the options of the genesis
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
  /** the directory of the chain, which continues from there: in memory */
  readonly data?: string
  /** with `data`: blocks whose state is kept; blocks, receipts and logs are all kept: unlimited */
  readonly prune?: number
  /** without `data`: blocks whose state is kept: 8,192 */
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

  /** the wallet, with the dev accounts and the keys given here; false: no wallet */
  readonly wallet?: WalletChoices | false

  /** the ERC-4337 bundler, loaded at its first request; false: no bundler */
  readonly bundler?: BundlerChoices | false

  /** the gas sponsor (ERC-7677), loaded at its first request, or at once if its ledger has open promises; false: no sponsor */
  readonly sponsor?: SponsorChoices | false

  /**
   * most worker threads for long calls, started on demand: one for each core but the first, two on two cores, at most 4, none on a single
   * core. 0: such calls delay other requests
   */
  readonly workers?: number

  /** experimental: compiles hot bytecode, for all chains of the process: `off`, it is interpreted */
  readonly tier1?: Tier1Mode

  /** receives notes about the start; written to stderr by default */
  readonly onNote?: (line: string) => void
  /** receives bugs that do not stop the node; written to stderr by default */
  readonly onError?: (error: unknown) => void
}

/** Options with their defaults for notes, errors and the calls in block 0 of the default genesis. */
export interface StartOptions extends PocketchainOptions {
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
  readonly genesisCalls: GenesisCalls
}

export type GenesisCalls = NonNullable<DefaultGenesisOptions['calls']>

/** The options of the wallet. Its first chain is the node, and its records are stored with those of the chain. */
export interface WalletChoices extends Omit<
  WalletOptions,
  'keyring' | 'records' | 'chains' | 'onError' | 'approvalUrl' | 'admits' | 'sponsor'
> {
  /** further chains, each with its connection */
  readonly chains?: WalletOptions['chains']
  /** further keys: those of a keystore, or keys in memory */
  readonly keys?: Omit<Keys, 'dev'>
}

/** The options of the bundler. */
export interface BundlerChoices {
  /** of the account that sends bundles; derived from the mnemonic and the derivation path by default. The default genesis gives it ether */
  readonly key?: PrivateKey
  /** enforces ERC-7562: true */
  readonly rules?: boolean
}

/** The options of the sponsor. Its ledger is stored with the records of the chain. */
export interface SponsorChoices extends Omit<PaymasterOptions, 'rpc' | 'signer' | 'owner' | 'records' | 'onNote' | 'onError'> {
  /** signs sponsored operations; derived from the mnemonic and the derivation path by default. The default genesis has paymasters for that key only */
  readonly signer?: PrivateKey
  /** pays deployments and deposits; as `signer`. The default genesis gives ether to the derived one */
  readonly owner?: PrivateKey
}
