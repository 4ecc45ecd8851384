import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../chain/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain } from '../../index.ts'
import { RpcError, memoryRecords } from '../../jsonrpc/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { Chains } from '../chains/chains.ts'
import { outcomeOf } from '../activity/outcome.ts'
import { UNKNOWN_MS } from '../limits.ts'
import { ORIGIN, openWallet, refusal } from '../wallet.fixture.ts'
import { Batches } from './batches.ts'
import type { BatchChange } from './batches.ts'
import type { Call } from './call.ts'
import { send } from './calls.fixture.ts'
import { answering, operationOf, submit } from './operations.fixture.ts'
import type { Wanted } from './operations.fixture.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`
const RECIPIENT = `0x${'0b'.repeat(20)}` as Address // 20 bytes
const REVERTS = `0x${'0c'.repeat(20)}` as Address // 20 bytes
const LOGS = `0x${'0d'.repeat(20)}` as Address // 20 bytes

interface Setup {
  readonly node: Pocketchain
  readonly clock: ManualClock
  readonly chain: WalletChain
  readonly batches: Batches
  readonly records: Records
  readonly changes: BatchChange[]
  readonly errors: unknown[]
  readonly alice: Address
  readonly bob: Address
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
}

interface Given {
  readonly records?: Records
  /** a proxy between the wallet and the node */
  readonly chain?: (chain: WalletChain) => WalletChain
  /** the wallet's clock; the node has a manual one */
  readonly now?: () => number
}

/** A node with a manual clock, and a wallet's batches over it. */
async function setup(given: Given = {}): Promise<Setup> {
  const clock = new ManualClock(1_700_000_000_000)
  const node = await createPocketchain({ clock, timestamp: 1_700_000_000 })
  onTestFinished(() => node.close())
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  await ask('anvil_setCode', REVERTS, '0x60006000fd')
  await ask('anvil_setCode', LOGS, '0x60003560005260206000a000')
  const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten
  return { node, clock, alice, bob, ask, ...batchesOf(node, given) }
}

function batchesOf(node: Pocketchain, { records = memoryRecords(), chain: change = (chain) => chain, now = Date.now }: Given) {
  const errors: unknown[] = []
  const changes: BatchChange[] = []
  const chain = change(embeddedChain(node))
  const chains = new Chains(records, [chain], () => node)
  const batches = new Batches({ chains, records, settings: { confirmation: 'preconfirmed' }, onError: (error) => errors.push(error), now })
  batches.subscribe((each) => changes.push(each))
  onTestFinished(async () => {
    await batches.close()
    expect(errors).toEqual([])
  })
  return { chain, batches, records, changes, errors }
}

/** Submits an operation of Alice. Returns its id and hash. */
async function submitted({ node, chain, batches, alice }: Setup, wanted: Wanted, from = alice) {
  const sent = await operationOf(node, chain, from, wanted)
  const { id } = await submit(batches, chain, sent, { callCount: wanted.calls.length })
  return { id, sent, hash: sent.hash }
}

/** Returns the status without waiting for a change. */
function now({ batches }: Pick<Setup, 'batches'>, id: string) {
  return batches.status(id, { origin: ORIGIN, waitMs: 0 })
}

/** Resolves when the bundle is in the node's pool; the next flashblock includes it. */
async function bundled({ ask }: Setup, hash: Hash): Promise<Hash> {
  await expect.poll(() => ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'submitted' })
  const { transactionHash } = (await ask('pimlico_getUserOperationStatus', hash)) as { transactionHash: Hash } // it was submitted
  return transactionHash
}

function log(word: string): Call {
  return { ...send(LOGS, 0n), data: Uint8Array.from(Buffer.from(word, 'hex')) }
}

