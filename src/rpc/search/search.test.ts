import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { ALICE, testNode } from '../node.fixture.ts'
import type { TestNode, TestNodeOptions } from '../node.fixture.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { pageAfter, pageBefore } from './paging.ts'
import { deploying, INIT, program } from './program.fixture.ts'
import type { Instruction } from './program.fixture.ts'
import { TransactionSearch } from './search.ts'

// The comparison with anvil is in test/conformance/innercalls.test.ts.

const PAID = Address.from('0x00000000000000000000000000000000000fa1d0')
const IDENTITY = Address.from('0x0000000000000000000000000000000000000004')
const NOBODY = Address.from('0x00000000000000000000000000000000000a11ce')

interface Page {
  readonly txs: readonly { readonly hash: Hash; readonly blockNumber: Hex }[]
}

const nodes: TestNode[] = []

afterEach(async () => {
  for (const { rpc, chain, bugs } of nodes.splice(0)) {
    await rpc.close()
    await chain.stop()
    expect(bugs).toEqual([])
  }
})

async function started(options: TestNodeOptions = {}): Promise<TestNode> {
  const node = await testNode(options)
  nodes.push(node)
  return node
}

function sent(node: TestNode, request: object): Promise<unknown> {
  return node.ask('eth_sendTransaction', { from: ALICE, gas: '0x40000', ...request })
}

async function mined(node: TestNode, request: object): Promise<unknown> {
  const hash = await sent(node, request)
  await node.ask('evm_mine')
  return hash
}

/** Deploys a contract that pays PAID, and calls it in so many blocks. Returns the hashes of the calls. */
async function paying(node: TestNode, calls: number): Promise<readonly unknown[]> {
  const { nonce } = node.chain.head.view.state(node.chain.head.view.head).account(ALICE) ?? { nonce: 0n }
  await mined(node, { data: deploying(program([{ kind: 'call', to: PAID, value: 0 }])) })
  const hashes: unknown[] = []
  for (let i = 0; i < calls; i++) hashes.push(await mined(node, { to: Address.create(ALICE, nonce) }))
  return hashes
}

async function found(node: TestNode, address: Address, method = 'ots_searchTransactionsBefore', size = 100): Promise<readonly Hash[]> {
  const { txs } = (await node.ask(method, address, 0, size)) as Page // its shape is tested with the method
  return txs.map(({ hash }) => hash)
}

interface Frame {
  readonly type: string
  readonly from: Address
  readonly to?: Address
  readonly error?: string
  readonly calls?: readonly Frame[]
}

function* partiesOf(frame: Frame): Iterable<Address> {
  yield frame.from
  const isHalted = frame.error !== undefined && frame.error !== 'execution reverted'
  if (frame.to !== undefined && !(frame.type.startsWith('CREATE') && isHalted)) yield frame.to
  for (const call of frame.calls ?? []) yield* partiesOf(call)
}

/** Traces every block. Returns the transactions of each address, the newest first. */
async function traced(node: TestNode): Promise<ReadonlyMap<Address, readonly Hash[]>> {
  const all = new Map<Address, Hash[]>()
  for (let number = node.chain.head.view.head.header.number; number > 0; number--) {
    const block = node.chain.head.view.byNumber(number)!
    const traces = (await node.ask('debug_traceBlockByNumber', Hex.fromQuantity(number), { tracer: 'callTracer' })) as { result: Frame }[] // geth's
    for (let index = traces.length - 1; index >= 0; index--) {
      const { hash } = block.transactions[index]!
      const { contractAddress } = block.receipts[index]!
      const parties = new Set([...partiesOf(traces[index]!.result), ...(contractAddress === null ? [] : [contractAddress])])
      for (const party of parties) all.set(party, [...(all.get(party) ?? []), hash])
    }
  }
  return all
}

