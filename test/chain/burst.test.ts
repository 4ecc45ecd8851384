import { Agent, request } from 'node:http'
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Hex, Secp256k1, Transaction } from '../../src/eth/index.ts'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'

// Many raw transactions at once, on many connections: a thread recovers a share of their senders.

const CONNECTIONS = 32
const TRANSACTIONS = 640
/** Every sixteenth transaction has a signature without a signer. */
const INVALID_OF = 16
const INVALID = 10_000
/** x³ + 7 has no square root. */
const NO_POINT = 5n
const REFUSAL = { code: -32_602, message: 'invalid argument 0 (transaction): transaction.signature recovers no sender' }

describe('a burst of raw transactions', () => {
  let node: Command
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  beforeAll(async () => {
    node = await launch()
  })
  afterAll(async () => {
    agent.destroy()
    expect(await node.stop()).toMatchObject({ code: 0, err: '' })
  })

  const send = (raw: string) =>
    new Promise<unknown>((resolve, reject) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] })
      const sent = request(node.url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        response.on('end', () => resolve(JSON.parse(text)))
      })
      sent.on('error', reject).end(body)
    })

  test('is accepted with the right senders, and those without a signer are refused alone', async () => {
    const { privateKeys } = node.ready
    const nonces = privateKeys.map(() => 0n)
    const transactions = Array.from({ length: TRANSACTIONS }, (_, i) => {
      const account = i % privateKeys.length
      const isInvalid = i % INVALID_OF === 0
      const transaction = signed(Hex.toBytes(privateKeys[account]!), isInvalid ? 0n : nonces[account]!++)
      return { isInvalid, ...transaction, raw: isInvalid ? withoutSigner(transaction) : transaction.raw }
    })
    const answers = await Promise.all(transactions.map(({ raw }) => send(Hex.fromBytes(raw))))
    const expected = transactions.map(({ hash, isInvalid }) => (isInvalid ? { error: REFUSAL } : { result: hash }))
    expect(answers).toMatchObject(expected)
    const valid = transactions.filter(({ isInvalid }) => !isInvalid)
    const read = () => node.askAll(valid.map(({ hash }) => ['eth_getTransactionReceipt', hash]))
    await expect.poll(async () => (await read()).includes(null)).toBe(false)
    expect(await read()).toMatchObject(valid.map(({ hash, from }) => ({ transactionHash: hash, from, status: '0x1' })))
  })

  test('on one WebSocket keeps its order before the request that follows', async () => {
    const key = Hex.toBytes(node.ready.privateKeys[0]!)
    const first = Number(await node.ask('eth_getTransactionCount', Secp256k1.address(key), 'pending'))
    const socket = new WebSocket(node.wsUrl)
    await new Promise((resolve) => socket.once('open', resolve))
    const responses: { readonly id: number; readonly result?: string }[] = []
    socket.on('message', (data: Buffer) => responses.push(JSON.parse(data.toString())))
    const ask = (id: number, method: string, params: readonly unknown[]) =>
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const transactions = Array.from({ length: 40 }, (_, i) => signed(key, BigInt(first + i)))
    for (const [i, { raw }] of transactions.entries()) ask(i, 'eth_sendRawTransaction', [Hex.fromBytes(raw)])
    ask(40, 'eth_sendTransaction', [{ from: Secp256k1.address(key), to: Secp256k1.address(key) }])
    await expect.poll(() => responses.length).toBe(41)
    socket.close()
    const byId = responses.toSorted((a, b) => a.id - b.id).map(({ result }) => result)
    expect(byId.slice(0, 40)).toEqual(transactions.map(({ hash }) => hash))
    expect(await node.ask('eth_getTransactionByHash', byId[40])).toMatchObject({ nonce: `0x${(first + 40).toString(16)}` })
  })

  test('of invalid signatures is refused one by one, and no flashblock is left out', async () => {
    const raw = Hex.fromBytes(withoutSigner(signed(Hex.toBytes(node.ready.privateKeys[0]!), 0n)))
    const places: (readonly [block: number, index: number])[] = []
    const socket = new WebSocket(`${node.wsUrl}/flashblocks`)
    socket.on('message', (data: Buffer) => {
      const { metadata, index } = JSON.parse(data.toString()) as { metadata: { block_number: number }; index: number } // the stream's format
      places.push([metadata.block_number, index])
    })
    await expect.poll(() => places.length).toBeGreaterThan(0)
    const before = places.length
    const size = await node.ask('txpool_status')
    const answers = await Promise.all(Array.from({ length: INVALID }, () => send(raw)))
    expect(places.length).toBeGreaterThan(before + 1)
    socket.close()
    for (const answer of answers) expect(answer).toMatchObject({ error: REFUSAL })
    expect(await node.ask('txpool_status')).toEqual(size)
    for (const [i, [block, index]] of places.slice(1).entries()) {
      const [lastBlock, lastIndex] = places[i]!
      expect([block, index]).toEqual(block === lastBlock ? [block, lastIndex + 1] : [lastBlock + 1, 0])
    }
  })
})

function signed(key: Uint8Array, nonce: bigint): Transaction {
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
  return Transaction.sign({ type: 2, chainId: 31_337, nonce, gas: 21_000n, to: Secp256k1.address(key), value: 1n, ...fees }, key)
}

function withoutSigner(transaction: Transaction): Uint8Array {
  return Transaction.encode({ ...transaction, r: NO_POINT })
}
