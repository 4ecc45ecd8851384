import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Random } from '../evm/fuzz/random.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

const SEED = Number(process.env['RESUME_SEED'] ?? 5)
const SECONDS = 8
const WETH = '0x4200000000000000000000000000000000000006'

interface Flashblock {
  readonly payload_id: string
  readonly index: number
  readonly metadata: { readonly block_number: number }
}

/** Collects the stream; `after` is added to the URL. */
function follow(url: string, after: string, into: string[]): { readonly socket: WebSocket; readonly opened: Promise<void> } {
  const socket = new WebSocket(`${url}/flashblocks${after}`)
  socket.on('message', (data: Buffer) => into.push(data.toString()))
  const opened = new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { socket, opened }
}

function positionOf(message: string): string {
  const { payload_id: payloadId, index, metadata } = JSON.parse(message) as Flashblock
  return `${metadata.block_number}.${index}.${payloadId}`
}

/** Sends four transactions every 50 ms until it is disposed. */
function sendAlways(node: RunningNode, to: string): AsyncDisposable {
  const end = new AbortController()
  const load = (async () => {
    const accounts = (await node.ask('eth_accounts')) as readonly string[]
    while (!end.signal.aborted) {
      await Promise.allSettled(
        accounts.slice(0, 4).map((from) => node.ask('eth_sendTransaction', { from, to, value: '0x1', gas: '0x186a0' })),
      )
      await delay(50)
    }
  })()
  return {
    [Symbol.asyncDispose]: () => {
      end.abort()
      return load
    },
  }
}

interface Notification {
  readonly result: { readonly removed?: boolean; readonly transactionHash?: string; readonly hash?: string }
  readonly position: { readonly block: string; readonly index: string; readonly payloadId?: string; readonly blockHash?: string }
}

/** Collects the notifications of one subscription. Rejects with the message of an error. */
async function subscribe(node: RunningNode, kind: string, option: unknown, resume: unknown, into: Notification[]): Promise<WebSocket> {
  const socket = new WebSocket(node.wsUrl)
  await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const answer = new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { id?: number; params?: Notification; error?: { code: number; message: string } }
      if (message.params !== undefined) into.push({ result: message.params.result, position: message.params.position })
      else if (message.error !== undefined) reject(new Error(`${message.error.code}: ${message.error.message}`))
      else resolve()
    })
  })
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: [kind, option, resume] }))
  await answer
  return socket
}

// They wait for real clocks most of the time, each with its own node.
test.concurrent(`a client that disconnects at random and continues after its last flashblock misses and repeats nothing (seed ${SEED})`, async () => {
  await using node = await startNode({ chaos: 'rough', seed: String(SEED) })
  const accounts = (await node.ask('eth_accounts')) as readonly string[]
  const random = new Random(SEED, 0)
  const [whole, parts]: [string[], string[]] = [[], []]
  const base = node.wsUrl.replace(/\/$/, '')
  const constant = follow(base, '', whole)
  await constant.opened
  await using _load = sendAlways(node, accounts[9] ?? '')
  // The changing client begins at a flashblock that the constant one has too.
  while (whole.length === 0) await delay(20)
  let last = whole[0] ?? ''
  let connections = 0
  for (const endMs = performance.now() + SECONDS * 1_000; performance.now() < endMs; connections++) {
    const client = follow(base, `?after=${positionOf(last)}${random.chance(0.5) ? '&compression=none' : ''}`, parts)
    await client.opened
    await delay(random.between(0, 700))
    client.socket.terminate()
    last = parts.at(-1) ?? last
    await delay(random.between(0, 900))
  }
  constant.socket.terminate()
  expect(connections).toBeGreaterThan(5)
  expect(parts.length).toBeGreaterThan(20)
  expect(parts.map(positionOf)).toEqual(whole.slice(1, 1 + parts.length).map(positionOf))
  expect(parts).toEqual(whole.slice(1, 1 + parts.length))
})

test.concurrent.each([
  ['pendingLogs', { address: WETH }],
  ['newFlashblockTransactions', true],
] as const)(
  `a subscription to %s that continues after its last notification misses and repeats nothing (seed ${SEED})`,
  async (kind, option) => {
    await using node = await startNode({ chaos: 'rough', seed: String(SEED) })
    const random = new Random(SEED, 1)
    const [whole, parts]: [Notification[], Notification[]] = [[], []]
    const constant = await subscribe(node, kind, option, {}, whole)
    await using _load = sendAlways(node, WETH)
    while (whole.length === 0) await delay(20)
    let last = whole[0]
    let connections = 0
    for (const endMs = performance.now() + SECONDS * 1_000; performance.now() < endMs; connections++) {
      const client = await subscribe(node, kind, option, { after: last?.position }, parts)
      await delay(random.between(0, 700))
      client.terminate()
      last = parts.at(-1) ?? last
      await delay(random.between(0, 900))
    }
    constant.terminate()
    expect(connections).toBeGreaterThan(5)
    expect(parts.length).toBeGreaterThan(50)
    expect(parts.some(({ result }) => result.removed === true)).toBe(true)
    expect(parts).toEqual(whole.slice(1, 1 + parts.length))
  },
)

test('a subscription refuses a place that it cannot continue from, and the connection keeps working', async () => {
  await using node = await startNode({})
  const received: Notification[] = []
  const refused: Notification[] = []
  const first = await subscribe(node, 'pendingLogs', { address: WETH }, {}, received)
  const [from] = (await node.ask('eth_accounts')) as readonly string[]
  await node.ask('eth_sendTransaction', { from, to: WETH, value: '0x1', gas: '0x186a0' })
  while (received.length === 0) await delay(20)
  const [{ position } = { position: null }] = received
  const attempt = (resume: unknown, kind = 'pendingLogs') => subscribe(node, kind, { address: WETH }, resume, refused)
  await expect(attempt({ after: { ...position, index: '0xff' } })).rejects.toThrow(
    /^-32001: the subscription cannot continue after log 255 of block \d+, which is too old or was never announced here: read eth_getLogs/,
  )
  await expect(attempt({ after: { block: 'x', index: '0x0' } })).rejects.toThrow('-32602')
  await expect(attempt({ after: { ...position, payloadId: '0x1' } })).rejects.toThrow('expected 8 bytes')
  await expect(attempt({ after: position }, 'logs')).rejects.toThrow('argument 2 (resume) is for pendingLogs and newFlashblockTransactions')
  const ambiguous: Notification[] = []
  await node.ask('pocketchain_retract', 'all')
  while (received.length < 2) await delay(20)
  await expect(attempt({ after: { block: position?.block, index: position?.index, removed: true } })).rejects.toThrow(
    'pass the whole "position"',
  )
  const again = await subscribe(node, 'pendingLogs', { address: WETH }, { after: position }, ambiguous)
  while (ambiguous.length < received.length - 1) await delay(20)
  expect(ambiguous).toEqual(received.slice(1, 1 + ambiguous.length))
  expect(refused).toEqual([])
  first.terminate()
  again.terminate()
})
