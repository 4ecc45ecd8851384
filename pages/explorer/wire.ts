// The JSON fields of the standard methods that the explorer reads. Other clients omit fields, so most are optional.

export interface BlockJson {
  readonly number: string
  readonly hash: string | null
  readonly parentHash: string
  readonly timestamp: string
  readonly gasUsed: string
  readonly gasLimit: string
  readonly baseFeePerGas?: string
  readonly miner?: string
  readonly stateRoot?: string
  readonly receiptsRoot?: string
  readonly transactionsRoot?: string
  readonly extraData?: string
  readonly size?: string
  /** hashes; transactions in notifications of `newFlashblocks` */
  readonly transactions: readonly (string | TransactionJson)[]
  /** milliseconds of `timestamp`, on chains with blocks of less than a second */
  readonly milliTimestamp?: string
}

export interface TransactionJson {
  readonly hash: string
  readonly from: string
  readonly to: string | null
  readonly value: string
  readonly input: string
  readonly nonce: string
  readonly gas: string
  readonly type: string
  readonly blockNumber: string | null
  readonly blockHash: string | null
  readonly transactionIndex: string | null
  readonly gasPrice?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
  readonly authorizationList?: readonly { readonly address: string; readonly chainId: string; readonly nonce: string }[]
  readonly accessList?: readonly { readonly address: string; readonly storageKeys: readonly string[] }[]
  readonly mint?: string
  readonly sourceHash?: string
  /** only in notifications; true: the transaction is no longer promised */
  readonly removed?: boolean
}

export interface LogJson {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly logIndex: string
  readonly blockNumber: string
  readonly transactionHash: string
}

export interface ReceiptJson {
  readonly transactionHash: string
  readonly blockNumber: string
  readonly blockHash: string | null
  readonly transactionIndex: string
  readonly from: string
  readonly to: string | null
  readonly status?: string
  readonly gasUsed: string
  readonly cumulativeGasUsed: string
  readonly effectiveGasPrice: string
  readonly contractAddress: string | null
  readonly logs: readonly LogJson[]
  readonly l1Fee?: string
  readonly l1GasUsed?: string
  readonly l1GasPrice?: string
}

/** A record of the promise ledger, as `pocketchain_promises` returns it. */
export interface PromiseRecordJson {
  readonly id: number
  readonly hash: string
  readonly from: string | null
  readonly blockNumber: string | null
  readonly flashblockIndex: number | null
  readonly admittedMs: number | null
  readonly promisedMs: number | null
  readonly settledMs: number | null
  readonly outcome: PromiseOutcome
  readonly cause: string | null
  readonly differences: readonly string[]
}

export type PromiseOutcome = 'open' | 'kept' | 'changed' | 'retracted' | 'dropped'

export interface PromisePageJson {
  readonly promises: readonly PromiseRecordJson[]
  readonly next: number | null
  readonly totals: Readonly<Record<PromiseOutcome, number>>
}
