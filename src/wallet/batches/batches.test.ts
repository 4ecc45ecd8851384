import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../chain/index.ts'
import { Transaction } from '../../eth/index.ts'
import type { Address, Hash, Hex } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain, PocketchainOptions } from '../../index.ts'
import type { Records, RpcRequest } from '../../jsonrpc/index.ts'
import { RpcError, memoryRecords } from '../../jsonrpc/index.ts'
import type { BatchChange } from './batches.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { BATCH_KEPT_MS, OLD_BATCHES, SETTLED_BATCHES, SETTLED_TRANSACTIONS } from '../limits.ts'
import { Batches, randomBatchId } from './batches.ts'
import { BatchRecord } from './batchrecord.ts'
import { Chains } from '../chains/chains.ts'
import { LOGGER, REVERTER, creating, deploy, sender } from './sender.fixture.ts'
import type { Sender } from './sender.fixture.ts'
import { ORIGIN, refusal, startNode } from '../wallet.fixture.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`
const instant = await startNode()
const reverter = await deploy(instant, creating(REVERTER))
const logger = await deploy(instant, creating(LOGGER))

/** A node with a manual clock. */
async function manual(options: PocketchainOptions = {}): Promise<{ readonly node: Pocketchain; readonly clock: ManualClock }> {
  const clock = new ManualClock(1_700_000_000_000)
  const node = await createPocketchain({ clock, timestamp: 1_700_000_000, ...options })
  onTestFinished(() => node.close())
  return { node, clock }
}

function heard({ wallet }: Sender): BatchChange[] {
  const changes: BatchChange[] = []
  wallet.batches.subscribe((change) => changes.push(change))
  return changes
}

/** Returns the status without waiting for a change. */
function now({ wallet }: Sender, id: string) {
  return wallet.batches.status(id, { origin: ORIGIN, waitMs: 0 })
}

