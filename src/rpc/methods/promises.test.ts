import { beforeEach, describe, expect, it } from 'vitest'
import { Address, Hex, Secp256k1, Transaction } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { testGenesis } from '../../chain/chain.fixture.ts'
import { CODE } from '../../jsonrpc/index.ts'
import { ALICE, KEY, LOGGER, LOGGER_INIT_CODE, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const BOB_KEY: Hex = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const BOB = Secp256k1.address(BOB_KEY)
const CAROL = Address.from('0x00000000000000000000000000000000000ca401')
const FLASHBLOCK_MS = 200

interface Change {
  readonly promised: readonly Hash[]
  readonly returned: readonly Hash[]
  readonly dropped: readonly Hash[]
  readonly changed: readonly Hash[]
}

let node: TestNode
let bobNonce: bigint
beforeEach(async () => {
  node = await testNode({ cadence: PRECONF, genesis: testGenesis([ALICE, BOB]) })
  bobNonce = 0n
})

const slot = (count = 1) => node.clock.advance(count * FLASHBLOCK_MS)
const fromAlice = (value: bigint) => node.send({ to: CAROL, value })
const fromBob = (value: bigint) => node.chain.submit(bobs(bobNonce++, value))

function bobs(nonce: bigint, value: bigint, to: Address = CAROL): Transaction {
  const fees = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
  return Transaction.sign({ type: 2, chainId: 31_337, nonce, to, value, gas: 100_000n, ...fees }, BOB_KEY)
}

function promised(): readonly Hash[] {
  return (node.chain.head.view.pending?.transactions ?? []).flatMap(({ hash, deposit }) => (deposit === null ? [hash] : []))
}

const change = (method: string, ...params: readonly unknown[]) => node.ask(method, ...params) as Promise<Change>

async function refusal(method: string, ...params: readonly unknown[]): Promise<unknown> {
  const before = [node.chain.head.view.version, node.chain.pool.version, promised()]
  const error = await node.ask(method, ...params).catch((reason: unknown) => reason)
  expect([node.chain.head.view.version, node.chain.pool.version, promised()]).toEqual(before)
  return error
}

describe('pocketchain_hold', () => {
  it('keeps one transaction and the later nonces of its sender out of blocks while others go on', async () => {
    const first = await fromAlice(1n)
    const second = await fromAlice(2n)
    const other = await fromBob(3n)
    expect(await node.ask('pocketchain_hold', first)).toEqual([first])
    await slot(11)
    expect(promised()).toEqual([])
    expect(node.chain.head.view.locate(other)).not.toBeNull()
    expect(node.chain.pool.has(second)).toBe(true)
    expect(await node.ask('pocketchain_release', first)).toBe(1)
    await slot()
    expect(promised()).toEqual([first, second])
  })

  it('holds the present and coming transactions of a sender, to a recipient, with a selector, and creations', async () => {
    const bob = await fromBob(1n)
    await node.ask('pocketchain_hold', BOB)
    await node.ask('pocketchain_hold', { from: ALICE, to: CAROL })
    await node.ask('pocketchain_hold', { creates: 'contract' })
    await node.ask('pocketchain_hold', { to: LOGGER, selector: '0x01020304' })
    const created = await node.send({ data: LOGGER_INIT_CODE })
    await slot(3)
    expect(promised()).toEqual([])
    expect(node.chain.pool.held()).toEqual([bob, created])
    expect(await node.ask('pocketchain_release', { creates: 'contract' })).toBe(1)
    await slot()
    expect(promised()).toEqual([created])
    const called = await node.send({ to: LOGGER, data: Hex.toBytes('0x0102030405') })
    await slot()
    expect(node.chain.pool.held()).toEqual([bob, called])
    expect(await node.ask('pocketchain_release')).toBe(3)
    await slot()
    expect(promised()).toEqual([created, bob, called])
  })

  it('keeps a submission under instant out of blocks, and seals it at the release', async () => {
    await node.ask('evm_setAutomine', true)
    await node.ask('pocketchain_hold', ALICE)
    const hash = await fromAlice(1n)
    const other = await fromBob(2n)
    expect(node.chain.head.view.locate(hash)).toBeNull()
    expect(node.chain.head.view.locate(other)).not.toBeNull()
    await node.ask('pocketchain_release', ALICE)
    expect(node.chain.head.view.locate(hash)).not.toBeNull()
  })

  it('refuses a held filter, an unknown, a promised and a sealed transaction', async () => {
    const hash = await fromAlice(1n)
    await node.ask('pocketchain_hold', hash)
    const held = expect.objectContaining({ code: CODE.server, message: `transaction ${hash} is held already; release it first` })
    expect(await refusal('pocketchain_hold', hash)).toEqual(held)
    const unknown = `0x${'12'.repeat(32)}`
    expect(await refusal('pocketchain_hold', unknown)).toMatchObject({ message: `transaction ${unknown} is unknown` })
    expect(await refusal('pocketchain_release', BOB)).toMatchObject({ message: expect.stringContaining('is not held') })
    await node.ask('pocketchain_release')
    await slot()
    expect(await refusal('pocketchain_hold', hash)).toMatchObject({
      message: expect.stringContaining('promised already; retract it first'),
    })
    await slot(10)
    expect(await refusal('pocketchain_hold', hash)).toMatchObject({ message: `transaction ${hash} is sealed in block 1; use anvil_reorg` })
  })
})

describe('pocketchain_delay', () => {
  it('holds for so many further flashblocks', async () => {
    const hash = await fromAlice(1n)
    await node.ask('pocketchain_delay', hash, { flashblocks: 2 })
    await slot(2)
    expect(promised()).toEqual([])
    await slot()
    expect(promised()).toEqual([hash])
  })

  it.each(['preconf', 'instant'])('holds for so many milliseconds under %s', async (cadence) => {
    if (cadence === 'instant') await node.ask('evm_setAutomine', true)
    await node.ask('pocketchain_delay', ALICE, { milliseconds: 500 })
    const hash = await fromAlice(1n)
    await node.clock.advance(400)
    expect(node.chain.head.view.locate(hash)).toBeNull()
    await node.clock.advance(200)
    expect(node.chain.head.view.locate(hash)).not.toBeNull()
  })

  it('refuses flashblocks under a cadence without them', async () => {
    await node.ask('evm_setAutomine', true)
    expect(await refusal('pocketchain_delay', ALICE, { flashblocks: 2 })).toMatchObject({
      message: expect.stringContaining('no flashblocks'),
    })
  })
})

describe('pocketchain_drop', () => {
  it('removes a transaction before its promise', async () => {
    const hash = await fromAlice(1n)
    expect(await change('pocketchain_drop', hash)).toEqual({ promised: [], returned: [], dropped: [hash], changed: [] })
    await slot()
    expect(promised()).toEqual([])
  })

  it('retracts a promise', async () => {
    const hash = await fromAlice(1n)
    const kept = await fromBob(2n)
    await slot()
    expect(await change('pocketchain_drop', hash)).toEqual({ promised: [kept], returned: [], dropped: [hash], changed: [] })
    await slot(10)
    expect(await node.ask('eth_getTransactionReceipt', hash)).toBeNull()
    expect(await node.ask('eth_getTransactionReceipt', kept)).not.toBeNull()
  })

  it('refuses a nonce gap', async () => {
    const hash = await fromAlice(1n)
    await fromAlice(2n)
    expect(await refusal('pocketchain_drop', hash)).toMatchObject({
      code: CODE.server,
      message: expect.stringContaining('would wait forever'),
    })
  })

  it('refuses a nonce gap before promised nonces, and names those that wait behind them too', async () => {
    const [first, second] = [await fromAlice(1n), await fromAlice(2n)]
    await slot()
    expect(promised()).toEqual([first, second])
    const refused = (nonces: string) => ({
      code: CODE.server,
      message: `without nonce 0, nonce ${nonces} of ${ALICE} would wait forever; drop the highest nonce first`,
    })
    expect(await refusal('pocketchain_drop', first)).toMatchObject(refused('1'))
    await fromAlice(3n)
    expect(await refusal('pocketchain_drop', first)).toMatchObject(refused('1, 2'))
  })
})

describe('pocketchain_retract', () => {
  it('returns a promise to the pool, announces the difference, and promises it again', async () => {
    await node.send({ data: LOGGER_INIT_CODE })
    await slot(11)
    const events: unknown[] = []
    node.chain.head.subscribe((event) => events.push(event))
    const hash = await node.send({ to: LOGGER })
    const kept = await fromBob(2n)
    await slot()
    const [former] = events as [{ readonly flashblock: { readonly payloadId: Hex; readonly index: number } }]
    expect(await change('pocketchain_retract', hash)).toEqual({ promised: [kept], returned: [hash], dropped: [], changed: [] })
    expect(events.slice(1)).toMatchObject([
      {
        kind: 'rewind',
        cause: 'retract',
        removed: [],
        retracted: { transactions: expect.arrayContaining([expect.objectContaining({ hash })]) },
      },
      { kind: 'block', sealed: false, flashblock: { index: 0 } },
      { kind: 'block', sealed: false, flashblock: { index: 1 } },
    ])
    const [, , again] = events as { readonly flashblock: { readonly payloadId: Hex } }[]
    expect(again!.flashblock.payloadId).not.toBe(former.flashblock.payloadId)
    expect(node.chain.pool.has(hash)).toBe(true)
    await slot()
    expect(promised()).toEqual([kept, hash])
  })

  it('takes back a flashblock and all later ones, or all', async () => {
    const first = await fromAlice(1n)
    await slot()
    const second = await fromAlice(2n)
    await slot()
    const third = await fromBob(3n)
    await slot()
    const later = await change('pocketchain_retract', { fromFlashblock: 2 }, 'nowhere')
    expect(later).toEqual({ promised: [first], returned: [], dropped: [second, third], changed: [] })
    const all = await change('pocketchain_retract', 'all', 'nowhere')
    expect(all).toEqual({ promised: [], returned: [], dropped: [first], changed: [] })
    expect(await refusal('pocketchain_retract', 'all')).toMatchObject({ message: 'nothing is promised' })
    expect(await refusal('pocketchain_retract', { fromFlashblock: 1 })).toMatchObject({
      message: 'nothing is promised in flashblock 1 and later ones',
    })
  })

  it('returns later nonces of the sender to the pool, where they wait', async () => {
    const first = await fromAlice(1n)
    const second = await fromAlice(2n)
    await slot()
    expect(await change('pocketchain_retract', first, 'nowhere')).toEqual({
      promised: [],
      returned: [second],
      dropped: [first],
      changed: [],
    })
    await slot(2)
    expect(promised()).toEqual([])
    expect(node.chain.pool.has(second)).toBe(true)
  })
})

describe('pocketchain_reorder', () => {
  it('executes the promises in another order', async () => {
    const first = await fromAlice(1n)
    const second = await fromBob(2n)
    await slot()
    const before = promised()
    const reversed = before.toReversed()
    expect(await change('pocketchain_reorder', reversed)).toEqual({ promised: reversed, returned: [], dropped: [], changed: [] })
    await slot(10)
    const receipts = (await Promise.all([first, second].map((hash) => node.ask('eth_getTransactionReceipt', hash)))) as {
      transactionIndex: string
    }[]
    expect(receipts.map(({ transactionIndex }) => transactionIndex)).toEqual(before[0] === first ? ['0x2', '0x1'] : ['0x1', '0x2'])
  })

  it('names the transactions that come first in the next block of the native cadence', async () => {
    await node.chain.setCadence({ kind: 'native', blockTimeMs: 200 })
    const first = await fromAlice(1n)
    const second = await fromBob(2n)
    for (const order of [[second, first]]) {
      await node.ask('pocketchain_reorder', order)
      await slot()
      expect(node.chain.head.view.head.transactions.flatMap(({ hash, deposit }) => (deposit === null ? [hash] : []))).toEqual(order)
    }
  })

  it('refuses a missing, a foreign and a repeated hash, and descending nonces', async () => {
    const first = await fromAlice(1n)
    const second = await fromAlice(2n)
    await slot()
    const waiting = await fromBob(3n)
    expect(await refusal('pocketchain_reorder', [first])).toMatchObject({ message: expect.stringContaining(`lacks ${second}`) })
    expect(await refusal('pocketchain_reorder', [first, second, waiting])).toMatchObject({
      message: expect.stringContaining('not promised'),
    })
    expect(await refusal('pocketchain_reorder', [first, first, second])).toMatchObject({ message: expect.stringContaining('occurs twice') })
    expect(await refusal('pocketchain_reorder', [second, first])).toMatchObject({ message: expect.stringContaining('cannot come after') })
  })
})

describe('pocketchain_insert and pocketchain_replace', () => {
  it('put a transaction before and after a promised one', async () => {
    const victim = await fromAlice(1n)
    await slot()
    const front = await change('pocketchain_insert', Hex.fromBytes(bobs(0n, 5n).raw), { before: victim })
    expect(front).toEqual({ promised: [bobs(0n, 5n).hash, victim], returned: [], dropped: [], changed: [] })
    const back = await change('pocketchain_insert', Hex.fromBytes(bobs(1n, 6n).raw), { after: victim })
    expect(back.promised).toEqual([bobs(0n, 5n).hash, victim, bobs(1n, 6n).hash])
    await slot(10)
    expect(node.chain.head.view.locate(victim)).toMatchObject({ index: 2 })
  })

  it('take a request, which has the nonce of its place', async () => {
    const victim = await fromBob(1n)
    await slot()
    const request = { from: ALICE, to: CAROL, value: '0x7', gas: '0x5208' }
    const { promised: order } = await change('pocketchain_insert', request, { before: victim })
    expect(order).toHaveLength(2)
    const other = await change('pocketchain_replace', order[0], { ...request, value: '0x8' })
    expect(other).toMatchObject({ promised: [expect.any(String), victim], dropped: [order[0]] })
    expect(await node.ask('eth_getBalance', CAROL, 'pending')).toBe('0x9')
  })

  it('report promises whose outcome changed', async () => {
    const bound = await node.ask('eth_getBalance', ALICE)
    const all = BigInt(String(bound)) - 10n ** 17n
    const victim = await node.chain.submit(bobs(bobNonce++, 10n ** 18n))
    await slot()
    const late = Transaction.sign(
      { type: 2, chainId: 31_337, nonce: 0n, to: BOB, value: all, gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n },
      KEY,
    )
    expect((await change('pocketchain_insert', Hex.fromBytes(late.raw), { before: victim })).promised).toEqual([late.hash, victim])
  })

  it('refuse a transaction that is not valid there', async () => {
    const victim = await fromAlice(1n)
    await slot()
    const gap = Hex.fromBytes(bobs(5n, 1n).raw)
    expect(await refusal('pocketchain_insert', gap, { before: victim })).toMatchObject({
      message: expect.stringContaining('cannot be included there'),
    })
    const unknown = `0x${'12'.repeat(32)}`
    expect(await refusal('pocketchain_insert', gap, { after: unknown })).toMatchObject({ message: `transaction ${unknown} is unknown` })
    expect(await refusal('pocketchain_replace', victim, gap)).toMatchObject({
      message: expect.stringContaining('needs the sender and nonce'),
    })
    expect(await refusal('pocketchain_replace', unknown, gap)).toMatchObject({ message: `transaction ${unknown} is unknown` })
  })
})

describe('the schedule', () => {
  it('stalls', async () => {
    const hash = await fromAlice(1n)
    await node.ask('pocketchain_stall', 1_000)
    await slot(4)
    expect(promised()).toEqual([])
    await slot()
    expect(promised()).toEqual([hash])
  })

  it('runs at another speed', async () => {
    expect(await node.ask('pocketchain_setPace', { speed: 2 })).toEqual({ speed: 2, jitter: 0 })
    await node.clock.advance(4_000)
    expect(node.chain.head.view.head.header.number).toBe(4)
    await node.ask('pocketchain_setPace', { speed: 0.5 })
    await node.clock.advance(4_000)
    expect(node.chain.head.view.head.header.number).toBe(5)
  })

  it('makes flashblocks late by random shares of their interval, equal for equal seeds', async () => {
    const times: number[][] = []
    for (const each of [node, await testNode({ cadence: PRECONF })]) {
      const own: number[] = []
      each.chain.head.subscribe(() => own.push(each.clock.nowMs()))
      await each.ask('pocketchain_setPace', { jitter: 0.9 })
      await each.clock.advance(6_000)
      times.push(own)
    }
    expect(times[0]).toEqual(times[1])
    expect(times[0]!.some((time) => time % FLASHBLOCK_MS !== 0)).toBe(true)
    expect(node.chain.head.view.head.header.number).toBeGreaterThanOrEqual(2)
  })

  it('leaves out flashblocks, whose transactions come with the next one', async () => {
    const indices: number[] = []
    node.chain.head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed) indices.push(event.flashblock.index)
    })
    const hash = await fromAlice(1n)
    await node.ask('pocketchain_missFlashblocks', 2)
    await slot(2)
    expect(promised()).toEqual([])
    await slot()
    expect(promised()).toEqual([hash])
    expect(indices).toEqual([3])
  })

  it('seals late', async () => {
    await node.ask('pocketchain_delaySeal', 500)
    await node.clock.advance(2_400)
    expect(node.chain.head.view.head.header.number).toBe(0)
    await node.clock.advance(100)
    expect(node.chain.head.view.head.header.number).toBe(1)
    await node.clock.advance(2_000)
    expect(node.chain.head.view.head.header.number).toBe(2)
  })

  it('fails over to another sequencer, which builds the blocks with the same transactions', async () => {
    const sealed = await fromAlice(1n)
    await slot(11)
    const formerHead = node.chain.head.view.head
    const open = await fromBob(2n)
    await slot()
    await node.ask('pocketchain_failOver', 1)
    const head = node.chain.head.view.byNumber(1)!
    expect(head.hash).not.toBe(formerHead.hash)
    expect(head.header.timestamp).toBe(formerHead.header.timestamp)
    expect(head.transactions.map(({ hash }) => hash)).toContain(sealed)
    await slot()
    expect(promised()).toEqual([open])
    await node.ask('pocketchain_failOver', 0)
    expect(promised()).toEqual([])
    await slot()
    expect(promised()).toEqual([open])
    expect(await refusal('pocketchain_failOver', 9)).toMatchObject({ code: CODE.invalidParams })
  })

  it('has no flashblocks to disturb under instant', async () => {
    await node.ask('evm_setAutomine', true)
    const message = 'the instant cadence has no flashblocks'
    expect(await refusal('pocketchain_missFlashblocks', 1)).toMatchObject({ code: CODE.server, message })
    expect(await refusal('pocketchain_delaySeal', 1)).toMatchObject({ code: CODE.server, message })
  })
})
