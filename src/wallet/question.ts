import type { Address, Hash, Hex } from '../eth/index.ts'

/**
 * An approval request for the user or a script. It is plain JSON: the page shows the same value that `pocketchain_approvals` and
 * `wallet.approvals.next()` return. It is immutable; if its content changes, it is withdrawn and replaced by a new question with a new id, whose
 * `replaces` is the old id.
 */
export type Question =
  | ConnectQuestion
  | SignQuestion
  | SendQuestion
  | BatchQuestion
  | UpgradeQuestion
  | AddChainQuestion
  | SwitchChainQuestion
  | WatchAssetQuestion

export type QuestionKind = Question['kind']

/** A question before the queue assigns its id. */
export type Draft = { [K in QuestionKind]: Omit<Extract<Question, { kind: K }>, 'id' | 'createdAt' | 'replaces'> }[QuestionKind]

interface QuestionBase {
  /** 32 random hex digits, unguessable */
  readonly id: string
  /** set by the browser, never by the page; `local` in process */
  readonly origin: string
  /** method that the app called */
  readonly method: string
  /** Unix time, milliseconds */
  readonly createdAt: number
  /** id of the question that this one replaces because its content changed */
  readonly replaces: string | null
  readonly warnings: readonly Warning[]
}

/** Request to share accounts. The answer may select some of them. */
export interface ConnectQuestion extends QuestionBase {
  readonly kind: 'connect'
  readonly chain: ChainLabel
  /** all accounts, the preselected one first */
  readonly accounts: readonly AccountLabel[]
}

export interface SignQuestion extends QuestionBase {
  readonly kind: 'sign'
  readonly account: Address
  readonly chain: ChainLabel
  readonly scheme: 'personal_sign' | 'eth_signTypedData_v4'
  /** personal_sign: the bytes, and their text if they are readable UTF-8 */
  readonly message: Hex | null
  readonly text: string | null
  /** eth_signTypedData_v4: `{ types, primaryType, domain, message }` */
  readonly typedData: unknown
  /** tokens of which a permit contains amounts; absent: none was read */
  readonly tokens?: readonly TokenLabel[]
  /** the 32 bytes that are signed */
  readonly digest: Hash
}

/** One transaction. */
export interface SendQuestion extends QuestionBase, Spending {
  readonly kind: 'send'
}

/** A batch of wallet_sendCalls. */
export interface BatchQuestion extends QuestionBase, Spending {
  readonly kind: 'batch'
  readonly batchId: string
  readonly atomic: boolean
  /** one plain transaction; one per call; one executed by the account's code; a user operation paid by a sponsor */
  readonly execution: 'single' | 'sequential' | 'delegated' | 'sponsored'
}

/** Request to upgrade the account to a smart account (EIP-7702), before the batch that needs it. */
export interface UpgradeQuestion extends QuestionBase {
  readonly kind: 'upgrade'
  readonly account: Address
  readonly chain: ChainLabel
  /** address of the account's new code */
  readonly delegate: Address
  readonly delegateName: string
  /** current delegate, which is replaced; null: none */
  readonly delegateBefore: Address | null
  /** true: the chain lacks the code, and a preceding transaction deploys it */
  readonly deploys: boolean
  /** batch that requires the upgrade */
  readonly batchId: string
}

export interface AddChainQuestion extends QuestionBase {
  readonly kind: 'addChain'
  readonly proposed: ProposedChain
  /** rpc urls on this machine, whose chain id is requested only after the approval; absent: none */
  readonly unchecked?: readonly string[]
  /** true: the wallet already has the chain, which the origin must not learn */
  readonly known: boolean
}

export interface SwitchChainQuestion extends QuestionBase {
  readonly kind: 'switchChain'
  readonly from: ChainLabel
  readonly to: ChainLabel
}

export interface WatchAssetQuestion extends QuestionBase {
  readonly kind: 'watchAsset'
  readonly chain: ChainLabel
  readonly asset: WatchedAsset
}

/** A token of wallet_watchAsset, as the site describes it. */
export interface WatchedAsset {
  readonly type: string
  readonly address: Address
  readonly symbol: string | null
  readonly decimals: number | null
  /** ERC-721 and ERC-1155: the item, which the account owned; absent: none was named */
  readonly tokenId?: Hex
}

interface Spending {
  readonly account: Address
  readonly chain: ChainLabel
  readonly calls: readonly CallView[]
  readonly preview: Preview
  readonly fee: FeeView
}

export interface ChainLabel {
  readonly chainId: Hex
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly explorerUrl: string | null
}

