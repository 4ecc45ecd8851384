import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Address } from '../../src/eth/index.ts'
import type { Hex } from '../../src/eth/index.ts'
import { deploying, INIT, program } from '../../src/rpc/search/program.fixture.ts'
import type { Instruction } from '../../src/rpc/search/program.fixture.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { post, startNode } from '../node.fixture.ts'
import type { Call, RunningNode } from '../node.fixture.ts'

// Sends the same transactions with inner calls to pocketchain and to anvil, and compares all pages of all addresses. Differences, in which pocketchain
// follows erigon: a page of ots_searchTransactionsAfter is in descending order within a block, too, and the beneficiary of a self-destruction is found.

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const IDENTITY = Address.from('0x0000000000000000000000000000000000000004')
const PAID = Address.from('0x00000000000000000000000000000000000fa1d0')
const HEIR = Address.from('0x00000000000000000000000000000000000fe1e0')
const LOGIC_HEIR = Address.from('0x00000000000000000000000000000000000fe1e1')
const STRANGER = Address.from('0x00000000000000000000000000000000000a11ce')

type Ask = <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>

interface Page {
  readonly txs: readonly { readonly hash: string; readonly blockNumber: Hex }[]
  readonly receipts: readonly { readonly transactionHash: string }[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/** A page with names instead of hashes. */
interface NamedPage {
  readonly txs: readonly string[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/** The contracts, in the order of ALICE's transactions that deploy them. */
const NAMES = [
  'target', 'payer', 'logic', 'proxy', 'reader', 'factory', 'poor', 'failing', 'halting', 'catching', 'destroyed', 'destroyer', 'lastWill',
  'destroyingProxy', 'nested',
] as const // prettier-ignore

/** The code of each. */
const CONTRACTS = {
  target: [],
  payer: [{ kind: 'call', to: PAID, value: 5 }],
  logic: [{ kind: 'call', to: PAID, value: 1 }],
  proxy: [{ kind: 'delegatecall', to: contract('logic') }],
  reader: [
    { kind: 'staticcall', to: contract('target') },
    { kind: 'staticcall', to: IDENTITY },
    { kind: 'callcode', to: contract('target'), value: 1 },
  ],
  factory: [
    { kind: 'create', init: INIT.stop, value: 3 },
    { kind: 'create2', init: INIT.stop, value: 2 },
    { kind: 'create', init: INIT.revert, value: 1 },
    { kind: 'create', init: INIT.halt, value: 1 },
  ],
  poor: [
    { kind: 'call', to: PAID, value: 9 },
    { kind: 'create', init: INIT.stop, value: 9 },
  ],
  failing: [{ kind: 'call', to: contract('payer'), value: 0 }, { kind: 'revert' }],
  halting: [{ kind: 'call', to: contract('payer'), value: 0 }, { kind: 'invalid' }],
  catching: [
    { kind: 'call', to: contract('failing'), value: 0 },
    { kind: 'call', to: contract('halting'), value: 0 },
  ],
  destroyed: [{ kind: 'selfdestruct', to: HEIR }],
  destroyer: [{ kind: 'call', to: contract('destroyed'), value: 0 }],
  lastWill: [{ kind: 'selfdestruct', to: LOGIC_HEIR }],
  destroyingProxy: [{ kind: 'delegatecall', to: contract('lastWill') }],
  nested: [
    { kind: 'call', to: contract('proxy'), value: 0 },
    { kind: 'call', to: contract('catching'), value: 0 },
    { kind: 'delegatecall', to: contract('factory') },
  ],
} satisfies Record<string, readonly Instruction[]>

function contract(name: string): Address {
  return Address.create(ALICE, BigInt(NAMES.findIndex((each) => each === name)))
}

interface Scene {
  readonly ask: Ask
  readonly askAll: (calls: readonly Call[]) => Promise<readonly unknown[]>
  /** by transaction hash */
  readonly names: Map<string, string>
}

let ours: Scene
let theirs: Scene
let node: RunningNode
let anvil: RunningAnvil

beforeAll(async () => {
  node = await startNode({ cadence: 'manual', workers: 0 })
  ours = await played(node.url)
  if (ANVIL === null) return
  anvil = await startAnvil('--no-mining')
  theirs = await played(anvil.url)
})

afterAll(async () => {
  await node[Symbol.asyncDispose]()
  if (ANVIL !== null) await anvil[Symbol.asyncDispose]()
})

async function played(url: string): Promise<Scene> {
  const askAll = (calls: readonly Call[]) => post(url, calls)
  const ask = async <T>(...call: Call) => (await askAll([call]))[0] as T // the type that the caller expects
  const scene: Scene = { ask, askAll, names: new Map() }
  const send = (name: string, request: object) => sendTransaction(scene, name, request)
  for (const name of NAMES) {
    await send(`deploy ${name}`, { data: deploying(program(CONTRACTS[name])), value: '0x0' })
    await ask('evm_mine')
  }
  for (const name of NAMES) await ask('anvil_setBalance', contract(name), name === 'poor' ? '0x4' : '0x40')
  for (const name of ['payer', 'proxy', 'reader', 'factory', 'poor', 'failing', 'halting', 'catching', 'nested']) {
    await sendCall(scene, `call ${name}`, name)
  }
  await ask('evm_mine')
  // A block of several transactions, and one created contract that calls.
  for (const name of ['proxy', 'payer', 'target', 'nested', 'proxy'])
    await send(`again ${name} ${scene.names.size}`, { to: contract(name) })
  await send('program', { data: program([{ kind: 'call', to: contract('proxy'), value: 0 }]) })
  await send('halted program', { data: program([{ kind: 'call', to: contract('payer'), value: 0 }, { kind: 'invalid' }]) })
  await send('failed program', { data: program([{ kind: 'call', to: contract('payer'), value: 0 }, { kind: 'revert' }]) })
  await ask('evm_mine')
  await send('call destroyer', { to: contract('destroyer') })
  await send('call destroyingProxy', { to: contract('destroyingProxy') })
  await ask('evm_mine')
  await ask('evm_mine')
  await ask('evm_mine')
  return scene
}

async function sendTransaction({ ask, names }: Scene, name: string, request: object): Promise<void> {
  names.set(await ask<string>('eth_sendTransaction', { from: ALICE, gas: '0x200000', ...request }), name)
}

/** Calls a contract in a block of its own. */
async function sendCall(scene: Scene, name: string, called: string): Promise<void> {
  await sendTransaction(scene, name, { to: contract(called) })
  await scene.ask('evm_mine')
}

function addresses(): readonly Address[] {
  const created = [1n, 2n, 3n, 4n].map((nonce) => Address.create(contract('factory'), nonce))
  const programs = Array.from({ length: 20 }, (_, i) => Address.create(ALICE, BigInt(NAMES.length + i)))
  return [ALICE, IDENTITY, PAID, STRANGER, ...NAMES.map(contract), ...created, ...programs, Address.create(contract('poor'), 1n)]
}

const BEFORE = 'ots_searchTransactionsBefore'
const AFTER = 'ots_searchTransactionsAfter'
const METHODS = [BEFORE, AFTER]
const SIZES = [1, 2, 3, 5, 25, 100]

async function pages(scene: Scene, queries: readonly Call[]): Promise<readonly NamedPage[]> {
  const answers = (await scene.askAll(queries)) as readonly Page[] // the tests check its shape
  return answers.map(({ txs, receipts, firstPage, lastPage }) => {
    expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(txs.map(({ hash }) => hash))
    return { firstPage, lastPage, txs: txs.map(({ hash, blockNumber }) => `${Number(blockNumber)}: ${scene.names.get(hash)}`) }
  })
}

/** Compares the pages from every block, in these sizes. Returns the names of the transactions. */
async function expectEqualPages(method: string, address: Address, sizes: readonly number[]): Promise<readonly string[]> {
  const isBefore = method === BEFORE
  const height = Number(await ours.ask('eth_blockNumber'))
  expect(Number(await theirs.ask('eth_blockNumber'))).toBe(height)
  const blocks = Array.from({ length: height + 3 }, (_, block) => block)
  const queries = blocks.flatMap((block) => sizes.map((size): Call => [method, address, block, size]))
  const [mine, other] = [await pages(ours, queries), await pages(theirs, queries)]
  for (const [i, query] of queries.entries()) {
    // Nothing is below block 1, but anvil answers that it was not the last page.
    const expected = { ...other[i]!, ...(isBefore && query[2] === 1 ? { lastPage: true } : undefined) }
    if (isBefore) expect(mine[i], JSON.stringify(query)).toEqual(expected)
    else expect(sorted(mine[i]!), JSON.stringify(query)).toEqual(sorted(expected))
  }
  return mine.flatMap(({ txs }) => txs.map((each) => each.slice(each.indexOf(' ') + 1)))
}

/** Does the same to both nodes. */
async function both(work: (scene: Scene) => Promise<unknown>): Promise<void> {
  for (const scene of [ours, theirs]) await work(scene)
}

/** In any order within a block. */
function sorted({ txs, ...flags }: NamedPage): NamedPage {
  const ofBlock = (name: string) => Number(name.split(':')[0])
  return { ...flags, txs: txs.toSorted((a, b) => ofBlock(b) - ofBlock(a) || (a < b ? -1 : 1)) }
}

describe.skipIf(ANVIL === null)('equals the response of anvil', () => {
  test.each(METHODS)('to %s, of all addresses, blocks and page sizes', async (method) => {
    const found = new Set<string>()
    for (const address of addresses()) for (const name of await expectEqualPages(method, address, SIZES)) found.add(name)
    expect([...found].toSorted()).toEqual([...ours.names.values()].toSorted())
  })

  test('after a revert, and after other blocks in the place of those', async () => {
    const snapshots = new Map<Scene, unknown>()
    const expectAllEqual = async () => {
      for (const method of METHODS)
        for (const name of ['proxy', 'payer', 'target'] as const) await expectEqualPages(method, contract(name), [2, 100])
    }
    await both(async (scene) => {
      snapshots.set(scene, await scene.ask('evm_snapshot'))
      for (const name of ['nested', 'reader']) await sendCall(scene, `reverted ${name}`, name)
    })
    await expectAllEqual()
    await both((scene) => scene.ask('evm_revert', snapshots.get(scene)))
    await expectAllEqual()
    await both((scene) => sendCall(scene, 'instead', 'factory'))
    await expectAllEqual()
    expect(await expectEqualPages(BEFORE, contract('target'), [100])).not.toContain('reverted reader')
    await both(async (scene) => {
      await sendCall(scene, 'reorganised', 'reader')
      await scene.ask('anvil_reorg', 1, [])
    })
    await expectAllEqual()
  })
})

describe.skipIf(ANVIL === null)('the flat traces of trace_ methods', () => {
  interface Entry {
    readonly action: object
    readonly transactionHash: string
    readonly traceAddress: readonly number[]
    readonly [key: string]: unknown
  }
  /** Without the place: blocks differ by their deposit, and so do hashes. */
  const shape = (scene: Scene, entries: readonly Entry[]) =>
    entries.map(({ action, result, error, subtraces, traceAddress, type, transactionHash }) => ({
      name: scene.names.get(transactionHash),
      action: Object.fromEntries(Object.entries(action).filter(([key]) => key !== 'creationMethod')),
      ...(error === undefined ? { result } : { error }),
      subtraces,
      traceAddress,
      type,
    }))
  const hashOf = (scene: Scene, wanted: string) => [...scene.names].find(([, name]) => name === wanted)?.[0] ?? ''

  test('of each transaction equal those of anvil, field by field', async () => {
    for (const name of ours.names.values()) {
      if ((await ours.ask('eth_getTransactionReceipt', hashOf(ours, name))) === null) continue // reverted by a test above
      const [mine, other] = await Promise.all(
        [ours, theirs].map(async (scene) => shape(scene, await scene.ask<readonly Entry[]>('trace_transaction', hashOf(scene, name)))),
      )
      expect(mine, name).toEqual(other)
      expect(mine, name).not.toEqual([])
    }
    expect(await ours.ask('trace_transaction', `0x${'12'.repeat(32)}`)).toEqual([])
  })

  test('of blocks, of filters and of one call are parts of them', async () => {
    const height = Number(await ours.ask('eth_blockNumber'))
    const range = { fromBlock: '0x0', toBlock: `0x${height.toString(16)}` }
    const known = (entries: readonly Entry[]) => entries.filter(({ transactionHash }) => ours.names.has(transactionHash))
    const blocks: Entry[] = []
    for (let number = 0; number <= height; number++)
      blocks.push(...known(await ours.ask<readonly Entry[]>('trace_block', `0x${number.toString(16)}`)))
    const all = known(await ours.ask<readonly Entry[]>('trace_filter', range))
    expect(all).toEqual(blocks)
    expect(new Set(all.map(({ transactionHash }) => transactionHash)).size).toBeGreaterThan(30)
    for (const filter of [{ toAddress: [contract('target')] }, { fromAddress: [contract('payer')], toAddress: [PAID] }]) {
      const [mine, other] = await Promise.all(
        [ours, theirs].map(async (scene) => shape(scene, await scene.ask<readonly Entry[]>('trace_filter', { ...range, ...filter }))),
      )
      expect(mine).toEqual(other)
      expect(mine?.length).toBeGreaterThan(2)
    }
    const page = await ours.ask<readonly Entry[]>('trace_filter', { ...range, toAddress: [PAID], after: 1, count: 2 })
    expect(page).toEqual((await ours.ask<readonly Entry[]>('trace_filter', { ...range, toAddress: [PAID] })).slice(1, 3))
    const both = await ours.ask<readonly Entry[]>('trace_filter', {
      ...range,
      fromAddress: [contract('payer')],
      toAddress: [PAID],
      mode: 'intersection',
    })
    expect(both.length).toBeGreaterThan(0)
    expect(both.every(({ action }) => 'to' in action && action.to === PAID && 'from' in action && action.from === contract('payer'))).toBe(
      true,
    )
    const [nested] = all.filter(
      ({ traceAddress, transactionHash }) => traceAddress.length === 2 && transactionHash === hashOf(ours, 'call nested'),
    )
    expect(
      await ours.ask(
        'trace_get',
        nested?.transactionHash,
        nested?.traceAddress.map((at) => `0x${at.toString(16)}`),
      ),
    ).toEqual(nested)
    expect(await ours.ask('trace_get', nested?.transactionHash, ['0x63'])).toBeNull()
  })

  test('of replays and of calls have the same calls', async () => {
    const unplaced = (entries: readonly Entry[]) =>
      entries.map(({ action, result, error, subtraces, traceAddress, type }) => ({
        action,
        ...(error === undefined ? {} : { error }),
        ...(result === undefined ? {} : { result }),
        subtraces,
        traceAddress,
        type,
      }))
    const hash = hashOf(ours, 'call nested')
    const placed = await ours.ask<readonly Entry[]>('trace_transaction', hash)
    const replay = await ours.ask<{ trace: readonly Entry[] }>('trace_replayTransaction', hash, ['trace'])
    expect(replay).toMatchObject({ stateDiff: null, vmTrace: null, output: '0x', trace: unplaced(placed) })
    const { blockNumber } = await ours.ask<{ blockNumber: string }>('eth_getTransactionByHash', hash)
    const block = await ours.ask<readonly { transactionHash: string; trace: unknown }[]>('trace_replayBlockTransactions', blockNumber, [
      'trace',
    ])
    expect(block.find(({ transactionHash }) => transactionHash === hash)?.trace).toEqual(replay.trace)
    const before = `0x${(Number(blockNumber) - 1).toString(16)}`
    const called = await ours.ask<{ trace: readonly Entry[] }>(
      'trace_call',
      { from: ALICE, to: contract('nested'), gas: '0x200000' },
      ['trace'],
      before,
    )
    expect(called.trace).toEqual(replay.trace)
  })
})

describe('as in erigon', () => {
  test('the beneficiary of a self-destruction is found, also behind a proxy', async () => {
    for (const [heir, name] of [
      [HEIR, 'call destroyer'],
      [LOGIC_HEIR, 'call destroyingProxy'],
    ] as const) {
      const [page] = await pages(ours, [[BEFORE, heir, 0, 25]])
      expect(page?.txs).toEqual([expect.stringMatching(`^\\d+: ${name}$`)])
      if (ANVIL !== null) expect((await pages(theirs, [[BEFORE, heir, 0, 25]]))[0]?.txs).toEqual([])
    }
  })

  test('the newest transaction of a block comes first in both directions', async () => {
    const [before, after] = await pages(ours, [
      [BEFORE, contract('logic'), 0, 100],
      [AFTER, contract('logic'), 0, 100],
    ])
    expect(after?.txs).toEqual(before?.txs)
    expect(before?.txs.filter((name) => name.includes('again proxy'))).toHaveLength(2)
    expect(before?.txs.findIndex((name) => name.includes('program'))).toBeLessThan(
      before!.txs.findIndex((name) => name.includes('again proxy')),
    )
  })
})
