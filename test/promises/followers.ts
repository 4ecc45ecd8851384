import type { Block, Hash, Receipt } from '../../src/eth/index.ts'
import type { Chain, View } from '../../src/chain/index.ts'
import { feedsOf } from '../../src/rpc/index.ts'
import { Publisher } from '../../src/stream/index.ts'

/** A difference between what subscribers received and what the node returns. */
export class Difference extends Error {
  override readonly name = 'Difference'
}

/** Newest blocks that are compared at each step. */
const COMPARED_BLOCKS = 4
/** Older ones that a rollback may uncover. */
const REMEMBERED_BLOCKS = 16
const DEPOSIT = '0x7e'
const EVERY_LOG = { addresses: null, topics: [] }

interface LogJson {
  readonly blockNumber: string
  readonly transactionHash: Hash
  readonly logIndex: string
  readonly data: string
  readonly removed: boolean
}

interface TransactionJson {
  readonly hash: Hash
  readonly blockNumber: string
  readonly status: string
  readonly gasUsed: string
  readonly type: string
  readonly removed?: boolean
}

interface Message {
  readonly payload_id: string
  readonly index: number
  readonly diff: { readonly transactions: readonly string[]; readonly block_hash: Hash }
  readonly metadata: { readonly block_number: number }
}

/** Subscribers that rebuild the chain only from notifications, each from one kind. */
export class Followers {
  readonly #chain: Chain
  readonly #publisher: Publisher
  readonly #pendingLogs = new LogFollower('pendingLogs')
  readonly #sealedLogs = new LogFollower('logs')
  readonly #promised = new Map<Hash, TransactionJson>()
  readonly #heads = new Map<number, Hash>()
  #payload: { readonly id: string; readonly number: number; readonly transactions: string[]; lastIndex: number; hash: Hash } | null = null
  readonly #errors: string[] = []

  constructor(chain: Chain) {
    this.#chain = chain
    this.#publisher = new Publisher(chain.head)
    const feeds = feedsOf(chain)
    const { head } = chain.head.view
    this.#heads.set(head.header.number, head.hash)
    feeds.pendingLogs(EVERY_LOG, (log) => this.#try(() => this.#pendingLogs.accept(log as LogJson)))
    feeds.logs(EVERY_LOG, (log) => this.#try(() => this.#sealedLogs.accept(log as LogJson)))
    feeds.flashblockTransactions(true, (tx) => this.#try(() => this.#onTransaction(tx as TransactionJson)))
    feeds.heads((header) => this.#onHead(header as { readonly number: string; readonly hash: Hash; readonly parentHash: Hash }))
    this.#publisher.subscribe('plain', {
      send: ({ bytes }) => this.#try(() => this.#onMessage(JSON.parse(new TextDecoder().decode(bytes)) as Message)),
      terminate: (reason) => this.#errors.push(reason),
    })
  }

  close(): void {
    this.#publisher.close()
  }

  /** Throws Difference. */
  compare(): void {
    const { view } = this.#chain.head
    const newest = view.head.header.number
    const blocks: Block[] = []
    for (let number = Math.max(1, newest - COMPARED_BLOCKS); number <= newest; number++) blocks.push(view.byNumber(number)!)
    const oldest = blocks[0]?.header.number ?? 1
    const [error] = this.#errors
    if (error !== undefined) throw new Difference(error)
    this.#sealedLogs.compare(blocks, oldest)
    this.#pendingLogs.compare(view.pending === null ? blocks : [...blocks, view.pending], oldest)
    this.#comparePromised(view, blocks)
    for (const { header, hash } of blocks) expectSame('newHeads', header.number, this.#heads.get(header.number), hash)
    this.#comparePayload(view)
  }

  #comparePromised(view: View, blocks: readonly Block[]): void {
    const shown = new Set<Hash>()
    for (const block of view.pending === null ? blocks : [...blocks, view.pending]) {
      for (const { hash, deposit } of block.transactions) {
        if (deposit !== null) continue
        shown.add(hash)
        if (!this.#promised.has(hash)) throw new Difference(`newFlashblockTransactions lacks ${hash} of block ${block.header.number}`)
      }
    }
    const oldest = blocks[0]?.header.number ?? 0
    for (const [hash, { blockNumber }] of this.#promised) {
      if (Number(blockNumber) < oldest - REMEMBERED_BLOCKS) this.#promised.delete(hash)
      else if (Number(blockNumber) >= oldest && !shown.has(hash))
        throw new Difference(`newFlashblockTransactions still has ${hash} of block ${Number(blockNumber)}`)
    }
  }

  #comparePayload({ pending, flashblockIndex }: View): void {
    if (pending === null) return
    const { number = -1, transactions = [], lastIndex = -1 } = this.#payload ?? {}
    expectSame('the stream', 'block number', number, pending.header.number)
    expectSame('the stream', 'index', lastIndex, flashblockIndex)
    expectSame(
      'the stream',
      'transactions',
      transactions.join(),
      pending.transactions.map(({ raw }) => Buffer.from(raw).toString('hex')).join(),
    )
  }

  #onTransaction(tx: TransactionJson): void {
    if (tx.type === DEPOSIT) return
    const key = tx.hash
    if (tx.removed === true) {
      if (!this.#promised.delete(key)) throw new Difference(`newFlashblockTransactions removes ${key}, which it has not announced`)
      return
    }
    this.#promised.set(key, tx)
  }

  #onHead({ number, hash }: { readonly number: string; readonly hash: Hash }): void {
    const height = Number(number)
    for (let above = height + 1; this.#heads.delete(above);) above++
    this.#heads.set(height, hash)
    this.#heads.delete(height - COMPARED_BLOCKS - REMEMBERED_BLOCKS)
    const payload = this.#payload
    if (payload?.number === height && payload.hash !== hash && this.#chain.head.view.byHash(hash)?.timestampMs === null) {
      this.#errors.push(`block ${height} is sealed as ${hash}, and its last flashblock said ${payload.hash}`)
    }
  }

  #onMessage({ payload_id: id, index, diff, metadata }: Message): void {
    const raws = diff.transactions.map((raw) => raw.slice(2))
    const payload = this.#payload
    if (payload?.id !== id) {
      if (index !== 0) throw new Difference(`payload ${id} of block ${metadata.block_number} starts with index ${index}`)
      this.#payload = { id, number: metadata.block_number, transactions: raws, lastIndex: 0, hash: diff.block_hash }
      return
    }
    if (index <= payload.lastIndex) throw new Difference(`index ${index} of payload ${id} follows ${payload.lastIndex}`)
    payload.transactions.push(...raws)
    payload.lastIndex = index
    payload.hash = diff.block_hash
  }

  #try(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof Difference)) throw error
      this.#errors.push(error.message)
    }
  }
}