/** Contracts that ALICE's first transactions create, if they do, and others. */
const ADDRESSES = [ALICE, PAID, IDENTITY, ...Array.from({ length: 8 }, (_, nonce) => Address.create(ALICE, BigInt(nonce)))]
const address = fc.constantFrom(...ADDRESSES)
const value = fc.nat({ max: 3 })
const init = fc.constantFrom(INIT.stop, INIT.revert, INIT.halt)
const instruction: fc.Arbitrary<Instruction> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constantFrom('call' as const, 'callcode' as const), to: address, value }), weight: 4 },
  { arbitrary: fc.record({ kind: fc.constantFrom('delegatecall' as const, 'staticcall' as const), to: address }), weight: 4 },
  { arbitrary: fc.record({ kind: fc.constantFrom('create' as const, 'create2' as const), init, value }), weight: 2 },
  fc.record({ kind: fc.constant('selfdestruct' as const), to: address }),
  fc.record({ kind: fc.constantFrom('revert' as const, 'invalid' as const) }),
)
const code = fc.array(instruction, { maxLength: 4 }).map(program)
const step = fc.oneof(
  fc.record({ kind: fc.constant('deploy' as const), code }),
  { arbitrary: fc.record({ kind: fc.constant('call' as const), to: address }), weight: 3 },
  fc.record({ kind: fc.constant('run' as const), code }),
  { arbitrary: fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 3 }) }), weight: 4 },
  fc.record({ kind: fc.constantFrom('snapshot' as const, 'revert' as const) }),
  {
    arbitrary: fc.record({
      kind: fc.constant('search' as const),
      address,
      method: fc.constantFrom('ots_searchTransactionsBefore', 'ots_searchTransactionsAfter'),
      block: fc.nat({ max: 20 }),
      size: fc.integer({ min: 1, max: 4 }),
    }),
    weight: 4,
  },
)

test('an address is found in the transactions whose traces have it, regardless of the order of searches, blocks and reverts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const node = await started()
      const snapshots: unknown[] = []
      for (const each of steps) {
        if (each.kind === 'deploy') await sent(node, { data: deploying(each.code), value: '0x0' })
        else if (each.kind === 'run') await sent(node, { data: each.code })
        else if (each.kind === 'call') await sent(node, { to: each.to, value: '0x3' })
        else if (each.kind === 'mine') for (let i = 0; i < each.blocks; i++) await node.ask('evm_mine')
        else if (each.kind === 'search') await node.ask(each.method, each.address, each.block, each.size)
        else if (each.kind === 'snapshot') snapshots.push(await node.ask('evm_snapshot'))
        else if (snapshots.length > 0) await node.ask('evm_revert', snapshots.pop())
      }
      await node.ask('evm_mine')
      const expected = await traced(node)
      for (const each of new Set([...ADDRESSES, NOBODY, ...expected.keys()])) {
        for (const method of ['ots_searchTransactionsBefore', 'ots_searchTransactionsAfter']) {
          expect(await found(node, each, method), `${method} ${each}`).toEqual(expected.get(each) ?? [])
        }
      }
    }),
    { seed: 1, numRuns: 60 },
  )
}, 60_000)

