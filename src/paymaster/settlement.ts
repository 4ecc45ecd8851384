import { Abi, Address, Hash, Hex } from '../eth/index.ts'
import { ChainWatch, RpcError, schema } from '../jsonrpc/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import type { Charge, Cursor, Ledger, ProcessedBlock } from './ledger.ts'
import {
  CURSOR_BLOCKS,
  LOGS_READ,
  LOG_BLOCKS,
  LOG_SENDERS,
  SCAN_ATTEMPTS,
  LOOK_BACK_BLOCKS,
  POLL_MS,
  SLOW_POLL_MS,
  TRAIL,
} from './limits.ts'

interface SettlementOptions {
  readonly rpc: Rpc
  readonly ledger: Ledger
  readonly chainId: number
  readonly entryPoints: readonly Address[]
  /** addresses of the sponsor's paymasters */
  readonly paymasters: readonly Address[]
  /** receives the first of consecutive failures to read the chain, and errors of `onHead` */
  readonly onError: (error: unknown) => void
  /** called when the newest sealed block has changed */
  readonly onHead?: (head: ProcessedBlock) => void
}

/**
 * Applies UserOperationEvents of the EntryPoints to the ledger: pre-confirmed, sealed, removed by a reorg; and expires reservations. It
 * runs at each flashblock and block and at intervals, one run at a time. Sealed blocks are processed in order and once, up to the stored
 * cursor; after a reorg from the last common block.
 */
export class Settlement {
  readonly #options: SettlementOptions
  /** `null` before the first run */
  #cursor: Cursor | null = null
  /** block number of the stored cursor, and the ledger's write count at that time */
  #persisted = { number: -1, writes: -1 }
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  /** `null` before `start` and after an early close */
  #watch: ChainWatch | null = null
  /** the head at which the node refused pending logs: they are requested again at the next head */
  #pendingLogsRefusedAt: Hash | null = null
  #isFailing = false
  #isClosed = false

  constructor(options: SettlementOptions) {
    this.#options = options
  }

  /** The newest processed block; `null` before `start`. */
  get head(): ProcessedBlock | null {
    return this.#cursor?.head ?? null
  }

  /**
   * Processes the blocks since the last run, then watches the chain. Required before reservations. Throws RpcError if the node does not
   * respond.
   */
  async start(): Promise<void> {
    const { rpc, ledger, chainId, entryPoints } = this.#options
    this.#cursor = ledger.cursor(chainId)
    // A process that ended early may have applied more than the cursor covers, and a reorg may have happened since.
    if (this.#cursor !== null) ledger.retract(chainId, this.#cursor.head.number)
    await this.settled()
    if (this.#isClosed) return
    this.#watch = new ChainWatch({
      rpc,
      onActivity: () => this.#scheduleProcessing(),
      pollMs: POLL_MS,
      slowPollMs: SLOW_POLL_MS,
      feeds: [
        { params: ['newHeads'], isComplete: true },
        // Without reservations there is nothing to pre-confirm.
        { params: ['newFlashblocks'], isRelevant: () => ledger.hasOpen },
        // Removed logs are the only notification of a reorg.
        { params: ['logs', { address: entryPoints, topics: [EVENT] }], isRelevant: isRemoved },
      ],
    })
  }