describe('a sponsored batch', () => {
  it('is 100 until its bundle is pre-confirmed, then 200 with one receipt, and finally sealed', async () => {
    const it = await setup()
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n), send(RECIPIENT, 2n)] })
    const pending = await now(it, id)
    expect(pending).toEqual({
      version: '2.0.0',
      id,
      chainId: '0x7a69',
      status: 100,
      atomic: true,
      capabilities: {
        status: {
          confirmation: 'none',
          reason: null,
          message: null,
          calls: [
            { outcome: 'pending', transactionHash: null },
            { outcome: 'pending', transactionHash: null },
          ],
        },
        userOperation: { userOpHash: hash, success: null, reason: null },
      },
    })
    const transactionHash = await bundled(it, hash)
    expect(await now(it, id)).toEqual(pending)
    expect(it.batches.latest(1)).toMatchObject([{ id, status: 100, transactionHashes: [], userOpHash: hash }])
    await it.clock.advance(200)
    const done = await now(it, id)
    const bundle = (await it.ask('eth_getTransactionReceipt', transactionHash)) as Record<string, unknown>
    expect(done).toMatchObject({
      status: 200,
      atomic: true,
      capabilities: {
        status: { confirmation: 'preconfirmed', reason: null, calls: [1, 2].map(() => ({ outcome: 'success', transactionHash })) },
        userOperation: { userOpHash: hash, success: true, reason: null },
      },
    })
    // Exactly the fields of EIP-5792, of the bundle's transaction.
    expect(done.receipts).toEqual([
      { logs: [], status: '0x1', blockHash: ZERO_HASH, blockNumber: bundle['blockNumber'], gasUsed: bundle['gasUsed'], transactionHash },
    ])
    expect(it.batches.latest(1)).toMatchObject([{ status: 200, transactionHashes: [transactionHash], userOpHash: hash }])
    await it.clock.advance(4_000)
    const sealed = await now(it, id)
    expect(sealed).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
    expect(sealed.receipts?.[0]?.blockHash).not.toBe(ZERO_HASH)
    expect(it.changes.map(({ status }) => status)).toEqual([200])
    expect(BigInt((await it.ask('eth_getBalance', RECIPIENT, 'latest')) as string)).toBe(3n)
  })

  it('has its own logs and outcome, independent of other operations in its bundle', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const word = '11'.repeat(32)
    const mine = await submitted(it, { calls: [log(word)] })
    const other = await submitted(it, { calls: [log('22'.repeat(32)), send(REVERTS, 0n)] }, it.bob)
    const transactionHash = await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    expect(await now(it, mine.id)).toMatchObject({
      status: 200,
      receipts: [{ transactionHash, status: '0x1', logs: [{ address: LOGS, data: `0x${word}`, topics: [] }] }],
    })
    const failed = await now(it, other.id)
    expect(failed).toMatchObject({
      status: 500,
      receipts: [{ transactionHash, status: '0x0' }],
      capabilities: {
        status: { reason: 'reverted', calls: [1, 2].map(() => ({ outcome: 'reverted', transactionHash })) },
        userOperation: { userOpHash: other.hash, success: false, reason: null },
      },
    })
    expect(failed.receipts?.[0]?.logs.filter(({ address }) => address === LOGS)).toEqual([])
    // The bundle's transaction succeeds.
    expect(await it.ask('eth_getTransactionReceipt', transactionHash)).toMatchObject({ status: '0x1' })
  })

  it('has what its sponsor paid, which is not the fee of the bundle', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const mine = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await submitted(it, { calls: [send(RECIPIENT, 2n)] }, it.bob)
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    await now(it, mine.id)
    const { actualGasCost } = (await it.ask('eth_getUserOperationReceipt', mine.hash)) as { actualGasCost: string } // it was included
    const record = it.batches.record({ origin: ORIGIN, from: it.alice, id: mine.id })
    expect(outcomeOf(record, { failure: null, untrackedHash: null }, false).transactions).toMatchObject([
      { fee: null, sponsorFee: actualGasCost },
    ])
    expect(BigInt(actualGasCost)).toBeGreaterThan(0n)
  })

  it.each([undefined, null, '0x', 1, `0x${'f'.repeat(65)}`])('has no such amount if its bundler reports %o', async (actualGasCost) => {
    const it = await setup({
      chain: (chain) => ({
        ...chain,
        rpc: answering(chain.rpc, async (method, params) => {
          if (method !== 'eth_getUserOperationReceipt') return undefined
          const receipt = await chain.rpc.request({ method, params })
          return receipt === null ? null : { ...(receipt as object), actualGasCost } // the result of the method
        }),
      }),
    })
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await bundled(it, hash)
    await it.clock.advance(200)
    await now(it, id)
    const record = it.batches.record({ origin: ORIGIN, from: it.alice, id })
    expect(outcomeOf(record, { failure: null, untrackedHash: null }, false)).toMatchObject({
      state: 'preconfirmed',
      transactions: [{ fee: null, sponsorFee: null }],
    })
  })

  it('that fails has the revert reason of the contract', async () => {
    const it = await setup()
    // Reverts with Error("no").
    const words = `08c379a0${'20'.padStart(64, '0')}${'2'.padStart(64, '0')}${'6e6f'.padEnd(64, '0')}`
    await it.ask('anvil_setCode', REVERTS, `0x6064600c60003960646000fd${words}`)
    const { id, hash } = await submitted(it, { calls: [send(REVERTS, 0n)] })
    await bundled(it, hash)
    await it.clock.advance(200)
    expect(await now(it, id)).toMatchObject({ status: 500, capabilities: { userOperation: { success: false, reason: 'no' } } })
  })

  it('has its status returned with the flashblock that includes it', async () => {
    const it = await setup()
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await bundled(it, hash)
    let isAnswered = false
    const waiting = it.batches.status(id, { origin: ORIGIN, waitMs: 60_000 }).finally(() => (isAnswered = true))
    await now(it, id)
    expect(isAnswered).toBe(false)
    await it.clock.advance(200)
    expect(await waiting).toMatchObject({ status: 200 })
  })

  it('has a status at the provider as any other batch', async () => {
    const it = await setup()
    const { wallet } = openWallet(it.node, { records: it.records })
    const { alice } = it
    wallet.sites.connect(ORIGIN, [alice])
    const sent = await operationOf(it.node, it.chain, alice, { calls: [send(RECIPIENT, 1n)] })
    const { id } = await submit(wallet.batches, wallet.chains.default, sent)
    const provider = wallet.provider(ORIGIN)
    const messages: unknown[] = []
    provider.on('message', (message: unknown) => messages.push(message))
    await bundled(it, sent.hash)
    const pendingRequest = provider.request({ method: 'wallet_getCallsStatus', params: [id] })
    await it.clock.advance(200)
    expect(await pendingRequest).toMatchObject({ id, status: 200 })
    expect(messages).toEqual([{ type: 'wallet_callsStatus', data: { id, status: 200 } }])
  })
})

