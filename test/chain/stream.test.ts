import { once } from 'node:events'
import { brotliDecompressSync } from 'node:zlib'
import { keccak256, numberToHex, parseTransaction, recoverTransactionAddress, toRlp } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ManualClock, Trie } from '../../src/chain/index.ts'
import { bytecode } from '../../examples/contract/counter.mjs'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

// Reads the flashblock stream like an independent consumer: only the public wire format, decoded with viem.

const FLASHBLOCK_MS = 200
const PER_BLOCK = 11

describe('the flashblock stream over sockets', () => {
  it.each(['plain', 'brotli'] as const)('keeps the invariants of flashblocks over two blocks (%s)', async (encoding) => {
    await using stage = await setUp()
    const messages = await stage.read(encoding)
    await stage.load(2 * PER_BLOCK)
    await stage.toBlock(messages[0]!.metadata.block_number + 3)
    expect(messages.every(({ binary }) => binary === (encoding === 'brotli'))).toBe(true)
    const blocks = wholeBlocks(messages)
    expect(blocks.length).toBeGreaterThanOrEqual(2)
    for (const block of blocks) {
      expect(block.map(({ index }) => index)).toEqual(Array.from({ length: PER_BLOCK }, (_, i) => i))
      expect(block.map(({ base }) => base !== undefined)).toEqual(block.map((_, i) => i === 0))
      // The first flashblock contains only the deposits, and later ones only add transactions.
      expect(block[0]!.diff.transactions.every((raw) => raw.startsWith('0x7e'))).toBe(true)
      for (const [i, message] of block.slice(1).entries()) {
        expect(Number(message.diff.gas_used)).toBeGreaterThanOrEqual(Number(block[i]!.diff.gas_used))
      }
      const raws = block.flatMap(({ diff }) => diff.transactions)
      expect(new Set(raws).size).toBe(raws.length)
      const sealed = await stage.block(block[0]!.metadata.block_number)
      expect(raws.map((raw) => keccak256(raw))).toEqual(sealed.transactions.map(({ hash }) => hash))
    }
    expect(new Set(blocks.map(([first]) => first!.payload_id)).size).toBe(blocks.length)
    expect(blocks.flat().flatMap(({ diff }) => diff.transactions).length).toBeGreaterThan(3 * blocks.length)
  })

  it('lets a consumer build each pending block, of which every prefix is a block and the last one is sealed', async () => {
    await using stage = await setUp()
    const consumer = new Consumer()
    const messages = await stage.read('plain')
    await stage.load(2 * PER_BLOCK + 1)
    await stage.toBlock(messages[0]!.metadata.block_number + 3)
    let compared = 0
    for (const message of messages) {
      const before = consumer.pending
      consumer.accept(message)
      if (consumer.pending === null) continue
      expect(consumer.pending.hash(), `block ${message.metadata.block_number}, index ${message.index}`).toBe(message.diff.block_hash)
      if (before === null || before.number === consumer.pending.number) continue
      const sealed = await stage.block(before.number)
      expect(before.hash()).toBe(sealed.hash)
      for (const [i, raw] of before.transactions.entries()) expect(await decoded(raw)).toEqual(visible(sealed.transactions[i]!))
      compared++
    }
    expect(compared).toBeGreaterThanOrEqual(2)
  })

  it('sends a late subscriber the following messages, from which it builds the next block', async () => {
    await using stage = await setUp()
    await stage.load(4)
    const messages = await stage.read('brotli')
    await stage.load(2 * PER_BLOCK)
    const first = messages[0]!
    await stage.toBlock(first.metadata.block_number + 2)
    expect(first.index).toBeGreaterThan(0)
    const consumer = new Consumer()
    for (const message of messages.filter(({ metadata }) => metadata.block_number <= first.metadata.block_number + 1)) {
      consumer.accept(message)
      expect(consumer.pending === null).toBe(message.metadata.block_number === first.metadata.block_number)
    }
    expect(consumer.pending!.hash()).toBe((await stage.block(consumer.pending!.number)).hash)
  })

  it('lets a consumer recover after a reorg during a block', async () => {
    await using stage = await setUp()
    const messages = await stage.read('plain')
    await stage.load(3 * PER_BLOCK + 5)
    await stage.running.ask('anvil_reorg', 2, [])
    await stage.load(2 * PER_BLOCK)
    const top = Number(await stage.running.ask('eth_blockNumber'))
    await stage.toBlock(top + 1)
    const consumer = new Consumer()
    for (const message of messages) {
      consumer.accept(message)
      if (message.metadata.block_number <= top && consumer.pending !== null) expect(consumer.pending.hash()).toBe(message.diff.block_hash)
    }
    const last = wholeBlocks(messages).at(-1)!
    expect(last.at(-1)!.diff.block_hash).toBe((await stage.block(last[0]!.metadata.block_number)).hash)
    expect(consumer.drops).toBeGreaterThan(0)
    expect(consumer.pending?.number).toBe(top + 1)
  })
})

