import { Bloom, EMPTY_OMMERS, EMPTY_REQUESTS_HASH, Block, Hash, Header, Receipt, Rlp, Withdrawal } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import {
  EngineOutOfMemory,
  InvalidTransaction,
  L2_TO_L1_MESSAGE_PASSER,
  World,
  beginBlock,
  endBlock,
  executeTransaction,
  nextExcessBlobGas,
  rulesAt,
} from '../../evm/index.ts'
import type { BlockContext, ChainConfig, EndBlockInput, Executed, Rules, StateReader, WriteSet } from '../../evm/index.ts'
import { toBlockEnv } from '../view/environment.ts'
import type { ExecutionNotes } from './executionnotes.ts'
import { nextBaseFee } from './basefee.ts'
import { BLOCK_BYTES } from '../limits.ts'
import { OrderedTrie, Trie } from '../state/trie.ts'
import type { BlockPrices } from '../pool/besttransactions.ts'
import { blobGas, blobGasLimit, isImpersonated } from '../pool/validation.ts'

/** Header fields and contents that the block builder chooses. */
export interface BlockAttributes {
  /** seconds */
  readonly timestamp: number
  /** Milliseconds under the native cadence, else `null`. */
  readonly timestampMs: number | null
  readonly prevRandao: Hash
  readonly feeRecipient: Address
  readonly gasLimit: bigint
  readonly extraData: Uint8Array
  readonly parentBeaconBlockRoot: Hash | null
  readonly withdrawals: readonly Withdrawal[] | null
  /** Wei; `null` for the EIP-1559 value. */
  readonly baseFeePerGas: bigint | null
  /** Non-zero only for imported proof-of-work blocks. */
  readonly difficulty: bigint
  readonly ommers: readonly Header[]
}

/** State that a builder reads and writes; implemented by StateHistory and by test witnesses. */
export interface BuilderState {
  readonly version: number
  at(version: number): StateReader
  apply(writes: WriteSet): number
  /** Root of the newest version, like `storageRoot`. */
  stateRoot(): Hash
  storageRoot(address: Address): Hash
  /** Runs and commits the system calls at the start of a block; present over a state that is partly remote. */
  readonly duringSystemCalls?: ((work: () => void) => void) | undefined
}

/**
 * Builds one block. The same code builds pending, sealed and imported blocks.
 * Call `begin`, then `add` and `commit` alternately, then `seal`; `release` at any time. Writes enter the state on `commit` only.
 */
export class BlockBuilder {
  readonly context: BlockContext
  readonly prices: BlockPrices
  readonly transactions: Transaction[] = []
  readonly receipts: Receipt[] = []
  readonly #state: BuilderState
  readonly #attributes: BlockAttributes
  readonly #notes: ExecutionNotes | null
  readonly #rules: Rules
  readonly #initialHeader: Header
  readonly #world: World
  /** Number of transactions whose writes are in the state. */
  #committed = 0
  #gasUsed = 0n
  #blobGasUsed = 0n
  /** RLP of the transactions. */
  #transactionBytes = 0
  #bytesOfHeader: number | null = null
  #logCount = 0
  #bloom: Uint8Array = Bloom.empty
  #requestsHash: Hash | null
  readonly #transactionTrie = new OrderedTrie<Transaction>(({ raw }) => raw)
  readonly #receiptTrie = new OrderedTrie<Receipt>(Receipt.encodeView)
  #header: Header
  /** Hash and encoded size of `#header`. */
  #digest: { readonly hash: Hash; readonly sizeBytes: number } | null = null