/** The logs that a subscription has announced and not removed. */
class LogFollower {
  readonly #name: string
  readonly #byBlock = new Map<number, Map<string, string>>()

  constructor(name: string) {
    this.#name = name
  }

  accept({ blockNumber, transactionHash, logIndex, data, removed }: LogJson): void {
    const number = Number(blockNumber)
    const key = `${transactionHash}/${Number(logIndex)}`
    const logs = this.#byBlock.get(number) ?? new Map<string, string>()
    this.#byBlock.set(number, logs)
    if (removed) {
      if (logs.get(key) !== data) throw new Difference(`${this.#name} removes log ${key} of block ${number}, which it has not announced so`)
      logs.delete(key)
    } else {
      if (logs.has(key)) throw new Difference(`${this.#name} announces log ${key} of block ${number} twice`)
      logs.set(key, data)
    }
  }

  compare(blocks: readonly Block[], oldest: number): void {
    const numbers = new Set(blocks.map(({ header }) => header.number))
    for (const [number, logs] of this.#byBlock) {
      if (number < oldest - REMEMBERED_BLOCKS) this.#byBlock.delete(number)
      else if (number >= oldest && !numbers.has(number) && logs.size > 0)
        throw new Difference(`${this.#name} has logs of block ${number}, which does not exist`)
    }
    for (const block of blocks) {
      const announced = this.#byBlock.get(block.header.number) ?? new Map<string, string>()
      const actual = logsOf(block)
      expectSame(this.#name, `number of logs in block ${block.header.number}`, announced.size, actual.length)
      for (const [key, data] of actual) expectSame(this.#name, key, announced.get(key), data)
    }
  }
}

function logsOf({ transactions, receipts }: Block): readonly (readonly [string, string])[] {
  return receipts.flatMap(({ logs, firstLogIndex }: Receipt, index) =>
    logs.map((log, i) => [`${transactions[index]!.hash}/${firstLogIndex + i}`, `0x${Buffer.from(log.data).toString('hex')}`] as const),
  )
}

function expectSame(name: string, what: string | number, followed: unknown, actual: unknown): void {
  if (followed !== actual)
    throw new Difference(`${name}: ${what} is ${String(followed).slice(0, 200)}, not ${String(actual).slice(0, 200)}`)
}