describe('the status of a batch', () => {
  it('is 200 with a receipt for each transaction, which has these fields and no others', async () => {
    const { send, settled, alice } = sender(instant)
    const word = '11'.repeat(32)
    const { receipts, ...rest } = await settled(await send({ id: 'fields', calls: [{ to: logger, data: `0x${word}` }] }))
    const [receipt] = receipts ?? []
    const kept = (await instant.request({ method: 'eth_getTransactionReceipt', params: [receipt?.transactionHash] })) as Record<
      string,
      unknown
    >
    expect(receipts).toEqual([
      {
        logs: [{ address: logger, data: `0x${word}`, topics: [] }],
        status: '0x1',
        blockHash: kept['blockHash'],
        blockNumber: kept['blockNumber'],
        gasUsed: kept['gasUsed'],
        transactionHash: kept['transactionHash'],
      },
    ])
    expect(rest).toEqual({
      version: '2.0.0',
      id: 'fields',
      chainId: '0x7a69',
      status: 200,
      atomic: true,
      capabilities: {
        status: {
          confirmation: 'sealed',
          reason: null,
          message: null,
          calls: [{ outcome: 'success', transactionHash: receipt?.transactionHash }],
        },
      },
    })
    expect(kept['from']).toBe(alice)
  })

  it('is 500 if all calls reverted', async () => {
    const mine = sender(instant)
    const calls = [{ to: reverter }, { to: reverter }]
    const single = await mine.settled(await mine.send({ calls: calls.slice(1) }))
    expect(single).toMatchObject({
      status: 500,
      atomic: true,
      capabilities: { status: { reason: 'reverted', calls: [{ outcome: 'reverted' }] } },
    })
    expect(single.receipts).toMatchObject([{ status: '0x0', logs: [] }])
    const many = await mine.settled(await mine.send({ from: mine.bob, calls }))
    expect(many).toMatchObject({ status: 500, atomic: false })
    expect(many.receipts).toHaveLength(2)
  })

  it('is 500 for an atomic batch with a call that reverts, and the other calls have no effect', async () => {
    const mine = sender(instant)
    const before = await mine.ask('eth_getBalance', reverter, 'latest')
    const calls = [{ to: logger }, { to: mine.bob, value: '0x1' }, { to: reverter }]
    const failed = await mine.settled(await mine.send({ atomicRequired: true, calls }))
    expect(failed).toMatchObject({ status: 500, atomic: true, receipts: [{ status: '0x0', logs: [] }] })
    expect(failed.capabilities.status.calls).toHaveLength(3)
    expect(await mine.ask('eth_getBalance', reverter, 'latest')).toBe(before)
    await instant.request({ method: 'anvil_setCode', params: [mine.alice, '0x'] })
  })

  it('is 600 if some calls of a sequence reverted, and names them', async () => {
    const mine = sender(instant)
    const calls = [{ to: mine.bob, value: '0x1' }, { to: reverter }, { to: logger }]
    const { receipts, ...rest } = await mine.settled(await mine.send({ calls }))
    expect(rest).toMatchObject({
      status: 600,
      atomic: false,
      capabilities: { status: { reason: 'partly', calls: [{ outcome: 'success' }, { outcome: 'reverted' }, { outcome: 'success' }] } },
    })
    expect(receipts?.map(({ status }) => status)).toEqual(['0x1', '0x0', '0x1'])
  })

  it('is hidden from other origins, except by an id that the wallet made', async () => {
    const mine = sender(instant)
    const theirs = sender(instant, {}, 'https://other.example')
    const [own, chosen] = [await mine.send({ calls: [{ to: mine.bob }] }), await mine.send({ id: 'chosen', calls: [{ to: mine.bob }] })]
    for (const id of [own, chosen]) {
      expect(await refusal(theirs.status(id))).toMatchObject({ code: 5730, data: { reason: 'unknown-batch' } })
      expect(await refusal(theirs.ask('wallet_showCallsStatus', id))).toMatchObject({ code: 5730 })
      expect(await mine.ask('wallet_showCallsStatus', id)).toBeNull()
    }
    const other = mine.wallet.provider('https://other.example')
    expect(await refusal(other.request({ method: 'wallet_getCallsStatus', params: [own] }))).toMatchObject({ code: 5730 })
    expect(await mine.wallet.batches.status(own, { origin: null, waitMs: 0 })).toMatchObject({ id: own, status: 200 })
    expect(await refusal(mine.wallet.batches.status(chosen, { origin: null, waitMs: 0 }))).toMatchObject({ code: 5730 })
    expect(await refusal(mine.ask('wallet_getCallsStatus'))).toMatchObject({ code: -32602 })
    expect(await refusal(mine.ask('wallet_getCallsStatus', 1))).toMatchObject({ code: -32602 })
  })

  it('is returned with the flashblock that includes a pending batch', async () => {
    const { node, clock } = await manual()
    const mine = sender(node)
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    expect(await now(mine, id)).toMatchObject({
      status: 100,
      capabilities: { status: { confirmation: 'none', calls: [{ outcome: 'pending' }] } },
    })
    expect(await now(mine, id)).not.toHaveProperty('receipts')
    const pendingRequest = mine.status(id)
    await clock.advance(200)
    expect(await pendingRequest).toMatchObject({
      status: 200,
      receipts: [{ blockHash: ZERO_HASH }],
      capabilities: { status: { confirmation: 'preconfirmed' } },
    })
    await clock.advance(4_000)
    const sealed = await mine.status(id)
    expect(sealed).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
    expect(sealed.receipts?.[0]?.blockHash).not.toBe(ZERO_HASH)
  })

  it('is returned after the time limit, or when the request is aborted', async () => {
    const { node } = await manual()
    const mine = sender(node)
    const id = await mine.send({ calls: [{ to: mine.bob }] })
    const gone = new AbortController()
    const pendingRequest = mine.wallet.batches.status(id, { origin: ORIGIN, waitMs: 60_000, signal: gone.signal })
    gone.abort()
    expect(await pendingRequest).toMatchObject({ status: 100 })
    expect(await mine.wallet.batches.status(id, { origin: ORIGIN, waitMs: 5 })).toMatchObject({ status: 100 })
    const closing = mine.wallet.batches.status(id, { origin: ORIGIN, waitMs: 60_000 })
    await mine.wallet.batches.close()
    expect(await closing).toMatchObject({ status: 100 })
  })

  it('stays 100 until the block is sealed if the wallet is set to sealed blocks', async () => {
    const { node, clock } = await manual()
    const mine = sender(node, { confirmation: 'sealed' })
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    await clock.advance(200)
    expect(await now(mine, id)).toMatchObject({
      status: 100,
      receipts: [{ status: '0x1' }],
      capabilities: { status: { confirmation: 'preconfirmed' } },
    })
    await clock.advance(4_000)
    expect(await now(mine, id)).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
  })
})

