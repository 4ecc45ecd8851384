import { Abi, Address, Hash, Hex } from '../eth/index.ts'
import { ChainWatch, RpcError, schema } from '../jsonrpc/index.ts'
import type { Rpc } from '../jsonrpc/index.ts'
import type { Charge, Cursor, Ledger, Looked } from './ledger.ts'
import {
  CURSOR_BLOCKS,
  LOGS_READ,
  LOG_BLOCKS,
  LOG_SENDERS,
  LOOKS_TOGETHER,
  LOOK_BACK_BLOCKS,
  POLL_MS,
  SLOW_POLL_MS,
  TRAIL,
} from './limits.ts'

export interface SettlementOptions {
  readonly rpc: Rpc
  readonly ledger: Ledger
  readonly chainId: number
  readonly entryPoints: readonly Address[]
  /** ours */
  readonly paymasters: readonly Address[]
  /** Told once when the chain cannot be looked at, until it can again; and what a listener of `onHead` throws. */
  readonly onError: (error: unknown) => void
  /** told after a look that found another newest sealed block than the one before */
  readonly onHead?: (head: Looked) => void
}

/**
 * Watches what the EntryPoints tell (UserOperationEvent) and has the ledger follow: pre-confirmed, sealed, taken back, run out. It looks when the node
 * tells of a flashblock or a block, and at intervals; one look at a time. Sealed blocks are looked at in their order and each once, up to the cursor
 * that is kept; a chain that went back is looked at again from the last block that is still there.
 */
export class Settlement {
  readonly #options: SettlementOptions
  /** null: not looked at yet */
  #cursor: Cursor | null = null
  /** the block number of the cursor that is kept, and the writes of the ledger that it stands behind */
  #kept = { number: -1, writes: -1 }
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | null = null
  /** null: not started, or closed before */
  #watch: ChainWatch | null = null
  /** the newest block when the node refused to tell of the block under construction: it is not asked again before the next */
  #refusedAt: Hash | null = null
  #isFailing = false
  #isClosed = false

  constructor(options: SettlementOptions) {
    this.#options = options
  }

  /** The newest sealed block that was looked at; null before `start`. */
  get head(): Looked | null {
    return this.#cursor?.head ?? null
  }

  /** Looks at what has happened since the process before, then goes on by itself. Nothing may be reserved before. Throws RpcError when the node does not answer. */
  async start(): Promise<void> {
    const { rpc, ledger, chainId, entryPoints } = this.#options
    this.#cursor = ledger.cursor(chainId)
    // A process that ended on its way has told the ledger more than the cursor says, and the chain may have gone back since.
    if (this.#cursor !== null) ledger.retract(chainId, this.#cursor.head.number)
    await this.settled()
    if (this.#isClosed) return
    this.#watch = new ChainWatch({
      rpc,
      onActivity: () => this.#look(),
      pollMs: POLL_MS,
      slowPollMs: SLOW_POLL_MS,
      feeds: [
        { params: ['newHeads'], isComplete: true },
        // What nobody has reserved cannot be pre-confirmed.
        { params: ['newFlashblocks'], isRelevant: () => ledger.hasOpen },
        // A chain that goes back tells it here and nowhere else.
        { params: ['logs', { address: entryPoints, topics: [EVENT] }], isRelevant: isRemoved },
      ],
    })
  }

  /** Has looked at everything up to what is the head and the block under construction now. Throws RpcError when the node does not answer. */
  settled(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = null
      const look = this.#isClosed ? Promise.resolve() : this.#lookUp()
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
    this.#keep(true)
  }

