import type { Command } from '../command.fixture.ts'
import type { Random } from '../evm/fuzz/random.ts'
import { Signer, TRANSFER_TOPIC, edited, receiver, tokenOf } from './load.fixture.ts'
import { answersOf } from '../node.fixture.ts'
import type { Answer, Call, HeaderJson } from '../node.fixture.ts'

/** Fills a chain under `--cadence manual`: `blocks` blocks of transfers and tokens, among empty ones and edits. */
export async function fill(node: Command, random: Random, blocks: number): Promise<void> {
  const signer = new Signer(node, random)
  await signer.findNonces()
  for (let block = 0; block < blocks; block++) {
    const transactions = Array.from({ length: random.between(10, 40) }, (): Call => ['eth_sendRawTransaction', signer.next()])
    await node.askAll([...transactions, ['anvil_mine', random.chance(0.2) ? random.between(2, 6) : 1]])
    if (random.chance(0.2)) await node.ask('anvil_setBalance', edited(), hex(random.below(1_000)))
  }
}

/** Requests whose responses read every table of the store. */
export async function questions(node: Command, random: Random): Promise<readonly Call[]> {
  const height = Number(await node.ask('eth_blockNumber'))
  const numbers = Array.from({ length: height + 1 }, (_, number) => number)
  const blocks = (await node.askAll(numbers.map((number): Call => ['eth_getBlockByNumber', hex(number), false]))) as (HeaderJson & {
    transactions: string[]
  })[] // all exist
  const token = tokenOf(node.ready.accounts)
  const any = () => hex(random.below(height + 1))
  const whole = { fromBlock: '0x0', toBlock: 'latest' }
  return [
    ['eth_blockNumber'],
    ...numbers.map((number): Call => ['eth_getBlockByNumber', hex(number), true]),
    ...numbers.map((number): Call => ['eth_getBlockReceipts', hex(number)]),
    ...blocks.map(({ hash }): Call => ['eth_getBlockByHash', hash, false]),
    ...blocks.flatMap(({ transactions }) => some(transactions, random, 4)).map((hash): Call => ['eth_getTransactionReceipt', hash]),
    ...blocks.flatMap(({ transactions }) => some(transactions, random, 1)).map((hash): Call => ['eth_getTransactionByHash', hash]),
    ['eth_getLogs', whole],
    ...times(40, (): Call => ['eth_getLogs', { ...whole, topics: [TRANSFER_TOPIC, null, wordOf(receiver(random.below(400)))] }]),
    ...times(300, (): Call => ['eth_getBalance', receiver(random.below(400)), any()]),
    ...times(300, (): Call => ['eth_getStorageAt', token, wordOf(receiver(random.below(400))), any()]),
    ...times(50, (): Call => ['eth_getTransactionCount', random.pick(node.ready.accounts), any()]),
    ...times(50, (): Call => ['eth_getBalance', edited(), any()]),
    ...times(10, (): Call => ['eth_getCode', token, any()]),
    ...times(50, (): Call => {
      const data = `${wordOf(receiver(random.below(400)))}${'0'.repeat(63)}1`
      return ['eth_estimateGas', { from: random.pick(node.ready.accounts), to: token, data }, any()]
    }),
  ]
}

/** Returns the response to each request, as text. */
export async function answers(node: Command, calls: readonly Call[]): Promise<readonly Answer[]> {
  const all: Answer[] = []
  for (let at = 0; at < calls.length; at += CALLS) all.push(...(await answersOf(node.url, calls.slice(at, at + CALLS))))
  return all
}

/** Sent in one batch, whose response stays below the limit of batch responses. */
const CALLS = 400

function some(list: readonly string[], random: Random, count: number): readonly string[] {
  return list.length === 0 ? [] : times(count, () => random.pick(list))
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make)
}

export function wordOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}

export function hex(number: number): string {
  return `0x${number.toString(16)}`
}
