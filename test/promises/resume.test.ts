import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Random } from '../evm/fuzz/random.ts'
import { startNode } from '../node.fixture.ts'

const SEED = Number(process.env['RESUME_SEED'] ?? 5)
const SECONDS = 12

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

test(
  `a client that disconnects at random and continues after its last flashblock misses and repeats nothing (seed ${SEED})`,
  { timeout: 60_000 },
  async () => {
    await using node = await startNode({ chaos: 'rough', seed: String(SEED) })
    const accounts = (await node.ask('eth_accounts')) as readonly string[]
    const random = new Random(SEED, 0)
    const [whole, parts]: [string[], string[]] = [[], []]
    const base = node.wsUrl.replace(/\/$/, '')
    const constant = follow(base, '', whole)
    await constant.opened
    const end = new AbortController()
    const load = (async () => {
      while (!end.signal.aborted) {
        await Promise.allSettled(
          accounts.slice(0, 4).map((from) => node.ask('eth_sendTransaction', { from, to: accounts[9], value: '0x1', gas: '0x5208' })),
        )
        await delay(50)
      }
    })()
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
    end.abort()
    await load
    constant.socket.terminate()
    expect(connections).toBeGreaterThan(5)
    expect(parts.length).toBeGreaterThan(20)
    expect(parts.map(positionOf)).toEqual(whole.slice(1, 1 + parts.length).map(positionOf))
    expect(parts).toEqual(whole.slice(1, 1 + parts.length))
  },
)