describe('a sponsored batch that the bundler rejects', () => {
  it('is removed, and its id is free', async () => {
    const it = await setup()
    const sent = await operationOf(it.node, it.chain, it.alice, { calls: [send(RECIPIENT, 1n)] })
    const spoilt = { ...sent, operation: { ...sent.operation, signature: new Uint8Array(65) } }
    expect(await refusal(submit(it.batches, it.chain, spoilt, { id: 'mine' }))).toMatchObject({ code: -32507 })
    expect(it.batches.latest(10)).toEqual([])
    expect([...it.records.entries('wallet/batch/')]).toEqual([])
    expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toEqual([])
    await submit(it.batches, it.chain, sent, { id: 'mine' })
    expect(await now(it, 'mine')).toMatchObject({ status: 100 })
  })

  it('is removed too if there is no bundler', async () => {
    const node = await createPocketchain({ clock: new ManualClock(1_700_000_000_000), timestamp: 1_700_000_000, bundler: false })
    onTestFinished(() => node.close())
    const { chain, batches } = batchesOf(node, {})
    const [{ address }] = node.accounts as [{ address: Address }, ...unknown[]] // a node has ten
    const sent = await operationOf(node, chain, address, { calls: [send(RECIPIENT, 1n)] })
    expect(await refusal(submit(batches, chain, sent))).toMatchObject({ code: -32601 })
    expect(batches.latest(10)).toEqual([])
  })

  it('counts as sent if the response was lost, and is tracked', async () => {
    let isConnectionError = true
    const it = await setup({
      chain: (chain) => ({
        ...chain,
        rpc: {
          ...chain.rpc,
          request: async (request) => {
            const answer = await chain.rpc.request(request)
            if (request.method === 'eth_sendUserOperation' && isConnectionError)
              throw new RpcError(-32000, 'no answer', { reason: 'timeout' })
            return answer
          },
        },
      }),
    })
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    isConnectionError = false
    await bundled(it, hash)
    await it.clock.advance(200)
    expect(await now(it, id)).toMatchObject({ status: 200 })
  })
})

