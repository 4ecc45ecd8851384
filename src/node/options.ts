import type { Cadence, CadenceKind, Clock, DefaultGenesisOptions, PoolOrder } from '../chain/index.ts'
import type { CompatName, LatestState } from '../compat.ts'
import type { PrivateKey } from '../eth/index.ts'
import type { Tier1Mode } from '../evm/index.ts'
import type { PaymasterOptions } from '../paymaster/index.ts'
import type { Keys, WalletOptions } from '../wallet/index.ts'

export type ChainType = 'op' | 'l1'

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
  /** what `web3_clientVersion` returns on the dedicated tier: `anvil/v1.7.1/pocketchain/<version>`, since tools accept known dev nodes only */
  readonly clientVersion?: string
  /** the state that reads at `latest` see: `sealed`; `promised` includes pre-confirmed transactions */
  readonly latest?: LatestState

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
  /**
   * `op`: an OP chain with L1 attributes first in every block, data fees and predeploys. `l1`: none of these; EntryPoints, Multicall3, CREATE2
   * factories, sponsor and accounts stay. Without meaning for a genesis file that has a `config`
   */
  readonly chainType?: ChainType
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

  /**
   * threads for calls that take long, started when they are needed: one for each core but the first, two on two cores, at most 4, none on a single
   * one. 0: such calls hold everybody up
   */
  readonly workers?: number

  /** experimental: what happens to code that burns much gas, for all chains of the process: `off`, it is interpreted */
  readonly tier1?: Tier1Mode

  /** gets what a person should know of the start; written to stderr unless given */
  readonly onNote?: (line: string) => void
  /** gets what broke inside although the node lives on; written to stderr unless given */
  readonly onError?: (error: unknown) => void
}

/** Options of a start, with whom it tells what, and what is done in block 0 of a chain that has none of its own. */
export interface StartOptions extends PocketchainOptions {
  readonly onNote: (line: string) => void
  readonly onError: (error: unknown) => void
  readonly genesisCalls: GenesisCalls
}

export type GenesisCalls = NonNullable<DefaultGenesisOptions['calls']>

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