  constructor(
    state: BuilderState,
    config: ChainConfig,
    parent: Block,
    attributes: BlockAttributes,
    blockHash: (number: number) => Hash | null,
    notes: ExecutionNotes | null = null,
  ) {
    this.#state = state
    this.#notes = notes
    this.#attributes = attributes
    this.#rules = rulesAt(config, parent.header.number + 1, attributes.timestamp)
    this.#initialHeader = initialHeader(parent, attributes, config, this.#rules)
    this.context = { config, rules: this.#rules, env: toBlockEnv(this.#initialHeader, this.#rules, blockHash) }
    const { baseFeePerGas, blobBaseFee } = this.context.env
    this.prices = { baseFeePerGas: baseFeePerGas ?? 0n, blobBaseFee: blobBaseFee ?? 0n }
    this.#world = new World(state.at(state.version))
    this.#requestsHash = this.#initialHeader.requestsHash
    this.#header = this.#initialHeader
  }

  get number(): number {
    return this.#initialHeader.number
  }

  get gasUsed(): bigint {
    return this.#gasUsed
  }

  get gasLimit(): bigint {
    return this.#initialHeader.gasLimit
  }

  /** True after an engine failure; the block cannot be continued. */
  get isUnusable(): boolean {
    return this.#world.isAbandoned
  }

  /** Runs the system calls before the first transaction (EIP-4788, EIP-2935). */
  begin(): void {
    if (this.#state.duringSystemCalls === undefined) return beginBlock(this.context, this.#world)
    this.#state.duringSystemCalls(() => {
      beginBlock(this.context, this.#world)
      this.commit()
    })
  }

  /** True if the block stays within `gas`, in gas used and, since Jovian, in data-availability footprint, and within the limit of its size. */
  fits(tx: Transaction, gas: bigint): boolean {
    if (this.#gasUsed + tx.gas > gas) return false
    return this.#rules.op === null ? this.#bytesLeft(tx) >= 0 : this.#blobGasUsed + blobGas(tx, this.#rules, this.#world) <= gas
  }

  /** Executes a transaction. Throws InvalidTransaction or BlockFull and leaves the block as it was. */
  add(tx: Transaction): Receipt {
    this.#assertFits(tx)
    const executed = this.#execute(tx)
    this.#notes?.record(tx.hash, executed)
    const receipt = this.#receipt(tx, executed)
    this.transactions.push(tx)
    this.receipts.push(receipt)
    this.#gasUsed = receipt.cumulativeGasUsed
    this.#blobGasUsed += executed.blobGasUsed ?? 0n
    this.#transactionBytes += Block.transactionBytes(tx)
    this.#logCount += receipt.logs.length
    this.#bloom = Bloom.or(this.#bloom, receipt.logsBloom)
    return receipt
  }

  /** As `add`, but returns the InvalidTransaction or BlockFull. While state is guessed, a transaction may be invalid that is not. */
  tryAdd(tx: Transaction): InvalidTransaction | BlockFull | null {
    try {
      this.add(tx)
      return null
    } catch (error) {
      if (error instanceof InvalidTransaction || error instanceof BlockFull) return error
      throw error
    }
  }

  /** Writes the changes since the last commit into the state, as one version. */
  commit(): WriteSet {
    const writes = this.#world.writes()
    if (writes.accounts.size > 0 || writes.storage.size > 0) this.#state.apply(writes)
    this.#world.rebase(this.#state.at(this.#state.version))
    this.#committed = this.transactions.length
    return writes
  }

  /** Returns the block up to the last commit. Its `hash` is zero; the header's hash is what the block would have if it were sealed now. */
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

  /** Header of `pending`; the same object while nothing changes. */
  header(): Header {
    const stateRoot = this.#state.stateRoot()
    const isSame = this.#receiptTrie.size === this.receipts.length && this.#header.stateRoot === stateRoot
    if (isSame && this.#header.requestsHash === this.#requestsHash) return this.#header
    this.#digest = null
    return (this.#header = this.#headerWith(stateRoot))
  }

  /** Hash that the block would have if it were sealed now. */
  hash(): Hash {
    return this.#encodedHeader().hash
  }

  /** Runs the end of the block on the last commit and discards the result. Throws MissingState. */
  rehearseEnd(): void {
    const world = new World(this.#state.at(this.#state.version))
    try {
      endBlock(this.context, world, this.#endInput)
    } finally {
      world.release()
    }
  }

  /**
   * Applies rewards, withdrawals and requests, and returns the finished block with their writes. `requests` are encoded as in EIP-7685. Throws
   * MissingState, and the block can then be continued.
   */
  seal(): { block: Block; writes: WriteSet; requests: readonly Uint8Array[] } {
    const { requests, requestsHash } = endBlock(this.context, this.#world, this.#endInput)
    this.#requestsHash = requestsHash
    const writes = this.commit()
    this.release()
    const pending = this.pending()
    const { hash, sizeBytes } = this.#encodedHeader()
    return { block: { ...pending, hash, sizeBytes: Block.sizeBytes(pending, sizeBytes, this.#transactionBytes) }, writes, requests }
  }

  /** Releases the engine instance; `seal` does so itself. Nothing can be added afterwards. */
  release(): void {
    this.#world.release()
  }

  get #endInput(): EndBlockInput {
    const { withdrawals, ommers } = this.#attributes
    return { withdrawals: withdrawals ?? [], ommers, logs: this.receipts.flatMap((receipt) => receipt.logs) }
  }

  /** The engine's tables hold everything that nearly any transaction can touch, but not everything that a block can. */
  #execute(tx: Transaction): Executed {
    try {
      return executeTransaction(tx, this.context, this.#world, { skipSenderCheck: isImpersonated(tx) })
    } catch (error) {
      if (!(error instanceof EngineOutOfMemory)) throw error
      const hasOthers = this.transactions.slice(this.#committed).some(({ deposit }) => deposit === null)
      if (hasOthers) throw new BlockFull(error.message)
      // Otherwise the transactions after it would fail too.
      this.#world.makeRoom()
      throw error
    }
  }

  #assertFits(tx: Transaction): void {
    const gas = this.#initialHeader.gasLimit - this.#gasUsed
    if (tx.gas > gas) throw new BlockFull(`transaction gas ${tx.gas} exceeds the ${gas} left in the block`)
    const used = blobGas(tx, this.#rules, this.#world)
    const left = blobGasLimit(this.#rules, this.#initialHeader.gasLimit) - this.#blobGasUsed
    if (used > left) throw new BlockFull(`transaction blob gas ${used} exceeds the ${left} left in the block`)
    const bytesLeft = this.#bytesLeft(tx)
    if (bytesLeft < 0) throw new BlockFull(`transaction size of ${tx.raw.length} bytes is ${-bytesLeft} more than the block has left`)
  }

  /** Bytes that a transaction would leave in the block, which are negative if it does not fit (EIP-7934). */
  #bytesLeft(tx: Transaction): number {
    if (this.#rules.op !== null || !this.#rules.has('osaka')) return 0
    const blobGasUsed = this.#blobGasUsed + blobGas(tx, this.#rules, this.#world)
    const header = this.#headerBytes() + Rlp.size(blobGasUsed) - Rlp.size(0n)
    return BLOCK_BYTES - Block.sizeBytes(this.#attributes, header, this.#transactionBytes + Block.transactionBytes(tx))
  }

  /** Length of the header without blob gas. The used gas counts as the gas limit: near the limit of its size a block has used most of it. */
  #headerBytes(): number {
    const { gasLimit } = this.#initialHeader
    return (this.#bytesOfHeader ??= Rlp.size(Header.toRlp({ ...this.#initialHeader, gasUsed: gasLimit, withdrawalsRoot: Hash.zero })))
  }

  #encodedHeader(): { readonly hash: Hash; readonly sizeBytes: number } {
    const header = this.header()
    if (this.#digest !== null) return this.#digest
    const encoded = Rlp.encodeView(Header.toRlp(header))
    return (this.#digest = { hash: Hash.keccak(encoded), sizeBytes: encoded.length })
  }

  #headerWith(stateRoot: Hash): Header {
    for (let index = this.#receiptTrie.size; index < this.receipts.length; index++) {
      this.#transactionTrie.push(this.transactions[index]!)
      this.#receiptTrie.push(this.receipts[index]!)
    }
    return {
      ...this.#initialHeader,
      stateRoot,
      transactionsRoot: this.#transactionTrie.rootHash(),
      receiptsRoot: this.#receiptTrie.rootHash(),
      logsBloom: this.#bloom,
      gasUsed: this.#gasUsed,
      blobGasUsed: this.#initialHeader.blobGasUsed === null ? null : this.#blobGasUsed,
      withdrawalsRoot: this.#withdrawalsRoot(),
      requestsHash: this.#requestsHash,
    }
  }

  /** Isthmus: the storage root of the message passer. Before it and on L1: the root of the withdrawals. */
  #withdrawalsRoot(): Hash | null {
    if (this.#rules.hasOp('isthmus')) return this.#state.storageRoot(L2_TO_L1_MESSAGE_PASSER)
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

  /** Receipts before Byzantium hold the state root after their transaction. */
  #intermediateRoot(): Hash {
    this.commit()
    return this.#state.stateRoot()
  }
}

const ZERO_NONCE = new Uint8Array(8)

/** Returns the header with all fields that are fixed before the first transaction. */
export function initialHeader(parent: Block, attributes: BlockAttributes, config: ChainConfig, rules: Rules): Header {
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
    nonce: ZERO_NONCE,
    baseFeePerGas: attributes.baseFeePerGas ?? nextBaseFee(parent.header, config, rules),
    withdrawalsRoot: null,
    blobGasUsed: cancun ? 0n : null,
    excessBlobGas: cancun ? (rules.op !== null ? 0n : nextExcessBlobGas(parent.header, rules)) : null,
    parentBeaconBlockRoot: cancun ? (attributes.parentBeaconBlockRoot ?? Hash.zero) : null,
    requestsHash: rules.has('prague') ? EMPTY_REQUESTS_HASH : null,
  }
}

/** The transaction exceeds the block's remaining gas or blob gas. */
export class BlockFull extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BlockFull'
  }
}