describe('a wallet that starts over the same records', () => {
  it('tracks pending batches, and reports final ones', async () => {
    const first = await setup()
    const { id, hash } = await submitted(first, { calls: [send(RECIPIENT, 1n)] })
    await first.batches.close()
    const second = { ...first, ...batchesOf(first.node, { records: first.records }) }
    expect(await now(second, id)).toMatchObject({ status: 100, capabilities: { userOperation: { userOpHash: hash } } })
    await bundled(second, hash)
    await first.clock.advance(200)
    const done = await now(second, id)
    expect(done).toMatchObject({ status: 200 })
    await first.clock.advance(4_000)
    await now(second, id)
    await second.batches.close()
    const third = { ...first, ...batchesOf(first.node, { records: first.records }) }
    expect(await now(third, id)).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
  })

  it('finds what was included meanwhile, also if the bundler has lost it', async () => {
    const first = await setup()
    const { id, hash } = await submitted(first, { calls: [send(RECIPIENT, 1n)] })
    await bundled(first, hash)
    await first.batches.close()
    await first.clock.advance(4_000)
    await first.ask('debug_bundler_clearState')
    const second = { ...first, ...batchesOf(first.node, { records: first.records }) }
    expect(await now(second, id)).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
    expect(await first.ask('debug_bundler_dumpMempool', '0x4337084d9e255ff0702461cf8895ce9e3b5ff108')).toEqual([])
  })

  it('submits again what the bundler has lost', async () => {
    const first = await setup()
    await first.ask('debug_bundler_setBundlingMode', 'manual')
    const { id, hash } = await submitted(first, { calls: [send(RECIPIENT, 1n)] })
    await first.batches.close()
    await first.ask('debug_bundler_clearState')
    await first.ask('debug_bundler_setBundlingMode', 'auto')
    const second = { ...first, ...batchesOf(first.node, { records: first.records }) }
    expect(await now(second, id)).toMatchObject({ status: 100 })
    await bundled(second, hash)
    await first.clock.advance(200)
    expect(await now(second, id)).toMatchObject({ status: 200 })
  })

  it('continues after a restart of node, bundler and wallet over one directory', async () => {
    const data = await mkdtemp(join(tmpdir(), 'pocketchain-operations-'))
    onTestFinished(() => rm(data, { recursive: true, force: true }))
    const run = async <T>(work: (it: Pick<Setup, 'node' | 'batches' | 'chain'>) => Promise<T>): Promise<T> => {
      await using node = await createPocketchain({ data, cadence: 'manual' })
      const it = { node, ...batchesOf(node, { records: node.store.records }) }
      const result = await work(it)
      await it.batches.close()
      return result
    }
    const mine = (node: Pocketchain) => node.request({ method: 'evm_mine', params: [] })
    const open = await run(async ({ node, batches, chain }) => {
      await mine(node)
      await node.request({ method: 'debug_bundler_setBundlingMode', params: ['manual'] })
      const [{ address }] = node.accounts as [{ address: Address }, ...unknown[]] // a node has ten
      const { id } = await submit(batches, chain, await operationOf(node, chain, address, { calls: [send(RECIPIENT, 1n)] }))
      return id
    })
    await run(async ({ node, batches }) => {
      expect(await now({ batches }, open)).toMatchObject({ status: 100 })
      await node.request({ method: 'debug_bundler_sendBundleNow', params: [] })
      await mine(node)
      expect(await now({ batches }, open)).toMatchObject({ status: 200, capabilities: { status: { confirmation: 'sealed' } } })
    })
    await run(async ({ batches }) => {
      expect(await now({ batches }, open)).toMatchObject({ status: 200, capabilities: { userOperation: { success: true } } })
    })
  })

  it('reads records from before batches could be sponsored', async () => {
    const it = await setup()
    const { id } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await it.batches.close()
    const [[key, bytes]] = [...it.records.entries('wallet/batch/')] as [[string, Uint8Array]] // there is one
    const { operation: _, ...old } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown> // a record
    const fate = { kind: 'never', reason: 'dropped', message: 'long ago' }
    const transactions = [{ hash: ZERO_HASH, raw: '0x', nonce: 0, isPreparation: false, fate }]
    it.records.put(key, new TextEncoder().encode(JSON.stringify({ ...old, execution: 'single', transactions })))
    const { batches } = batchesOf(it.node, { records: it.records })
    expect(batches.latest(1)).toMatchObject([{ id, userOpHash: null, transactionHashes: [ZERO_HASH] }])
  })
})