  #look(): void {
    if (this.#isClosed) return
    this.settled().then(
      () => (this.#isFailing = false),
      (error: unknown) => {
        if (!this.#isFailing) this.#options.onError(error)
        this.#isFailing = true
      },
    )
  }

  // --- looking --------------------------------------------------------------------------------------------------------

  async #lookUp(): Promise<void> {
    const { ledger, chainId, onHead } = this.#options
    const before = this.#cursor?.head.hash
    for (let look = 0; look < LOOKS_TOGETHER; look++) {
      const head = await this.#block('latest')
      if (head === null) return
      const from = await this.#lastCommon(head)
      if (await this.#scan(from, head)) break
    }
    const head = this.#cursor?.head
    if (head === undefined) return
    ledger.expire(chainId, head)
    if (ledger.hasOpen) ledger.include(chainId, await this.#promised(head))
    this.#keep(false)
    if (head.hash !== before && onHead !== undefined) this.#telling(() => onHead(head))
  }

  #telling(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#options.onError(error)
    }
  }

  /** The number of the newest block that was looked at and is still there; what came after it is taken back. -1: none is. */
  async #lastCommon(head: Header): Promise<number> {
    const { ledger, chainId } = this.#options
    const cursor = this.#cursor
    // A chain that nobody has asked us to pay on has nothing to tell.
    if (cursor === null) return ledger.hasOpen ? lookBack(head) : head.number
    if (head.hash === cursor.head.hash || head.parentHash === cursor.head.hash) return cursor.head.number
    for (let at = cursor.trail.length - 1; at >= 0; at--) {
      const [number, hash] = cursor.trail[at] as Step // it is in range
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
    return lookBack(head)
  }

  /** Tells the ledger of all blocks behind `from`. False: the chain went back meanwhile, and nothing of it counts. */
  async #scan(from: number, head: Header): Promise<boolean> {
    const { ledger, chainId } = this.#options
    for (let first = from + 1; first <= head.number; first += LOG_BLOCKS) {
      const last = Math.min(first + LOG_BLOCKS - 1, head.number)
      const charges = await this.#charges(Hex.fromQuantity(first), Hex.fromQuantity(last))
      ledger.together(() => charges.forEach((charge) => ledger.settle(chainId, charge, this.#isOurs(charge))))
    }
    if (from < head.number && (await this.#block(Hex.fromQuantity(head.number)))?.hash !== head.hash) {
      ledger.retract(chainId, from)
      return false
    }
    const { number, hash, timestamp } = head
    const trail = this.#cursor?.trail ?? []
    const isKnown = trail.at(-1)?.[1] === hash
    this.#cursor = { head: { number, hash, timestamp }, trail: isKnown ? trail : thinned([...trail, [number, hash]]) }
    return true
  }

  /** What the block under construction tells, and those that were sealed in this very moment. */
  async #promised({ number, hash: head }: Looked): Promise<readonly Charge[]> {
    if (this.#refusedAt === head) return []
    try {
      return await this.#charges(Hex.fromQuantity(number + 1), 'pending')
    } catch (error) {
      // Many nodes tell no logs of it; then the sealed block will.
      if (!(error instanceof RpcError)) throw error
      this.#refusedAt = head
      return []
    }
  }

  #isOurs({ paymaster }: Charge): boolean {
    return this.#options.paymasters.includes(paymaster)
  }

  /** What our paymasters paid, and what the accounts did that something is reserved for; in its order. */
  async #charges(fromBlock: Hex, toBlock: Hex | 'pending'): Promise<readonly Charge[]> {
    const { entryPoints, paymasters, ledger, chainId } = this.#options
    const senders = [...new Set(ledger.open().flatMap((entry) => (entry.chainId === chainId ? [entry.sender] : [])))]
    const filters: (readonly (Hash | null | readonly Hash[])[])[] = [[EVENT, null, null, paymasters.map(wordOf)]]
    for (let at = 0; at < senders.length; at += LOG_SENDERS) filters.push([EVENT, null, senders.slice(at, at + LOG_SENDERS).map(wordOf)])
    const told = new Map<string, Told>()
    for (const topics of filters) {
      const logs = await this.#ask('eth_getLogs', { address: entryPoints, topics, fromBlock, toBlock })
      for (const log of LOGS.parse(logs, 'eth_getLogs')) told.set(`${log.blockNumber} ${log.logIndex}`, log)
    }
    return [...told.values()].toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex).map(chargeOf)
  }

  async #block(which: Hex | 'latest'): Promise<Header | null> {
    const block = await this.#ask('eth_getBlockByNumber', which, false)
    return block === null ? null : HEADER.parse(block, 'eth_getBlockByNumber')
  }

  #ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.#options.rpc.request({ method, params })
  }

  /** After what the ledger was told: a process that ends between the two has it told again. */
  #keep(isLast: boolean): void {
    const { ledger, chainId } = this.#options
    ledger.flush()
    if (this.#cursor === null) return
    const { number } = this.#cursor.head
    const isDue = isLast ? number !== this.#kept.number : Math.abs(number - this.#kept.number) >= CURSOR_BLOCKS
    if (!isDue && ledger.writes === this.#kept.writes) return
    ledger.putCursor(chainId, this.#cursor)
    this.#kept = { number, writes: ledger.writes }
  }
}

type Step = Cursor['trail'][number]

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
type Told = ReturnType<typeof LOGS.parse>[number]

function chargeOf({ address: entryPoint, topics, data, blockNumber, blockHash, transactionHash }: Told): Charge {
  const [, userOpHash = Hash.zero, sender, paymaster] = topics
  const values = Abi.Reader(data)
  return {
    entryPoint,
    sender: lowBytes(sender),
    nonce: values.word(0),
    paymaster: lowBytes(paymaster),
    userOpHash,
    success: values.word(1) !== 0n,
    cost: values.word(2),
    place: { blockNumber, blockHash: blockHash === undefined || blockHash === Hash.zero ? null : blockHash, transactionHash },
  }
}

function lowBytes(topic: Hash | undefined): Address {
  return Address.fromBigint(BigInt(topic ?? 0))
}

function wordOf(account: Address): Hash {
  return Hash.fromBigint(Address.toBigint(account))
}

/** Behind it no signature can be open any more. */
function lookBack({ number }: Header): number {
  return Math.max(-1, number - LOOK_BACK_BLOCKS)
}

/** Of the older ones every second goes: the further back, the further apart, and the first one stays. */
function thinned(trail: readonly Step[]): readonly Step[] {
  if (trail.length <= TRAIL) return trail
  const fresh = trail.length - TRAIL / 4
  return trail.filter((_, i) => i >= fresh || i % 2 === 0)
}

function isRemoved(log: unknown): boolean {
  return typeof log === 'object' && log !== null && 'removed' in log && log.removed === true
}

function nothing(): void {}