/** A token as its contract describes it, unverified. */
export interface TokenLabel {
  readonly address: Address
  /** printable; null if it has none */
  readonly symbol: string | null
  /** null if it has none, or an implausible value */
  readonly decimals: number | null
}

export interface AccountLabel {
  readonly address: Address
  /** such as `Account 1` */
  readonly name: string
  /** wei; null: the chain did not respond */
  readonly balance: Hex | null
}

/** A call in readable form. */
export interface CallView {
  /** null: creates a contract */
  readonly to: Address | null
  /** wei */
  readonly value: Hex
  readonly data: Hex
  /** gas limit chosen by the app; null: none */
  readonly gasLimitOverride: Hex | null
  /** name of `to`, such as `USD Coin (USDC)`, `Multicall3`, `your account 2` */
  readonly label: string | null
  /** such as `transfer(address,uint256)`; null: unknown, `data` is shown */
  readonly signature: string | null
  readonly args: readonly { readonly name: string | null; readonly type: string; readonly value: string }[] | null
  /** one line, such as `Send 1.5 USDC to 0x7099…79C8`; null: no better description than the fields above */
  readonly summary: string | null
}

/** Simulated effects of the calls on the pending state. */
export interface Preview {
  readonly status: 'success' | 'reverted' | 'unavailable'
  /** revert reason, or why the simulation is unavailable */
  readonly error: string | null
  /** true: the calls log too much or take too long to be simulated; absent: they do not */
  readonly isPrevented?: true
  /** index of the call that reverts; null: none, or the batch as a whole */
  readonly failedCall: number | null
  /** balance changes of the account, without the fee */
  readonly changes: readonly BalanceChange[]
  /** allowances that the calls add */
  readonly allowances: readonly Allowance[]
  /** number of further changes and allowances; absent: none */
  readonly omitted?: number
}

export interface BalanceChange {
  readonly asset: 'native' | 'erc20' | 'erc721' | 'erc1155'
  /** null: native */
  readonly token: Address | null
  readonly symbol: string | null
  readonly decimals: number | null
  readonly tokenId: Hex | null
  /** in the smallest unit, decimal, negative for an outflow */
  readonly amount: string
}

export interface Allowance {
  readonly kind: 'erc20' | 'permit2' | 'nft' | 'allNfts'
  readonly token: Address
  /** only for kind `nft` */
  readonly tokenId?: Hex
  readonly symbol: string | null
  readonly decimals: number | null
  readonly spender: Address
  readonly spenderLabel: string | null
  /** in the smallest unit, decimal; null: unlimited, or no amount */
  readonly amount: string | null
  /** true: the calls consume it */
  readonly isSpent: boolean
}

/** Wei and gas as quantities. */
export interface FeeView {
  readonly gas: Hex
  readonly maxFeePerGas: Hex
  readonly maxPriorityFeePerGas: Hex
  /** current data fee of a rollup */
  readonly l1Fee: Hex
  /** expected and maximum cost */
  readonly expected: Hex
  readonly most: Hex
  /** null: the account pays; else the account pays nothing, and `expected` and `most` are zero */
  readonly sponsor: SponsorView | null
}

/** The sponsor that pays in place of the account. */
export interface SponsorView {
  /** claimed by the sponsor; null: none */
  readonly name: string | null
  /** host name and port of the url that the app passed */
  readonly host: string
  /** a data: uri, for an <img> only; absent or null: none */
  readonly icon?: string | null
  /** the contract that pays the EntryPoint */
  readonly paymaster?: Address
}

/** A chain as EIP-3085 proposes it. */
export interface ProposedChain {
  readonly chainId: Hex
  readonly chainName: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: readonly string[]
  readonly blockExplorerUrls: readonly string[]
  readonly iconUrls: readonly string[]
}

export interface Warning {
  /** for programs, such as `unlimited-allowance` */
  readonly code: string
  /** danger: the page requires a second confirmation */
  readonly level: 'info' | 'caution' | 'danger'
  /** one sentence for the user */
  readonly text: string
}

/** Optional content of an approval. */
export interface Choice {
  /** connect question: the accounts to share, the first one selected; default: all */
  readonly accounts?: readonly Address[]
}

/** Whether the question is void once its site has left the chain. A personal_sign message is of no chain. */
export function isBoundToChain(question: Draft | Question): boolean {
  return BOUND_TO_CHAIN.has(question.kind) || (question.kind === 'sign' && question.scheme !== 'personal_sign')
}

const BOUND_TO_CHAIN: ReadonlySet<QuestionKind> = new Set(['send', 'batch', 'upgrade', 'watchAsset'])
