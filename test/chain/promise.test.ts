import { setTimeout as delay } from 'node:timers/promises'
import { getContractAddress, parseGwei } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { bytecode } from '../../examples/contract/counter.mjs'
import { WORDS, ZERO_HASH, startNode } from '../node.fixture.ts'
import type { LogJson, ReceiptJson, RunningNode } from '../node.fixture.ts'

// Pre-confirmed results stay the same until they are sealed: in real time, over sockets, under polling.

const TRANSACTIONS = 500
/** Contract calls per ten transactions; the others are transfers. */
const CALLS_OF_TEN = 4
/** The total duration exceeds three blocks. */
const INTERVAL_MS = 13
const SENDERS = 10
const POLL_MS = 10
const LIFE_POLL_MS = 100
/** Latency of most pre-confirmations on a machine that runs other tests as well; a few may take longer. */
const PROMISED_MS = 400
const TOLERATED_MS = 10_000

it('a receipt arrives within a flashblock and is sealed unchanged; logs up to pending only grow', async () => {
  await using running = await startNode()
  const transactions = await signedTransactions(running)
  const lives = new Map<string, Life>()
  const over = (): boolean => lives.size === TRANSACTIONS && [...lives.values()].every(({ sealed }) => sealed !== null)
  const logs = new LogWatch(running)
  await Promise.all([
    sendAll(running, transactions, lives),
    watchArrival(running, lives),
    watchLife(running, lives, over),
    logs.watch(over),
  ])

  const latencies = [...lives.values()].map(({ acceptedMs, seenMs }) => seenMs - acceptedMs).sort((a, b) => a - b)
  console.log(
    `receipt after acceptance: ${distribution(latencies)}; pending logs polled ${logs.polls} times over ${logs.borders} block borders`,
  )
  expect(latencies[TRANSACTIONS / 2]).toBeLessThan(PROMISED_MS)
  expect(latencies.at(-1)).toBeLessThan(TOLERATED_MS)
  expect(logs.borders).toBeGreaterThanOrEqual(3)
  expect(logs.known).toHaveLength((TRANSACTIONS * CALLS_OF_TEN) / 10)
  expect(logs.known).toEqual(((await running.ask('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' })) as LogJson[]).map(identity))
  // The others were pre-confirmed and sealed between two polls.
  const promised = [...lives.values()].filter(({ first }) => first?.blockHash === ZERO_HASH)
  expect(promised.length).toBeGreaterThan(TRANSACTIONS / 2)
  for (const { first, sealed } of lives.values()) {
    expect(sealed!.status).toBe('0x1')
    expect(withHash(first!, sealed!.blockHash)).toEqual(sealed)
  }
})

/** One transaction from its acceptance to its sealed receipt. */
interface Life {
  readonly acceptedMs: number
  seenMs: number
  first: ReceiptJson | null
  sealed: ReceiptJson | null
}

/** Deploys the counter and returns the transactions to send, in nonce order per sender. */
async function signedTransactions(running: RunningNode): Promise<readonly string[]> {
  const [deployer, ...accounts] = Array.from({ length: SENDERS }, (_, addressIndex) => mnemonicToAccount(WORDS, { addressIndex }))
  const common = { chainId: 31_337, type: 'eip1559', maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: 1n } as const
  const deployment = await deployer!.signTransaction({ ...common, nonce: 0, gas: 300_000n, data: bytecode })
  await running.ask('eth_sendRawTransactionSync', deployment)
  const counter = getContractAddress({ from: deployer!.address, nonce: 0n })
  return Promise.all(
    Array.from({ length: TRANSACTIONS }, (_, i) => {
      const account = accounts[i % accounts.length]!
      const nonce = Math.floor(i / accounts.length)
      const action =
        i % 10 < CALLS_OF_TEN
          ? ({ to: counter, data: INCREMENT, gas: 100_000n } as const)
          : { to: deployer!.address, value: 1n, gas: 21_000n }
      return account.signTransaction({ ...common, nonce, ...action })
    }),
  )
}

const INCREMENT = '0xd09de08a' as const