describe('a batch whose pre-confirmation was reverted', () => {
  it('is 100 again while it waits in the pool, then 200, with an event for each change', async () => {
    const { node, clock } = await manual()
    const mine = sender(node)
    const changes = heard(mine)
    const messages: unknown[] = []
    mine.provider.on('message', (message: unknown) => messages.push(message))
    const id = await mine.send({ id: 'back', calls: [{ to: mine.bob, value: '0x1' }] })
    await clock.advance(200)
    expect(await now(mine, id)).toMatchObject({ status: 200 })
    await node.chain.promises.retract('all')
    const back = await now(mine, id)
    expect(back).toMatchObject({ status: 100, capabilities: { status: { confirmation: 'none', reason: 'retracted' } } })
    await clock.advance(400)
    expect(await now(mine, id)).toMatchObject({ status: 200, capabilities: { status: { reason: null } } })
    expect(changes.map(({ status }) => status)).toEqual([200, 100, 200])
    expect(messages).toEqual([200, 100, 200].map((status) => ({ type: 'wallet_callsStatus', data: { id: 'back', status } })))
  })

  it.each(['evm_revert', 'anvil_reorg'])('is 400 after %s has removed it, and is not submitted again', async (method) => {
    const { node, clock } = await manual()
    const mine = sender(node)
    await clock.advance(4_000)
    const snapshot = await node.request({ method: 'evm_snapshot', params: [] })
    const changes = heard(mine)
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    await clock.advance(200)
    expect(await now(mine, id)).toMatchObject({ status: 200 })
    await node.request({ method, params: method === 'evm_revert' ? [snapshot] : [1, []] })
    expect(await now(mine, id)).toMatchObject({
      status: 400,
      capabilities: { status: { reason: 'dropped', calls: [{ outcome: 'dropped' }] } },
    })
    expect(changes.map(({ status }) => status)).toEqual([200, 400])
    expect(await node.request({ method: 'txpool_status', params: [] })).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('is 400 also if its block had been sealed', async () => {
    const { node, clock } = await manual()
    const mine = sender(node)
    await clock.advance(4_000)
    const snapshot = await node.request({ method: 'evm_snapshot', params: [] })
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    await clock.advance(4_000)
    expect(await now(mine, id)).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
    await node.request({ method: 'evm_revert', params: [snapshot] })
    expect(await now(mine, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'dropped' } } })
  })
})