/** A message and its encoding. */
interface Message {
  readonly payload_id: Hex
  readonly index: number
  readonly base?: Base
  readonly diff: Diff
  readonly metadata: { readonly block_number: number }
  readonly binary: boolean
}

type Base = Readonly<
  Record<
    | 'parent_beacon_block_root'
    | 'parent_hash'
    | 'fee_recipient'
    | 'prev_randao'
    | 'block_number'
    | 'gas_limit'
    | 'timestamp'
    | 'extra_data'
    | 'base_fee_per_gas',
    Hex
  >
>

type Diff = Readonly<
  Record<'state_root' | 'receipts_root' | 'logs_bloom' | 'gas_used' | 'block_hash' | 'withdrawals_root', Hex> & {
    transactions: readonly Hex[]
    blob_gas_used?: Hex
  }
>

/** Processes messages as base/node-reth does. */
class Consumer {
  pending: Pending | null = null
  drops = 0
  #index = -1

  accept({ index, base, diff }: Message): void {
    const { pending } = this
    if (base !== undefined && (pending === null || Number(base.block_number) === pending.number + 1)) {
      this.pending = new Pending(base, diff, diff.transactions)
    } else if (pending !== null && base === undefined && index === this.#index + 1) {
      this.pending = new Pending(pending.base, diff, [...pending.transactions, ...diff.transactions])
    } else if (pending !== null && index === this.#index && diff.block_hash === pending.diff.block_hash) {
      return
    } else if (pending !== null) {
      this.drops++
      this.pending = null
    }
    this.#index = index
  }
}

/** The pending block, reconstructed only from the stream. */
class Pending {
  readonly base: Base
  readonly diff: Diff
  readonly transactions: readonly Hex[]

  constructor(base: Base, diff: Diff, transactions: readonly Hex[]) {
    this.base = base
    this.diff = diff
    this.transactions = transactions
  }

  get number(): number {
    return Number(this.base.block_number)
  }

  /** Hash of the header made of `base` and the last `diff`. */
  hash(): Hex {
    const { base, diff } = this
    const fields: readonly Hex[] = [
      base.parent_hash,
      EMPTY_OMMERS,
      base.fee_recipient,
      diff.state_root,
      Trie.orderedRoot(this.transactions.map((raw) => Buffer.from(raw.slice(2), 'hex'))),
      diff.receipts_root,
      diff.logs_bloom,
      '0x',
      scalar(base.block_number),
      scalar(base.gas_limit),
      scalar(diff.gas_used),
      scalar(base.timestamp),
      base.extra_data,
      base.prev_randao,
      '0x0000000000000000',
      scalar(base.base_fee_per_gas),
      diff.withdrawals_root,
      scalar(diff.blob_gas_used ?? '0x0'),
      '0x',
      base.parent_beacon_block_root,
      EMPTY_REQUESTS,
    ]
    return keccak256(toRlp([...fields]))
  }
}