  /** Resolves once the current head and the block under construction are processed. Throws RpcError if the node does not respond. */
  settled(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = null
      const look = this.#isClosed ? Promise.resolve() : this.#processBlocks()
      this.#running = look.catch(nothing)
      return look
    })
    return this.#next
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#watch?.end()
    await this.#running
    this.#persist(true)
  }

  #scheduleProcessing(): void {
    if (this.#isClosed) return
    this.settled().then(
      () => (this.#isFailing = false),
      (error: unknown) => {
        if (!this.#isFailing) this.#options.onError(error)
        this.#isFailing = true
      },
    )
  }

  // --- processing -----------------------------------------------------------------------------------------------------

  async #processBlocks(): Promise<void> {
    const { ledger, chainId, onHead } = this.#options
    const before = this.#cursor?.head.hash
    for (let attempt = 0; attempt < SCAN_ATTEMPTS; attempt++) {
      const head = await this.#block('latest')
      if (head === null) return
      const from = await this.#commonAncestor(head)
      if (await this.#settleBlocks(from, head)) break
    }
    const head = this.#cursor?.head
    if (head === undefined) return
    ledger.expire(chainId, head)
    if (ledger.hasOpen) ledger.include(chainId, await this.#preConfirmedCharges(head))
    this.#persist(false)
    if (head.hash !== before && onHead !== undefined) this.#notify(() => onHead(head))
  }

  #notify(listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.#options.onError(error)
    }
  }

  /** Returns the number of the newest processed block that is still canonical, and reverts the charges after it; -1 if there is none. */
  async #commonAncestor(head: Header): Promise<number> {
    const { ledger, chainId } = this.#options
    const cursor = this.#cursor
    // Without reservations older blocks are not relevant.
    if (cursor === null) return ledger.hasOpen ? backfillStart(head) : head.number
    if (head.hash === cursor.head.hash || head.parentHash === cursor.head.hash) return cursor.head.number
    for (let at = cursor.trail.length - 1; at >= 0; at--) {
      const [number, hash] = cursor.trail[at] as TrailBlock // it is in range
      if (number > head.number) continue
      const block = number === head.number ? head : await this.#block(Hex.fromQuantity(number))
      if (block?.hash !== hash) continue
      if (number === cursor.head.number) return number
      ledger.retract(chainId, number)
      this.#cursor = { head: block, trail: cursor.trail.slice(0, at + 1) }
      return number
    }
    ledger.retract(chainId, -1)
    this.#cursor = null
    return backfillStart(head)
  }

  /** Applies the blocks after `from` to the ledger. Returns false if a reorg happened in the meantime; then they are reverted. */
  async #settleBlocks(from: number, head: Header): Promise<boolean> {
    const { ledger, chainId } = this.#options
    try {
      for (let first = from + 1; first <= head.number; first += LOG_BLOCKS) {
        const last = Math.min(first + LOG_BLOCKS - 1, head.number)
        const charges = await this.#charges(Hex.fromQuantity(first), Hex.fromQuantity(last))
        ledger.atomically(() => charges.forEach((charge) => ledger.settle(chainId, charge, this.#isOurs(charge))))
      }
    } catch (error) {
      // A node refuses the logs of a range that a reorg has removed.
      if (!(error instanceof RpcError) || (await this.#isCanonical(head))) throw error
      ledger.retract(chainId, from)
      return false
    }
    if (from < head.number && !(await this.#isCanonical(head))) {
      ledger.retract(chainId, from)
      return false
    }
    const { number, hash, timestamp } = head
    const trail = this.#cursor?.trail ?? []
    const isKnown = trail.at(-1)?.[1] === hash
    this.#cursor = { head: { number, hash, timestamp }, trail: isKnown ? trail : thinTrail([...trail, [number, hash]]) }
    return true
  }

  async #isCanonical({ number, hash }: Header): Promise<boolean> {
    return (await this.#block(Hex.fromQuantity(number)))?.hash === hash
  }

  /** Returns the charges of the block under construction, and of blocks that were sealed since. */
  async #preConfirmedCharges({ number, hash: head }: ProcessedBlock): Promise<readonly Charge[]> {
    if (this.#pendingLogsRefusedAt === head) return []
    try {
      return await this.#charges(Hex.fromQuantity(number + 1), 'pending')
    } catch (error) {
      // Many nodes have no pending logs; the sealed block then has them.
      if (!(error instanceof RpcError)) throw error
      this.#pendingLogsRefusedAt = head
      return []
    }
  }

  #isOurs({ paymaster }: Charge): boolean {
    return this.#options.paymasters.includes(paymaster)
  }

  /** Returns the charges of the sponsor's paymasters and of senders with reservations, in chain order. */
  async #charges(fromBlock: Hex, toBlock: Hex | 'pending'): Promise<readonly Charge[]> {
    const { entryPoints, paymasters, ledger, chainId } = this.#options
    const senders = [...new Set(ledger.open().flatMap((entry) => (entry.chainId === chainId ? [entry.sender] : [])))]
    const filters: (readonly (Hash | null | readonly Hash[])[])[] = [[EVENT, null, null, paymasters.map(wordOf)]]
    for (let at = 0; at < senders.length; at += LOG_SENDERS) filters.push([EVENT, null, senders.slice(at, at + LOG_SENDERS).map(wordOf)])
    const logs = new Map<string, EventLog>()
    for (const topics of filters) {
      const answer = await this.#ask('eth_getLogs', { address: entryPoints, topics, fromBlock, toBlock })
      for (const log of LOGS.parse(answer, 'eth_getLogs')) logs.set(`${log.blockNumber} ${log.logIndex}`, log)
    }
    return [...logs.values()].toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex).map(chargeOf)
  }

  async #block(which: Hex | 'latest'): Promise<Header | null> {
    const block = await this.#ask('eth_getBlockByNumber', which, false)
    return block === null ? null : HEADER.parse(block, 'eth_getBlockByNumber')
  }

  #ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.#options.rpc.request({ method, params })
  }

  /** Stored after the ledger's changes: a process that ends in between applies them again. */
  #persist(isLast: boolean): void {
    const { ledger, chainId } = this.#options
    ledger.flush()
    if (this.#cursor === null) return
    const { number } = this.#cursor.head
    const isDue = isLast ? number !== this.#persisted.number : Math.abs(number - this.#persisted.number) >= CURSOR_BLOCKS
    if (!isDue && ledger.writes === this.#persisted.writes) return
    ledger.putCursor(chainId, this.#cursor)
    this.#persisted = { number, writes: ledger.writes }
  }
}

type TrailBlock = Cursor['trail'][number]

const EVENT = Hash.ofText('UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)')

const { address, arrayOf, bytes, hash, maybe, object, quantityNumber } = schema
const HEADER = object({ number: quantityNumber, hash, parentHash: hash, timestamp: quantityNumber })
const LOGS = arrayOf(
  object({
    address,
    topics: arrayOf(hash, 4),
    data: bytes,
    blockNumber: quantityNumber,
    blockHash: maybe(hash),
    transactionHash: hash,
    logIndex: quantityNumber,
  }),
  LOGS_READ,
)

type Header = ReturnType<typeof HEADER.parse>
type EventLog = ReturnType<typeof LOGS.parse>[number]

function chargeOf({ address: entryPoint, topics, data, blockNumber, blockHash, transactionHash }: EventLog): Charge {
  const [, userOpHash = Hash.zero, sender = Hash.zero, paymaster = Hash.zero] = topics
  const values = Abi.Reader(data)
  return {
    entryPoint,
    sender: Address.fromHash(sender),
    nonce: values.word(0),
    paymaster: Address.fromHash(paymaster),
    userOpHash,
    success: values.word(1) !== 0n,
    cost: values.word(2),
    gasUsed: values.word(3),
    place: { blockNumber, blockHash: blockHash === undefined || blockHash === Hash.zero ? null : blockHash, transactionHash },
  }
}

function wordOf(account: Address): Hash {
  return Hash.fromBigint(Address.toBigint(account))
}

/** No signature lasts longer than this many blocks. */
function backfillStart({ number }: Header): number {
  return Math.max(-1, number - LOOK_BACK_BLOCKS)
}

/** Removes every second of the older blocks, so that distances grow with age; the first one stays. */
function thinTrail(trail: readonly TrailBlock[]): readonly TrailBlock[] {
  if (trail.length <= TRAIL) return trail
  const fresh = trail.length - TRAIL / 4
  return trail.filter((_, i) => i >= fresh || i % 2 === 0)
}

function isRemoved(log: unknown): boolean {
  return typeof log === 'object' && log !== null && 'removed' in log && log.removed === true
}

function nothing(): void {}
