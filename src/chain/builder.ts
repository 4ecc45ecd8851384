import { Bloom, EMPTY_OMMERS, EMPTY_REQUESTS_HASH, Block, Hash, Header, Receipt, Rlp, Withdrawal } from '../eth/index.ts'
import type { Address, Transaction } from '../eth/index.ts'
import {
  GAS_PER_BLOB,
  EngineFull,
  MESSAGE_PASSER,
  World,
  beginBlock,
  daFootprint,
  footprintScalar,
  endBlock,
  executeTransaction,
  nextExcessBlobGas,
  rulesAt,
} from '../evm/index.ts'
import type { BlockContext, ChainConfig, Executed, Rules, StateReader, WriteSet } from '../evm/index.ts'
import { environment } from './environment.ts'
import { nextBaseFee } from './basefee.ts'
import { OrderedTrie, Trie } from './trie.ts'
import { isImpersonated } from './validation.ts'

/** What the builder of a block is free to choose. */
export interface BlockAttributes {
  /** seconds */
  readonly timestamp: number
  /** milliseconds; only under the native cadence, else null */
  readonly timestampMs: number | null
  readonly prevRandao: Hash
  readonly feeRecipient: Address
  readonly gasLimit: bigint
  readonly extraData: Uint8Array
  readonly parentBeaconBlockRoot: Hash | null
  readonly withdrawals: readonly Withdrawal[] | null
  /** wei; null: what EIP-1559 says */
  readonly baseFeePerGas: bigint | null
  /** proof-of-work chains on import; else 0n */
  readonly difficulty: bigint
  readonly ommers: readonly Header[]
}

/** What a builder needs of the state it writes to: a StateHistory is one, and so is a witness in a test. */
export interface BuilderState {
  readonly version: number
  at(version: number): StateReader
  apply(writes: WriteSet): number
  /** of the newest version, as is `storageRoot` */
  stateRoot(): Hash
  storageRoot(address: Address): Hash
}

/**
 * One block while it grows: the same code for pending and sealed, for our own blocks and imported ones (law 2).
 * `begin`, then `add` and `commit` in turn, then `seal`, or `release` at any time. What it writes enters the state at `commit` only.
 */
export class BlockBuilder {
  readonly context: BlockContext
  readonly transactions: Transaction[] = []
  readonly receipts: Receipt[] = []
  readonly #state: BuilderState
  readonly #attributes: BlockAttributes
  readonly #rules: Rules
  readonly #frame: Header
  readonly #world: World
  /** how many of the transactions are in the state */
  #committed = 0
  #gasUsed = 0n
  #blobGasUsed = 0n
  #logCount = 0
  #bloom: Uint8Array = Bloom.empty
  #requestsHash: Hash | null
  readonly #transactionTrie = new OrderedTrie<Transaction>(({ raw }) => raw)
  readonly #receiptTrie = new OrderedTrie<Receipt>(Receipt.encodeView)
  #header: Header
  /** of `#header`, with the length of what is hashed */
  #digest: { readonly hash: Hash; readonly sizeBytes: number } | null = null