describe('a search', () => {
  test('executes only as many blocks as fill the page', async () => {
    const node = await started()
    const hashes = await paying(node, 20)
    const search = new TransactionSearch({ chain: node.chain, workers: null }, { timeMs: 0 })
    // With no time a request that needs more than one block ends with an error.
    expect(JSON.parse((await pageBefore(search, PAID, 0, 1)).text)).toMatchObject({ txs: [{ hash: hashes.at(-1) }], lastPage: false })
    await expect(pageBefore(search, PAID, 0, 3)).rejects.toMatchObject({ code: -32_000, data: { fromBlock: 1, toBlock: 19 } })
    expect(JSON.parse((await pageBefore(search, PAID, 0, 2)).text)).toMatchObject({ txs: [{}, {}], lastPage: false })
    // The deployment.
    await expect(pageAfter(search, PAID, 0, 1)).rejects.toMatchObject({ data: { fromBlock: 2, toBlock: 21 } })
    expect(JSON.parse((await pageAfter(search, PAID, 0, 1)).text)).toMatchObject({ txs: [{ hash: hashes[0] }], firstPage: false })
    search.close()
  })

  test('that runs out of time says which blocks are left, and the next one continues there', async () => {
    const node = await started()
    await paying(node, 5)
    const search = new TransactionSearch({ chain: node.chain, workers: null }, { timeMs: 0 })
    const left: unknown[] = []
    const attempt = () => pageBefore(search, NOBODY, 0, 1).catch((error: RpcError) => void left.push(error.data))
    let page = await attempt()
    while (page === undefined) page = await attempt()
    expect(left).toEqual([5, 4, 3, 2, 1].map((toBlock) => ({ fromBlock: 1, toBlock })))
    expect(JSON.parse(page.text)).toMatchObject({ txs: [], firstPage: true, lastPage: true })
    await expect(pageAfter(search, NOBODY, 0, 1)).resolves.toBeDefined()
    search.close()
  })

  test('finds the same with an index that holds only a few blocks', async () => {
    const node = await started()
    const hashes = await paying(node, 12)
    const search = new TransactionSearch({ chain: node.chain, workers: null }, { indexBytes: 600 })
    for (let i = 0; i < 2; i++) {
      for (const page of [pageBefore, pageAfter]) {
        const { txs } = JSON.parse((await page(search, PAID, 0, 100)).text) as Page // our own text
        expect(txs.map(({ hash }) => hash)).toEqual(hashes.toReversed())
      }
    }
    search.close()
  })

  test('finds only senders and receivers in blocks whose state was pruned before they were searched', async () => {
    const node = await started({ historyBlocks: 4 })
    const hashes = await paying(node, 10)
    expect(await found(node, PAID)).toEqual(hashes.slice(-4).toReversed())
    expect(await found(node, PAID, 'ots_searchTransactionsAfter')).toEqual(hashes.slice(-4).toReversed())
    expect(await found(node, ALICE)).toHaveLength(11)
    await node.ask('anvil_mine', 10)
    // These blocks were searched while their state was kept.
    expect(await found(node, PAID)).toEqual(hashes.slice(-4).toReversed())
    const late = await started({ historyBlocks: 4 })
    await paying(late, 10)
    await late.ask('anvil_mine', 10)
    expect(await found(late, PAID, 'ots_searchTransactionsAfter')).toEqual([])
    expect(await found(late, PAID)).toEqual([])
  })

  test('is answered from the new chain if the chain is rewound meanwhile', async () => {
    const node = await started()
    const kept = await paying(node, 3)
    const snapshot = await node.ask('evm_snapshot')
    await paying(node, 3)
    const searches = [found(node, PAID), found(node, PAID, 'ots_searchTransactionsAfter')]
    await node.ask('evm_revert', snapshot)
    const instead = await mined(node, { to: NOBODY })
    for (const hashes of await Promise.all(searches)) expect(hashes).toEqual(kept.toReversed())
    expect(await found(node, NOBODY)).toEqual([instead])
  })

  test('of many clients at once has the results of one', async () => {
    const node = await started()
    const hashes = await paying(node, 30)
    const searches = Array.from({ length: 20 }, (_, i) => found(node, PAID, `ots_searchTransactions${i % 2 === 0 ? 'Before' : 'After'}`))
    for (const each of await Promise.all(searches)) expect(each).toEqual(hashes.toReversed())
  })

  test('finds calls in blocks after a change of code by a test', async () => {
    const node = await started()
    await mined(node, { to: NOBODY })
    await node.ask('anvil_setCode', NOBODY, program([{ kind: 'staticcall', to: PAID }]))
    const hash = await mined(node, { to: NOBODY })
    await node.ask('anvil_setCode', NOBODY, '0x')
    await mined(node, { to: NOBODY })
    expect(await found(node, PAID)).toEqual([hash])
  })
})