const EMPTY_OMMERS = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const EMPTY_REQUESTS = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** A quantity in RLP: whole bytes, empty for zero. */
function scalar(quantity: Hex): Hex {
  const digits = BigInt(quantity) === 0n ? '' : BigInt(quantity).toString(16)
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

/** Fields found both in a raw transaction and in the node's response. */
interface Visible {
  readonly type: string
  readonly from: string
  readonly to: string | null
  readonly nonce: number
  readonly value: bigint
  readonly input: string
}

async function decoded(raw: Hex): Promise<Visible | 'deposit'> {
  if (raw.startsWith('0x7e')) return 'deposit'
  const { type, to = null, nonce = 0, value = 0n, data = '0x' } = parseTransaction(raw)
  // viem's type names the serialized prefix of each transaction type
  const from = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  return { type: TYPES[String(type)] ?? String(type), from: from.toLowerCase(), to: to?.toLowerCase() ?? null, nonce, value, input: data }
}

const TYPES: Readonly<Record<string, string>> = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2' }

function visible({ type, from, to, nonce, value, input }: TransactionJson): Visible | 'deposit' {
  return type === '0x7e' ? 'deposit' : { type, from, to, nonce: Number(nonce), value: BigInt(value), input }
}

type TransactionJson = Readonly<Record<'hash' | 'type' | 'from' | 'nonce' | 'value' | 'input', string>> & { readonly to: string | null }

interface BlockJson {
  readonly hash: string
  readonly transactions: readonly TransactionJson[]
}

function wholeBlocks(messages: readonly Message[]): readonly (readonly Message[])[] {
  const blocks = new Map<string, Message[]>()
  for (const message of messages) blocks.set(message.payload_id, [...(blocks.get(message.payload_id) ?? []), message])
  return [...blocks.values()].filter((block) => block.length === PER_BLOCK)
}

interface Stage extends AsyncDisposable {
  readonly running: RunningNode
  /** Subscribes; the array grows as messages arrive. */
  readonly read: (encoding: 'plain' | 'brotli') => Promise<readonly Message[]>
  /** Advances the clock by a number of flashblocks, most of them with transactions. */
  readonly load: (flashblocks: number) => Promise<void>
  /** Advances the clock until this block is open. */
  readonly toBlock: (number: number) => Promise<void>
  readonly block: (number: number) => Promise<BlockJson>
}

async function setUp(): Promise<Stage> {
  const clock = new ManualClock(1_700_000_000_000)
  const running = await startNode({ clock, timestamp: 1_700_000_000 })
  const { head } = running.node.chain
  const [from, to] = running.node.accounts.map(({ address }) => address)
  const readers: Reader[] = []
  const actions = [
    { from, to, value: '0x1' },
    { from, data: bytecode },
    { from: to, to: from, value: '0x2', gasPrice: '0x77359400' },
  ]
  /** Advances one flashblock and waits until all readers have received it. */
  const tick = async (): Promise<void> => {
    await clock.advance(FLASHBLOCK_MS)
    const { pending, flashblockIndex } = head.view
    for (const reader of readers) await reader.reached(pending!.header.number, flashblockIndex)
  }
  return {
    running,
    read: async (encoding) => {
      const reader = await Reader.open(`${running.wsUrl}/flashblocks${encoding === 'brotli' ? '?compression=brotli' : ''}`)
      readers.push(reader)
      return reader.messages
    },
    load: async (flashblocks) => {
      for (let i = 0; i < flashblocks; i++) {
        // every third flashblock stays empty
        for (const action of i % 3 === 2 ? [] : actions) await running.ask('eth_sendTransaction', action)
        await tick()
      }
    },
    toBlock: async (number) => {
      while (head.view.pending!.header.number < number) await tick()
    },
    block: async (number) => (await running.ask('eth_getBlockByNumber', numberToHex(number), true)) as BlockJson,
    [Symbol.asyncDispose]: async () => {
      for (const reader of readers) reader.close()
      await running[Symbol.asyncDispose]()
    },
  }
}

class Reader {
  readonly messages: Message[] = []
  readonly #socket: WebSocket
  #heard: () => void = () => undefined

  static async open(url: string): Promise<Reader> {
    const socket = new WebSocket(url)
    const reader = new Reader(socket)
    await once(socket, 'open')
    return reader
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data: Buffer, binary) => {
      this.messages.push({ ...(JSON.parse(String(binary ? brotliDecompressSync(data) : data)) as Message), binary })
      this.#heard()
    })
  }

  async reached(number: number, index: number): Promise<void> {
    while (this.messages.at(-1)?.metadata.block_number !== number || this.messages.at(-1)?.index !== index) {
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }

  close(): void {
    this.#socket.terminate()
  }
}