  constructor(
    state: BuilderState,
    config: ChainConfig,
    parent: Block,
    attributes: BlockAttributes,
    blockHash: (number: number) => Hash | null,
  ) {
    this.#state = state
    this.#attributes = attributes
    this.#rules = rulesAt(config, parent.header.number + 1, attributes.timestamp)
    this.#frame = frame(parent, attributes, config, this.#rules)
    this.context = { config, rules: this.#rules, env: environment(this.#frame, this.#rules, blockHash) }
    this.#world = new World(state.at(state.version))
    this.#requestsHash = this.#frame.requestsHash
    this.#header = this.#frame
  }

  get number(): number {
    return this.#frame.number
  }

  get gasUsed(): bigint {
    return this.#gasUsed
  }

  get gasLimit(): bigint {
    return this.#frame.gasLimit
  }

  get baseFeePerGas(): bigint {
    return this.#frame.baseFeePerGas ?? 0n
  }

  /** True once the engine broke under it: nothing more can be done with this block. */
  get isLost(): boolean {
    return this.#world.isAbandoned
  }

  /** The calls that a block makes before its first transaction. */
  begin(): void {
    beginBlock(this.context, this.#world)
  }

  /** True when the block stays within `gas` of its gas and, since Jovian, of its data availability. */
  fits(tx: Transaction, gas: bigint): boolean {
    return this.#gasUsed + tx.gas <= gas && (this.#rules.op === null || this.#blobGasUsed + this.#blobGas(tx) <= gas)
  }

  /** Executes one more transaction. Throws InvalidTransaction or BlockFull; the block is then as before. */
  add(tx: Transaction): Receipt {
    this.#assertRoom(tx)
    const executed = this.#execute(tx)
    const receipt = this.#receipt(tx, executed)
    this.transactions.push(tx)
    this.receipts.push(receipt)
    this.#gasUsed = receipt.cumulativeGasUsed
    this.#blobGasUsed += executed.blobGasUsed ?? 0n
    this.#logCount += receipt.logs.length
    this.#bloom = Bloom.or(this.#bloom, receipt.logsBloom)
    return receipt
  }

  /** Writes what was executed since the last commit into the state, as one version. */
  commit(): WriteSet {
    const writes = this.#world.writes()
    if (writes.accounts.size > 0 || writes.storage.size > 0) this.#state.apply(writes)
    this.#world.rebase(this.#state.at(this.#state.version))
    this.#committed = this.transactions.length
    return writes
  }

  /** The block as far as it is committed; `hash` is zero, its header's hash is what it would have if it ended here. */
  pending(): Block {
    return {
      header: this.header(),
      hash: Hash.zero,
      transactions: this.transactions.slice(),
      receipts: this.receipts.slice(),
      ommers: this.#attributes.ommers,
      withdrawals: this.#attributes.withdrawals,
      timestampMs: this.#attributes.timestampMs,
      sizeBytes: 0,
    }
  }

  /** Of `pending`. The same one as before when nothing has changed. */
  header(): Header {
    const stateRoot = this.#state.stateRoot()
    const isSame = this.#receiptTrie.size === this.receipts.length && this.#header.stateRoot === stateRoot
    if (isSame && this.#header.requestsHash === this.#requestsHash) return this.#header
    this.#digest = null
    return (this.#header = this.#headerOn(stateRoot))
  }

  /** What the block would have if it ended here. */
  hash(): Hash {
    return this.#digested().hash
  }

  /** Rewards, withdrawals and requests, then the finished block. What they wrote is in `writes`. */
  seal(): { block: Block; writes: WriteSet } {
    const { requestsHash } = endBlock(this.context, this.#world, {
      withdrawals: this.#attributes.withdrawals ?? [],
      ommers: this.#attributes.ommers,
      logs: this.receipts.flatMap((receipt) => receipt.logs),
    })
    this.#requestsHash = requestsHash
    const writes = this.commit()
    this.release()
    const pending = this.pending()
    const { hash, sizeBytes } = this.#digested()
    return { block: { ...pending, hash, sizeBytes: Block.sizeBytes(pending, sizeBytes) }, writes }
  }

  /** For a builder that is given up; one that has sealed its block has done it. Nothing can be added any more. */
  release(): void {
    this.#world.release()
  }

  /** The engine has room for all that one transaction may touch, but not for all that a block of any gas limit may. */
  #execute(tx: Transaction): Executed {
    try {
      return executeTransaction(tx, this.context, this.#world, { anySender: isImpersonated(tx) })
    } catch (error) {
      if (error instanceof EngineFull && this.transactions.length > this.#committed) throw new BlockFull(error.message)
      throw error
    }
  }

  #assertRoom(tx: Transaction): void {
    const gas = this.#frame.gasLimit - this.#gasUsed
    if (tx.gas > gas) throw new BlockFull(`transaction gas ${tx.gas} exceeds the ${gas} left in the block`)
    const { blob } = this.#rules
    const limit = blob === null ? this.#frame.gasLimit : BigInt(blob.max) * GAS_PER_BLOB
    const blobGas = limit - this.#blobGasUsed
    if (this.#blobGas(tx) > blobGas)
      throw new BlockFull(`transaction blob gas ${this.#blobGas(tx)} exceeds the ${blobGas} left in the block`)
  }

  /** What the transaction adds to the header's blob gas: its blobs', or its data-availability footprint on an OP chain since Jovian. */
  #blobGas(tx: Transaction): bigint {
    if (this.#rules.op === null) return GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length)
    if (!this.#rules.hasOp('jovian') || tx.type === 0x7e) return 0n
    return daFootprint(tx.raw, footprintScalar(this.#world))
  }

  #digested(): { readonly hash: Hash; readonly sizeBytes: number } {
    const header = this.header()
    if (this.#digest !== null) return this.#digest
    const encoded = Rlp.encodeView(Header.toRlp(header))
    return (this.#digest = { hash: Hash.keccak(encoded), sizeBytes: encoded.length })
  }

  #headerOn(stateRoot: Hash): Header {
    for (let index = this.#receiptTrie.size; index < this.receipts.length; index++) {
      this.#transactionTrie.push(this.transactions[index]!)
      this.#receiptTrie.push(this.receipts[index]!)
    }
    return {
      ...this.#frame,
      stateRoot,
      transactionsRoot: this.#transactionTrie.rootHash(),
      receiptsRoot: this.#receiptTrie.rootHash(),
      logsBloom: this.#bloom,
      gasUsed: this.#gasUsed,
      blobGasUsed: this.#frame.blobGasUsed === null ? null : this.#blobGasUsed,
      withdrawalsRoot: this.#withdrawalsRoot(),
      requestsHash: this.#requestsHash,
    }
  }

  /** Isthmus: the storage root of the message passer; before and on L1: the withdrawals' own. */
  #withdrawalsRoot(): Hash | null {
    if (this.#rules.hasOp('isthmus')) return this.#state.storageRoot(MESSAGE_PASSER)
    if (!this.#rules.has('shanghai')) return null
    return Trie.orderedRoot((this.#attributes.withdrawals ?? []).map((withdrawal) => Withdrawal.encode(withdrawal)))
  }

  #receipt(tx: Transaction, executed: Executed): Receipt {
    const status = executed.outcome.kind === 'success' ? 1 : 0
    const byzantium = this.#rules.has('byzantium')
    return {
      type: tx.type,
      status: byzantium ? status : null,
      root: byzantium ? null : this.#intermediateRoot(),
      cumulativeGasUsed: this.#gasUsed + executed.gasUsed,
      logsBloom: Bloom.ofLogs(executed.logs),
      logs: executed.logs,
      gasUsed: executed.gasUsed,
      effectiveGasPrice: executed.effectiveGasPrice,
      contractAddress: executed.contractAddress,
      firstLogIndex: this.#logCount,
      blobGasUsed: executed.blobGasUsed,
      blobGasPrice: executed.blobGasPrice,
      depositNonce: executed.depositNonce,
      depositReceiptVersion: executed.depositNonce !== null && this.#rules.hasOp('canyon') ? 1 : null,
      l1: executed.l1,
    }
  }

  /** Before Byzantium a receipt holds the state root after its transaction. */
  #intermediateRoot(): Hash {
    this.commit()
    return this.#state.stateRoot()
  }
}

const NO_NONCE = new Uint8Array(8)

/** The header with everything that is fixed before the first transaction. */
function frame(parent: Block, attributes: BlockAttributes, config: ChainConfig, rules: Rules): Header {
  const cancun = rules.has('cancun')
  return {
    parentHash: parent.hash,
    ommersHash: attributes.ommers.length === 0 ? EMPTY_OMMERS : Hash.keccak(Rlp.encode(attributes.ommers.map(Header.toRlp))),
    coinbase: attributes.feeRecipient,
    stateRoot: Hash.zero,
    transactionsRoot: Hash.zero,
    receiptsRoot: Hash.zero,
    logsBloom: Bloom.empty,
    difficulty: attributes.difficulty,
    number: parent.header.number + 1,
    gasLimit: attributes.gasLimit,
    gasUsed: 0n,
    timestamp: attributes.timestamp,
    extraData: attributes.extraData,
    mixHash: attributes.prevRandao,
    nonce: NO_NONCE,
    baseFeePerGas: attributes.baseFeePerGas ?? nextBaseFee(parent.header, config, rules),
    withdrawalsRoot: null,
    blobGasUsed: cancun ? 0n : null,
    excessBlobGas: cancun ? (rules.op !== null ? 0n : nextExcessBlobGas(parent.header, rules)) : null,
    parentBeaconBlockRoot: cancun ? (attributes.parentBeaconBlockRoot ?? Hash.zero) : null,
    requestsHash: rules.has('prague') ? EMPTY_REQUESTS_HASH : null,
  }
}

/** The transaction does not fit into what is left of the block. */
export class BlockFull extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BlockFull'
  }
}
