import type { Address, Hash, Hex } from '../eth/index.ts'

/**
 * What a person or a script is asked. A question is JSON as it stands: the same value is shown on the page, answered by
 * `pocketchain_approvals` and handed to `wallet.approvals.next()`. It never changes; when what it asks about does, it is withdrawn and a new
 * question, with a new id, names it in `replaces`.
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

/** A question before the queue has named it. */
export type Draft = { [K in QuestionKind]: Omit<Extract<Question, { kind: K }>, 'id' | 'createdAt' | 'replaces'> }[QuestionKind]

interface Asked {
  /** 32 hex digits that nobody can guess */
  readonly id: string
  /** as the browser named it, never as the page did; `local` in process */
  readonly origin: string
  /** what the app called */
  readonly method: string
  /** Unix time, milliseconds */
  readonly createdAt: number
  /** id of the question that this one stands for, because what it asked about has changed */
  readonly replaces: string | null
  readonly warnings: readonly Warning[]
}

/** May the origin see these accounts? The answer may name some of them. */
export interface ConnectQuestion extends Asked {
  readonly kind: 'connect'
  readonly chain: ChainLabel
  /** all there are, the one to be selected first */
  readonly accounts: readonly AccountLabel[]
}

export interface SignQuestion extends Asked {
  readonly kind: 'sign'
  readonly account: Address
  readonly chain: ChainLabel
  readonly scheme: 'personal_sign' | 'eth_signTypedData_v4'
  /** personal_sign: the bytes, and the same as text when they are UTF-8 that can be read */
  readonly message: Hex | null
  readonly text: string | null
  /** eth_signTypedData_v4: `{ types, primaryType, domain, message }` */
  readonly typedData: unknown
  /** the 32 bytes that are signed */
  readonly digest: Hash
}

/** One transaction. */
export interface SendQuestion extends Asked, Spending {
  readonly kind: 'send'
}

/** A batch of wallet_sendCalls. */
export interface BatchQuestion extends Asked, Spending {
  readonly kind: 'batch'
  readonly batchId: string
  readonly atomic: boolean
  /** one ordinary transaction; one for each call; one that the account's own code splits; or a user operation that somebody else pays for */
  readonly execution: 'single' | 'sequential' | 'delegated' | 'sponsored'
}

/** May the account become a smart account (EIP-7702)? Asked before the batch that needs it. */
export interface UpgradeQuestion extends Asked {
  readonly kind: 'upgrade'
  readonly account: Address
  readonly chain: ChainLabel
  /** the code the account is to run */
  readonly delegate: Address
  readonly delegateName: string
  /** code of which it would stop being the account; null: it has none */
  readonly delegateBefore: Address | null
  /** true: the chain lacks the code, and a transaction before puts it there */
  readonly deploys: boolean
  /** of the batch that waits for this */
  readonly batchId: string
}

export interface AddChainQuestion extends Asked {
  readonly kind: 'addChain'
  readonly proposed: ProposedChain
  /** those of its rpc urls, on this computer, that are asked for their chain id only after the yes; absent: none */
  readonly unchecked?: readonly string[]
  /** true: the wallet has it, and the origin need not learn that */
  readonly known: boolean
}

export interface SwitchChainQuestion extends Asked {
  readonly kind: 'switchChain'
  readonly from: ChainLabel
  readonly to: ChainLabel
}

export interface WatchAssetQuestion extends Asked {
  readonly kind: 'watchAsset'
  readonly chain: ChainLabel
  readonly asset: { readonly type: string; readonly address: Address; readonly symbol: string | null; readonly decimals: number | null }
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

export interface AccountLabel {
  readonly address: Address
  /** such as `Account 1` */
  readonly name: string
  /** wei; null: the chain did not answer */
  readonly balance: Hex | null
}

/** A call as a person reads it. */
export interface CallView {
  /** null: creates a contract */
  readonly to: Address | null
  /** wei */
  readonly value: Hex
  readonly data: Hex
  /** gas, when the app chose it */
  readonly gasLimitOverride: Hex | null
  /** what is known of `to`, such as `USD Coin (USDC)`, `Multicall3`, `your account 2` */
  readonly label: string | null
  /** such as `transfer(address,uint256)`; null: not known, `data` is shown */
  readonly signature: string | null
  readonly args: readonly { readonly name: string | null; readonly type: string; readonly value: string }[] | null
  /** one line, such as `Send 1.5 USDC to 0x7099…79C8`; null: nothing better than the above */
  readonly summary: string | null
}

/** What the calls would do now, on the pending state. */
export interface Preview {
  readonly status: 'success' | 'reverted' | 'unavailable'
  /** why it reverts, or why nobody could say */
  readonly error: string | null
  /** index of the call that reverts; null: none, or all as one */
  readonly failedCall: number | null
  /** of the account, without the fee */
  readonly changes: readonly BalanceChange[]
  /** who may take what from the account afterwards, and could not before */
  readonly allowances: readonly Allowance[]
  /** changes and allowances beyond those; absent: none */
  readonly omitted?: number
}

export interface BalanceChange {
  readonly asset: 'native' | 'erc20' | 'erc721' | 'erc1155'
  /** null: native */
  readonly token: Address | null
  readonly symbol: string | null
  readonly decimals: number | null
  readonly tokenId: Hex | null
  /** in the smallest unit, decimal, `-` when it leaves the account */
  readonly amount: string
}

export interface Allowance {
  readonly kind: 'erc20' | 'permit2' | 'nft' | 'allNfts'
  readonly token: Address
  /** of kind nft */
  readonly tokenId?: Hex
  readonly symbol: string | null
  readonly decimals: number | null
  readonly spender: Address
  readonly spenderLabel: string | null
  /** in the smallest unit, decimal; null: without limit, or not a number */
  readonly amount: string | null
  /** true: the calls themselves use it up */
  readonly isSpent: boolean
}

/** Wei and gas as quantities. */
export interface FeeView {
  readonly gas: Hex
  readonly maxFeePerGas: Hex
  readonly maxPriorityFeePerGas: Hex
  /** data fee of a rollup, as it is now */
  readonly l1Fee: Hex
  /** what it will most likely cost, and what it costs at most */
  readonly expected: Hex
  readonly most: Hex
  /** null: the account pays; else the account pays nothing, and `expected` and `most` are zero */
  readonly sponsor: SponsorView | null
}

/** Who pays in place of the account. */
export interface SponsorView {
  /** as it calls itself; null: it has no name */
  readonly name: string | null
  /** of its url, as the app gave it: name and port */
  readonly host: string
  /** a data: uri, for an <img> and nothing else; absent or null: it has none */
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
  /** danger: the page asks twice */
  readonly level: 'info' | 'caution' | 'danger'
  /** one sentence for a person */
  readonly text: string
}

/** What an approval may say beyond yes. */
export interface Choice {
  /** of a connect question: the accounts to show, the first is selected; all there are unless said */
  readonly accounts?: readonly Address[]
}