describe('a sponsored batch that the bundler loses', () => {
  it('is submitted again once, and is 400 if it is lost again', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id, sent } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await it.ask('debug_bundler_clearState')
    expect(await now(it, id)).toMatchObject({ status: 100 })
    expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toHaveLength(1)
    await it.ask('debug_bundler_clearState')
    expect(await now(it, id)).toMatchObject({
      status: 400,
      capabilities: {
        status: { reason: 'dropped', calls: [{ outcome: 'dropped', transactionHash: null }] },
        userOperation: { success: null },
      },
    })
    expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toEqual([])
    expect(it.changes.map(({ status }) => status)).toEqual([400])
  })

  it('is 400 if the bundler drops it, with the reason', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await it.ask('anvil_setBalance', it.alice, '0x0')
    await it.ask('debug_bundler_sendBundleNow')
    const { status, capabilities } = await now(it, id)
    expect(status).toBe(400)
    expect(capabilities.status).toMatchObject({ reason: 'dropped', message: expect.stringContaining('AA21') })
  })

  it('is 400 if another operation has used its nonce', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    const rival = await operationOf(it.node, it.chain, it.alice, { calls: [send(RECIPIENT, 5n)], feeFactor: 2n })
    await submit(it.batches, it.chain, rival, { id: 'rival' })
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    expect(await now(it, 'rival')).toMatchObject({ status: 200 })
    expect((await now(it, id)).status).toBe(400)
    expect(BigInt((await it.ask('eth_getBalance', RECIPIENT, 'pending')) as string)).toBe(5n)
  })

  it('is 400 if its nonce was used while the wallet was closed, and is not submitted again', async () => {
    const it = await setup()
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await it.batches.close()
    await it.ask('debug_bundler_clearState')
    const elsewhere = batchesOf(it.node, {})
    const rival = await operationOf(it.node, it.chain, it.alice, { calls: [send(RECIPIENT, 5n)] })
    await submit(elsewhere.batches, it.chain, rival)
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    const again = batchesOf(it.node, { records: it.records })
    expect(await now(again, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'replaced' } } })
    await it.clock.advance(4_000)
    expect(await now(again, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'replaced' } } })
    expect(await it.ask('debug_bundler_dumpMempool', rival.entryPoint)).toEqual([])
  })
})

describe('a sponsored batch whose pre-confirmation was reverted', () => {
  it('is 100 again while its bundle waits in the pool, then 200', async () => {
    const it = await setup()
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await bundled(it, hash)
    await it.clock.advance(200)
    expect(await now(it, id)).toMatchObject({ status: 200 })
    await it.node.chain.promises.retract('all')
    expect(await now(it, id)).toMatchObject({
      status: 100,
      capabilities: {
        status: { confirmation: 'none', reason: 'retracted', calls: [{ transactionHash: null }] },
        userOperation: { success: null },
      },
    })
    await it.clock.advance(400)
    expect(await now(it, id)).toMatchObject({ status: 200, capabilities: { status: { reason: null } } })
    expect(it.changes.map(({ status }) => status)).toEqual([200, 100, 200])
    expect(BigInt((await it.ask('eth_getBalance', RECIPIENT, 'pending')) as string)).toBe(1n)
  })

  it.each(['evm_revert', 'anvil_reorg'])('is 400 after %s has removed it, sealed or not, and is not submitted again', async (method) => {
    for (const ms of [200, 4_000]) {
      const it = await setup()
      await it.clock.advance(4_000)
      const snapshot = await it.ask('evm_snapshot')
      const { id, hash, sent } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
      await bundled(it, hash)
      await it.clock.advance(200)
      expect(await now(it, id)).toMatchObject({ status: 200 })
      // The bundler has processed the removal.
      await expect.poll(() => it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toEqual([])
      await it.clock.advance(ms - 200)
      expect(await now(it, id)).toMatchObject({ status: 200 })
      await it.ask(method, ...(method === 'evm_revert' ? [snapshot] : [ms === 200 ? 1 : 2, []]))
      expect(await now(it, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'dropped' } } })
      expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toEqual([])
      expect(it.changes.map(({ status }) => status)).toEqual([200, 400])
    }
  })
})