describe('a batch that is never included', () => {
  it('is 400 if the node has lost it', async () => {
    const { node } = await manual()
    const mine = sender(node)
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    await node.request({ method: 'anvil_dropAllTransactions', params: [] })
    expect(await now(mine, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'dropped' } } })
  })

  it('is 400 if another transaction used its nonce', async () => {
    const { node, clock } = await manual()
    const mine = sender(node)
    const id = await mine.send({ calls: [{ to: mine.bob, value: '0x1' }] })
    const [account] = node.accounts
    const replacement = Transaction.sign(
      { chainId: 31_337, nonce: 0n, gas: 21_000n, to: mine.alice, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
      account?.privateKey ?? new Uint8Array(),
    )
    await node.chain.submit(replacement)
    await clock.advance(4_000)
    const replaced = await now(mine, id)
    expect(replaced).toMatchObject({ status: 400, capabilities: { status: { reason: 'replaced', calls: [{ outcome: 'replaced' }] } } })
    expect(replaced.capabilities.status.message).toMatch(/^another transaction has taken nonce 0 of 0x/)
    expect(replaced).not.toHaveProperty('receipts')
  })

  it('is 600 if the node accepted only the first transactions, with the reason of the refusal', async () => {
    const { node, clock } = await manual()
    let taken = 0
    const chain = obstructed(node, ({ method }) => {
      if (method === 'eth_sendRawTransaction' && ++taken > 2) throw new RpcError(-32000, 'txpool is full')
    })
    const mine = sender(node, { chains: [chain] })
    const id = await mine.send({ calls: [1, 2, 3, 4].map(() => ({ to: mine.bob, value: '0x1' })) })
    await clock.advance(4_000)
    const status = await now(mine, id)
    expect(status).toMatchObject({
      status: 600,
      capabilities: { status: { reason: 'partly', message: '2 of 4 calls succeeded: txpool is full' } },
    })
    expect(status.capabilities.status.calls.map(({ outcome }) => outcome)).toEqual(['success', 'success', 'refused', 'refused'])
    expect(taken, 'what comes after a refused one is not sent').toBe(3)
  })
})

describe('an external node', () => {
  it('gets a transaction again that it has lost', async () => {
    const { node, clock } = await manual()
    let time = 1_700_000_000_000
    const { chain, batches } = bare(node, { now: () => time })
    const id = await submitOne(node, chain, batches)
    await node.request({ method: 'anvil_dropAllTransactions', params: [] })
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 }), 'it may only be slow').toMatchObject({ status: 100 })
    time += 60_000
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 100 })
    expect(await node.request({ method: 'txpool_status', params: [] })).toMatchObject({ pending: '0x1' })
    await clock.advance(200)
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 200 })
  })

  it('gets it again once only, and not if the chain was rewound beyond the batch', async () => {
    const { node, clock } = await manual()
    let time = 1_700_000_000_000
    const { chain, batches } = bare(node, { now: () => time })
    const snapshot = await node.request({ method: 'evm_snapshot', params: [] })
    await clock.advance(4_000)
    const ids = [await submitOne(node, chain, batches)]
    for (const outcome of [100, 400]) {
      await node.request({ method: 'anvil_dropAllTransactions', params: [] })
      time += 60_000
      expect(await batches.status(ids[0]!, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: outcome })
    }
    ids.push(await submitOne(node, chain, batches))
    await node.request({ method: 'evm_revert', params: [snapshot] })
    await node.request({ method: 'anvil_dropAllTransactions', params: [] })
    time += 60_000
    expect(await batches.status(ids[1]!, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 400 })
    expect(await node.request({ method: 'txpool_status', params: [] })).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('whose response was lost is assumed to have the transaction, or gets it again', async () => {
    const { node, clock } = await manual()
    let isDown = false
    let hasFailed = false
    const chain = obstructed(node, ({ method }) => {
      isDown ||= method === 'eth_sendRawTransaction' && !hasFailed
      if (isDown) throw new RpcError(-32000, 'no response', { reason: 'unreachable' })
    })
    let time = 1_700_000_000_000
    const remote = { ...chain, isEmbedded: false }
    const { batches } = bare(node, { now: () => time }, remote)
    const id = await submitOne(node, remote, batches)
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 100 })
    expect(await node.request({ method: 'txpool_status', params: [] })).toMatchObject({ pending: '0x0' })
    isDown = false
    hasFailed = true
    time += 60_000
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 100 })
    await clock.advance(200)
    expect(await batches.status(id, { origin: ORIGIN, waitMs: 0 })).toMatchObject({ status: 200 })
  })

  it('that cannot be reached leaves the status unchanged', async () => {
    const { node, clock } = await manual()
    let isDown = false
    const chain = obstructed(node, () => {
      if (isDown) throw new RpcError(-32000, 'no response', { reason: 'unreachable' })
    })
    const mine = sender(node, { chains: [chain] })
    const id = await mine.send({ calls: [{ to: mine.bob }] })
    await clock.advance(200)
    expect(await now(mine, id)).toMatchObject({ status: 200 })
    isDown = true
    expect(await now(mine, id)).toMatchObject({ status: 200 })
    expect(mine.errors).toEqual([])
  })
})

