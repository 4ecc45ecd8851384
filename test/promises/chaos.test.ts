import { once } from 'node:events'
import { keccak256, numberToHex } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ManualClock } from '../../src/chain/index.ts'
import type { ChaosName } from '../../src/chain/index.ts'
import { createPocketchain } from '../../src/index.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

const FLASHBLOCK_MS = 200
const START = { timestamp: 1_700_000_000, wallet: false, bundler: false, sponsor: false } as const
const clockAtStart = () => new ManualClock(1_700_000_000_000)

interface Message {
  readonly payload_id: string
  readonly index: number
  readonly base?: { readonly parent_hash: Hex; readonly block_number: Hex }
  readonly diff: { readonly block_hash: Hex; readonly transactions: readonly Hex[] }
}

/** Rebuilds blocks only from the stream: a payload with index 0 starts a block, and replaces those that do not precede it. */
class Follower {
  readonly blocks = new Map<number, { hash: Hex; readonly parentHash: Hex; readonly transactions: Hex[] }>()
  gaps = 0
  restarts = 0
  #payloadId = ''
  #number = -1
  #index = -1

  accept({ payload_id: payloadId, index, base, diff }: Message): void {
    if (base !== undefined) {
      const number = Number(base.block_number)
      if (number <= this.#number) this.restarts++
      for (let above = number; this.blocks.delete(above);) above++
      this.blocks.set(number, { hash: diff.block_hash, parentHash: base.parent_hash, transactions: [...diff.transactions] })
      this.#number = number
    } else {
      expect(payloadId).toBe(this.#payloadId)
      expect(index).toBeGreaterThan(this.#index)
      if (index > this.#index + 1) this.gaps++
      const block = this.blocks.get(this.#number)!
      block.hash = diff.block_hash
      block.transactions.push(...diff.transactions)
    }
    this.#payloadId = payloadId
    this.#index = index
  }
}

async function load({ ask, node }: RunningNode, clock: ManualClock, flashblocks: number, afterEach: () => Promise<void>): Promise<void> {
  const [from, to, third] = node.accounts.map(({ address }) => address)
  for (let i = 0; i < flashblocks; i++) {
    for (const sender of [from, to, third]) await ask('eth_sendTransaction', { from: sender, to, value: numberToHex(i + 1), gas: '0x5208' })
    await clock.advance(FLASHBLOCK_MS)
    await afterEach()
  }
}

describe.each<ChaosName>(['calm', 'normal', 'rough'])('a follower of the flashblock stream under --chaos %s', (chaos) => {
  it('rebuilds every block from the stream alone', async () => {
    const clock = clockAtStart()
    await using running = await startNode({ ...START, clock, chaos, seed: 'follower' })
    const follower = new Follower()
    const socket = new WebSocket(`${running.wsUrl}/flashblocks`)
    await once(socket, 'open')
    let [lastIndex, lastNumber] = [-1, -1]
    let heard = (): void => undefined
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(String(data)) as Message & { readonly metadata: { readonly block_number: number } }
      ;[lastIndex, lastNumber] = [message.index, message.metadata.block_number]
      if (message.base !== undefined || follower.blocks.size > 0) follower.accept(message)
      heard()
    })
    const { head } = running.node.chain
    const reached = async (): Promise<void> => {
      for (;;) {
        const { pending, flashblockIndex } = head.view
        if (pending === null || lastNumber < 0 || (lastNumber === pending.header.number && lastIndex === flashblockIndex)) return
        await new Promise<void>((resolve) => (heard = resolve))
      }
    }
    await load(running, clock, 300, reached)
    await running.node.chain.stop()
    const { view } = head
    let compared = 0
    for (let number = Math.min(...follower.blocks.keys()); number <= view.head.header.number; number++) {
      const block = view.byNumber(number)!
      const rebuilt = follower.blocks.get(number)!
      expect([number, rebuilt.hash, rebuilt.parentHash]).toEqual([number, block.hash, block.header.parentHash])
      expect(rebuilt.transactions.map((raw) => keccak256(raw))).toEqual(block.transactions.map(({ hash }) => hash))
      compared++
    }
    expect(compared).toBeGreaterThan(20)
    if (chaos !== 'rough') return
    expect(follower.gaps).toBeGreaterThan(0)
    expect(follower.restarts).toBeGreaterThan(3)
    const { kept, retracted, dropped } = running.node.chain.ledger.totals
    for (const count of [kept, retracted, dropped]) expect(count).toBeGreaterThan(0)
    socket.terminate()
  })
})

describe('chaos', () => {
  it('makes equal runs from equal seeds with a manual clock, and others from another seed', async () => {
    const runs: string[] = []
    for (const seed of ['7', '7', '8']) {
      const clock = clockAtStart()
      await using running = await startNode({ ...START, clock, chaos: 'rough', seed })
      await load(running, clock, 60, async () => undefined)
      const { chain } = running.node
      await chain.stop()
      runs.push(JSON.stringify([chain.head.view.head.hash, chain.ledger.totals, chain.promises.records().promises]))
    }
    expect(runs[0]).toBe(runs[1])
    expect(runs[2]).not.toBe(runs[0])
  })

  it('takes rates of one’s own, and refuses others with the key', async () => {
    await using node = await createPocketchain({ ...START, clock: clockAtStart(), chaos: { jitter: 0.25 } })
    expect(node.promises.pace.jitter).toBe(0.25)
    for (const [chaos, message] of [
      [{ rectract: 0.1 } as object, 'chaos profile.rectract: is unknown'],
      [{ retract: 2 }, 'chaos profile.retract: a rate is a number from 0 to 1, not 2'],
      [{ stallMs: 0 }, 'chaos profile.stallMs: expected a whole number from 1 to 3600000'],
    ] as const) {
      await expect(createPocketchain({ ...START, chaos })).rejects.toThrow(message)
    }
  })
})