async function sendAll({ ask }: RunningNode, transactions: readonly string[], lives: Map<string, Life>): Promise<void> {
  const startMs = performance.now()
  for (const [i, transaction] of transactions.entries()) {
    await delay(startMs + i * INTERVAL_MS - performance.now())
    const hash = await ask('eth_sendRawTransaction', transaction)
    lives.set(String(hash), { acceptedMs: performance.now(), seenMs: Number.NaN, first: null, sealed: null })
  }
}

/** Records when each receipt is first returned. */
async function watchArrival(running: RunningNode, lives: ReadonlyMap<string, Life>): Promise<void> {
  let seen = 0
  while (seen < TRANSACTIONS) {
    const unseen = [...lives].filter(([, { first }]) => first === null)
    const receipts = await receiptsOf(running, unseen)
    for (const [i, [, life]] of unseen.entries()) {
      const receipt = receipts[i] ?? null
      if (receipt === null) continue
      seen++
      life.seenMs = performance.now()
      life.first = receipt
    }
    await delay(POLL_MS)
  }
}

/** A receipt is unchanged in every later poll until it is sealed. */
async function watchLife(running: RunningNode, lives: ReadonlyMap<string, Life>, over: () => boolean): Promise<void> {
  while (!over()) {
    const promised = [...lives].filter(([, { first, sealed }]) => first !== null && sealed === null)
    const receipts = await receiptsOf(running, promised)
    for (const [i, [hash, life]] of promised.entries()) {
      const receipt = receipts[i] ?? null
      expect(receipt, `the receipt of ${hash} has vanished`).not.toBeNull()
      if (receipt!.blockHash === ZERO_HASH) expect(receipt).toEqual(life.first)
      else life.sealed = receipt
    }
    await delay(LIFE_POLL_MS)
  }
}

async function receiptsOf({ askAll }: RunningNode, lives: readonly (readonly [string, Life])[]): Promise<readonly (ReceiptJson | null)[]> {
  if (lives.length === 0) return []
  const results = await askAll(lives.map(([hash]) => ['eth_getTransactionReceipt', hash]))
  return results as readonly (ReceiptJson | null)[] // the result type of this method
}

/** Polls all logs; the list may only grow between two polls. */
class LogWatch {
  polls = 0
  borders = 0
  known: readonly string[] = []
  readonly #running: RunningNode

  constructor(running: RunningNode) {
    this.#running = running
  }

  /** The last poll starts after the last transaction is sealed. */
  async watch(over: () => boolean): Promise<void> {
    let head = ''
    for (let last = false; !last;) {
      last = over()
      const [logs, number] = await this.#running.askAll([['eth_getLogs', { fromBlock: '0x0', toBlock: 'pending' }], ['eth_blockNumber']])
      this.#look(logs as readonly LogJson[]) // the result type of this method
      this.polls++
      if (head !== '' && head !== number) this.borders++
      head = String(number)
      await delay(POLL_MS)
    }
  }

  #look(logs: readonly LogJson[]): void {
    expectRising(logs)
    const found = logs.map(identity)
    expect(found.slice(0, this.known.length), 'logs that were shown before').toEqual(this.known)
    this.known = found
  }
}

/** Ordered by block and by index without a gap; the chain has only the contract's logs. */
function expectRising(logs: readonly LogJson[]): void {
  let [block, next] = [-1, 0]
  for (const { blockNumber, logIndex } of logs) {
    if (Number(blockNumber) !== block) {
      expect(Number(blockNumber)).toBeGreaterThan(block)
      block = Number(blockNumber)
      next = 0
    }
    expect(Number(logIndex), `a log of block ${block}`).toBe(next++)
  }
}

/** A log without the block hash, which a pre-confirmed log does not have. */
function identity({ blockNumber, logIndex, transactionHash, data }: LogJson): string {
  return `${Number(blockNumber)}/${Number(logIndex)} ${transactionHash} ${data}`
}

function withHash(receipt: ReceiptJson, blockHash: string): ReceiptJson {
  return { ...receipt, blockHash, logs: receipt.logs.map((log) => ({ ...log, blockHash })) }
}

function distribution(sorted: readonly number[]): string {
  const at = (share: number): string => sorted[Math.round((sorted.length - 1) * share)]!.toFixed(0)
  return `p0 ${at(0)} ms, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, p100 ${at(1)} ms`
}