describe('an external bundler', () => {
  const without =
    (methods: readonly string[], override: (method: string) => unknown = () => undefined) =>
    (chain: WalletChain): WalletChain => ({
      ...chain,
      isEmbedded: false,
      rpc: answering(chain.rpc, (method) => {
        if (methods.includes(method)) throw new RpcError(-32601, `the method ${method} does not exist`)
        return override(method)
      }),
    })

  it('that does not report pending operations gets one again after a while', async () => {
    let time = 1_700_000_000_000
    const it = await setup({ chain: without(['pimlico_getUserOperationStatus']), now: () => time })
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id, sent } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await it.ask('debug_bundler_clearState')
    expect(await now(it, id)).toMatchObject({ status: 100 })
    expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toEqual([])
    time += UNKNOWN_MS
    expect(await now(it, id)).toMatchObject({ status: 100 })
    expect(await it.ask('debug_bundler_dumpMempool', sent.entryPoint)).toHaveLength(1)
    time += UNKNOWN_MS
    // The bundler has the operation and rejects it as already known.
    expect(await now(it, id)).toMatchObject({ status: 100 })
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    expect(await now(it, id)).toMatchObject({ status: 200 })
  })

  it('does not keep a batch pending if a sealed block has another operation with its nonce', async () => {
    const it = await setup({ chain: without(['pimlico_getUserOperationStatus']), now: () => 1_700_000_000_000 })
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    const { id } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    const rival = await operationOf(it.node, it.chain, it.alice, { calls: [send(RECIPIENT, 5n)], feeFactor: 2n })
    await submit(batchesOf(it.node, {}).batches, it.chain, rival)
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    // A pre-confirmed operation does not suffice: it may be reverted.
    expect(await now(it, id)).toMatchObject({ status: 100 })
    await it.clock.advance(4_000)
    expect(await now(it, id)).toMatchObject({ status: 400, capabilities: { status: { reason: 'replaced' } } })
  })

  it('that cannot be reached leaves the status unchanged', async () => {
    let isDown = false
    const it = await setup({
      chain: without([], () => {
        if (isDown) throw new RpcError(-32000, 'down', { reason: 'unreachable' })
      }),
    })
    const { id, hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    await bundled(it, hash)
    isDown = true
    await it.clock.advance(200)
    expect(await now(it, id)).toMatchObject({ status: 100 })
    isDown = false
    expect(await now(it, id)).toMatchObject({ status: 200 })
  })
})

describe('the nonce of the next operation', () => {
  it('is behind those of waiting operations, and is reused when they are lost', async () => {
    const it = await setup()
    const { batches, chain, alice, bob } = it
    await it.ask('debug_bundler_setBundlingMode', 'manual')
    expect(await batches.nextOperationNonce(chain, alice)).toBe(0n)
    await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    expect(await batches.nextOperationNonce(chain, alice)).toBe(1n)
    expect(await batches.nextOperationNonce(chain, bob)).toBe(0n)
    await it.ask('debug_bundler_sendBundleNow')
    await it.clock.advance(200)
    expect(await batches.nextOperationNonce(chain, alice)).toBe(1n)
    const second = await submitted(it, { calls: [send(RECIPIENT, 2n)], nonce: 1n })
    const third = await submitted(it, { calls: [send(RECIPIENT, 3n)], nonce: 2n })
    expect(await batches.nextOperationNonce(chain, alice)).toBe(3n)
    for (let i = 0; i < 2; i++) {
      await it.ask('debug_bundler_sendBundleNow')
      await it.clock.advance(200)
    }
    expect(await now(it, second.id)).toMatchObject({ status: 200 })
    expect(await now(it, third.id)).toMatchObject({ status: 200 })
    const lost = await submitted(it, { calls: [send(RECIPIENT, 4n)], nonce: 3n })
    expect(await batches.nextOperationNonce(chain, alice)).toBe(4n)
    for (let i = 0; i < 2; i++) {
      await it.ask('debug_bundler_clearState')
      await now(it, lost.id)
    }
    expect(await batches.nextOperationNonce(chain, alice)).toBe(3n)
  })

  it('is 0 on a chain without the EntryPoint', async () => {
    const it = await setup()
    expect(await it.batches.nextOperationNonce(it.chain, it.alice, RECIPIENT)).toBe(0n)
  })
})

describe('an account that an operation upgrades', () => {
  it('sends nothing else before its block', async () => {
    const it = await setup()
    const { hash } = await submitted(it, { calls: [send(RECIPIENT, 1n)] })
    let isIncludedOrDropped = false
    const upgraded = it.batches.waitForUpgrade(it.chain, it.alice).finally(() => (isIncludedOrDropped = true))
    await it.batches.waitForUpgrade(it.chain, it.bob)
    await bundled(it, hash)
    expect(isIncludedOrDropped).toBe(false)
    await it.clock.advance(200)
    await upgraded
    // The second operation has no authorization, so it delays nothing.
    await submitted(it, { calls: [send(RECIPIENT, 1n)], nonce: 1n })
    await it.batches.waitForUpgrade(it.chain, it.alice)
  })
})