describe('an account with a pending upgrade', () => {
  const atomic = (to: Address) => ({ atomicRequired: true, calls: [{ to, value: '0x1' }, { to }] })

  it('loses no transaction that is sent before the block of its upgrade', async () => {
    await using node = await createPocketchain()
    const mine = sender(node)
    const ids = await Promise.all([1, 2, 3].map(() => mine.send(atomic(mine.bob))))
    const hash = await mine.ask<string>('eth_sendTransaction', { to: mine.bob })
    const later = await mine.send({ calls: [{ to: mine.bob }] })
    for (const id of [...ids, later]) expect(await mine.settled(id)).toMatchObject({ status: 200 })
    expect(await mine.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    expect(mine.errors).toEqual([])
  })

  it('loses no transaction that is sent before the block of its downgrade', async () => {
    await using node = await createPocketchain()
    const mine = sender(node)
    await mine.send(atomic(mine.bob))
    await mine.wallet.control.request({ method: 'pocketchain_downgradeAccount', params: [mine.alice] })
    const hash = await mine.ask<string>('eth_sendTransaction', { to: mine.bob })
    expect(await mine.settled(await mine.send(atomic(mine.bob)))).toMatchObject({ status: 200, atomic: true })
    expect(await mine.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  it('sends nothing else before that block, and rejects with the reason', async () => {
    const { node, clock } = await manual()
    const mine = sender(node)
    const id = await mine.send(atomic(mine.bob))
    const nonce = await mine.ask('eth_getTransactionCount', mine.alice, 'pending')
    const pendingRequest = [mine.ask('eth_sendTransaction', { to: mine.bob }), mine.send(atomic(mine.bob))]
    const refusals = await Promise.all(pendingRequest.map(refusal))
    for (const each of refusals) expect(each).toMatchObject({ code: -32000, data: { reason: 'upgrade-waits' } })
    expect(await mine.ask('eth_getTransactionCount', mine.alice, 'pending')).toBe(nonce)
    // Other accounts do not wait, nor do transactions with a nonce of the app.
    await mine.ask('eth_sendTransaction', { from: mine.bob, to: mine.bob })
    await mine.ask('eth_sendTransaction', { to: mine.bob, nonce: '0x5' })
    await clock.advance(200)
    expect(await now(mine, id)).toMatchObject({ status: 200 })
    await mine.ask('eth_sendTransaction', { to: mine.bob })
  })
})

describe('batches', () => {
  it('are stored before their first transaction is sent, and tracked by the next wallet over the same records', async () => {
    const { node, clock } = await manual()
    const records = memoryRecords()
    let sees: unknown = null
    const chain = obstructed(node, ({ method }) => {
      if (method === 'eth_sendRawTransaction') sees ??= [...records.entries('wallet/batch/')].length
    })
    const first = sender(node, { records, chains: [chain] })
    const id = await first.send({ calls: [{ to: first.bob, value: '0x1' }] })
    expect(sees).toBe(1)
    await first.wallet.close()
    await node.request({ method: 'anvil_dropAllTransactions', params: [] })
    const second = sender(node, { records })
    expect(await second.settled(await afterTick(id, second, clock))).toMatchObject({ id, status: 200 })
    expect(await refusal(second.send({ id, calls: [{ to: second.bob }] }))).toMatchObject({ code: 5720 })
  })

  it('survive a restart of the node and the wallet over one directory', async () => {
    const data = await mkdtemp(join(tmpdir(), 'pocketchain-batches-'))
    onTestFinished(() => rm(data, { recursive: true, force: true }))
    const run = async <T>(work: (mine: Sender, node: Pocketchain) => Promise<T>): Promise<T> => {
      await using node = await createPocketchain({ data, cadence: 'manual' })
      const mine = sender(node, { records: recordsOf(node) })
      const result = await work(mine, node)
      await mine.wallet.close()
      return result
    }
    const [done, open] = await run(async (mine, node) => {
      const done = await mine.send({ id: 'done', calls: [{ to: mine.bob, value: '0x1' }] })
      await node.request({ method: 'evm_mine', params: [] })
      expect(await now(mine, done)).toMatchObject({ status: 200 })
      const open = await mine.send({ id: 'open', calls: [1, 2].map(() => ({ to: mine.bob, value: '0x1' })) })
      return [done, open]
    })
    await run(async (mine, node) => {
      expect(await now(mine, done)).toMatchObject({ status: 200, receipts: [{ status: '0x1' }] })
      expect(await now(mine, open)).toMatchObject({ status: 100 })
      await node.request({ method: 'evm_mine', params: [] })
      const settled = await now(mine, open)
      expect(settled).toMatchObject({ status: 200, atomic: false })
      expect(settled.receipts).toHaveLength(2)
      expect(await refusal(mine.send({ id: 'open', calls: [{ to: mine.bob }] }))).toMatchObject({ code: 5720 })
    })
  })

  it('are listed newest first', async () => {
    const mine = sender(instant)
    for (const id of ['first', 'second', 'third']) await mine.send({ id, calls: [{ to: mine.bob }] })
    await mine.settled('third')
    const latest = mine.wallet.batches.latest(2)
    expect(latest.map(({ id }) => id)).toEqual(['third', 'second'])
    expect(latest[0]).toMatchObject({ origin: ORIGIN, from: mine.alice, chainId: '0x7a69', status: 200, atomic: true })
    expect(latest[0]?.transactionHashes).toHaveLength(1)
  })

  it('are removed after a day if there are many; unreadable records are left out', async () => {
    const { node } = await manual()
    const records = memoryRecords()
    const many = OLD_BATCHES + 3
    for (let i = 0; i < many; i++) BatchRecord.put(records, settledRecord(`old-${i}`, i + 1))
    BatchRecord.put(records, settledRecord('fresh', BATCH_KEPT_MS))
    records.put('wallet/batch/0', new TextEncoder().encode('{"id":1}'))
    const { batches, errors } = bare(node, { now: () => BATCH_KEPT_MS + many + 1, records })
    expect([...records.entries('wallet/batch/')]).toHaveLength(OLD_BATCHES + 2)
    expect(batches.latest(many).map(({ id }) => id)).toHaveLength(OLD_BATCHES + 1)
    expect(batches.latest(1)).toMatchObject([{ id: 'fresh' }])
    expect(await refusal(batches.status('old-2', { origin: ORIGIN, waitMs: 0 }))).toMatchObject({ code: 5730 })
    expect(errors).toHaveLength(1)
  })

  it('are limited in number within a day, and so are single transactions', async () => {
    const { node } = await manual()
    const records = memoryRecords()
    for (let i = 0; i < SETTLED_BATCHES + 2; i++) BatchRecord.put(records, settledRecord(`batch-${i}`, i + 1))
    for (let i = 0; i < SETTLED_TRANSACTIONS + 2; i++) BatchRecord.put(records, { ...settledRecord(`tx-${i}`, i + 1), isTransaction: true })
    const { batches } = bare(node, { now: () => BATCH_KEPT_MS, records })
    const isKept = (id: string) => batches.record({ ...settledRecord(id, 0) }) !== null
    expect(['batch-1', 'batch-2', 'tx-1', 'tx-2'].map(isKept)).toEqual([false, true, false, true])
    expect([...records.entries('wallet/batch/')]).toHaveLength(SETTLED_BATCHES + SETTLED_TRANSACTIONS)
  })

  it('watch a chain only while one of them is open', async () => {
    const { node, clock } = await manual()
    let listening = 0
    const chain = embeddedChain(node)
    const rpc = {
      request: (request: RpcRequest) => node.request(request),
      subscribe: async (params: readonly unknown[], listener: (result: unknown) => void) => {
        listening++
        const end = await node.subscribe(params, listener)
        return async () => {
          listening--
          await end()
        }
      },
    }
    const mine = sender(node, { chains: [{ ...chain, rpc }] })
    expect(listening).toBe(0)
    const id = await mine.send({ calls: [{ to: mine.bob }] })
    await expect.poll(() => listening).toBe(2)
    await clock.advance(4_000)
    await now(mine, id)
    await expect.poll(() => listening).toBe(0)
  })
})

/** Batches without a wallet, over a node that counts as external. */
function bare(node: Pocketchain, options: { readonly now: () => number; readonly records?: Records }, given?: WalletChain) {
  const { records = memoryRecords(), now: clock } = options
  const errors: unknown[] = []
  const chain = given ?? { ...embeddedChain(node), isEmbedded: false }
  const chains = new Chains(records, [chain], () => node)
  const batches = new Batches({
    chains,
    records,
    settings: { confirmation: 'preconfirmed' },
    onError: (error) => errors.push(error),
    now: clock,
  })
  onTestFinished(() => batches.close())
  return { chain, batches, errors }
}

async function submitOne(node: Pocketchain, chain: WalletChain, batches: Batches): Promise<string> {
  const [account] = node.accounts
  if (account === undefined) throw new Error('a node has accounts')
  const nonce = BigInt((await node.request({ method: 'eth_getTransactionCount', params: [account.address, 'pending'] })) as Hex) // a quantity
  const fields = {
    chainId: chain.chainId,
    nonce,
    gas: 21_000n,
    to: account.address,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 10n ** 9n,
  }
  const transaction = Transaction.sign(fields, account.privateKey)
  const { id } = await batches.submit({
    id: randomBatchId(),
    isOwnId: true,
    origin: ORIGIN,
    from: account.address,
    chain,
    atomic: true,
    execution: 'single',
    callCount: 1,
    transactions: [{ transaction, isPreparation: false }],
  })
  return id
}

function settledRecord(id: string, createdAt: number): BatchRecord {
  return {
    id,
    origin: ORIGIN,
    from: `0x${'11'.repeat(20)}` as Address, // 20 bytes
    chainId: 31_337,
    isTransaction: false,
    isOwnId: false,
    atomic: true,
    execution: 'single',
    callCount: 1,
    createdAt,
    anchor: null,
    transactions: [
      {
        hash: ZERO_HASH as Hash, // 32 bytes
        raw: '0x',
        nonce: 0,
        isPreparation: false,
        inclusion: { kind: 'never', reason: 'replaced', message: 'long ago' },
      },
    ],
    operation: null,
    status: 400,
  }
}

/** The node's chain, with `look` called before each request. */
function obstructed(node: Pocketchain, look: (request: RpcRequest) => void): WalletChain {
  const rpc = {
    subscribe: node.subscribe,
    request: async (request: RpcRequest) => {
      look(request)
      return node.request(request)
    },
  }
  return { ...embeddedChain(node), rpc }
}

/** The first update after a start submits again what the node has lost. */
async function afterTick(id: string, mine: Sender, clock: ManualClock): Promise<string> {
  await now(mine, id)
  await clock.advance(200)
  return id
}

function recordsOf({ store }: Pocketchain): Records {
  return store.records
}
