import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Hex } from '../../src/eth/index.ts'
import { DO, HEIR, OTTER_INIT_CODE, PAID } from '../../src/rpc/otterscan.fixture.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

// Sends the same transactions to pocketchain and to anvil and compares the responses to Otterscan's methods. Where anvil is wrong (pages of blocks, the
// transaction itself among the internal operations, creations missing among the calls), the reference is erigon, for which Otterscan was written, and
// the expected values are written out in this file.

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const NOBODY = '0x00000000000000000000000000000000000a11ce'

type Ask = <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>
type Json = Readonly<Record<string, unknown>>

interface Scene {
  readonly ask: Ask
  readonly contract: string
  /** transaction hashes by action */
  readonly hashes: ReadonlyMap<string, string>
  /** the block of several transactions */
  readonly full: number
}

let ours: Scene
let theirs: Scene
let node: RunningNode
let anvil: RunningAnvil
const folder = mkdtempSync(join(tmpdir(), 'pocketchain-otterscan-'))

beforeAll(async () => {
  node = await startNode({ cadence: 'manual', workers: 0, data: folder })
  ours = await played(async <T>(...call: Parameters<Ask>) => (await node.ask(...call)) as T)
  if (ANVIL === null) return
  anvil = await startAnvil('--no-mining')
  theirs = await played(anvil.ask)
})

afterAll(async () => {
  await node[Symbol.asyncDispose]()
  if (ANVIL !== null) await anvil[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function played(ask: Ask): Promise<Scene> {
  const hashes = new Map<string, string>()
  const send = async (name: string, request: object) => {
    hashes.set(name, await ask<string>('eth_sendTransaction', { from: ALICE, gas: '0x100000', ...request }))
    return hashes.get(name)
  }
  const mined = async (name: string, request: object) => {
    const hash = await send(name, request)
    await ask('evm_mine')
    return ask<Json>('eth_getTransactionReceipt', hash)
  }
  const { contractAddress } = await mined('deploy', { data: Hex.fromBytes(OTTER_INIT_CODE) })
  const contract = contractAddress as string // not null for a creation
  await mined('fund', { to: contract, value: '0x64' })
  for (const name of ['everything', 'payAndRevert', 'callThatReverts', 'createInVain'] as const)
    await mined(name, { to: contract, data: DO[name] })
  for (let i = 0; i < 5; i++) await send(`many ${i}`, { to: i % 2 === 0 ? PAID : HEIR, value: '0x1', data: '0x1122334455' })
  await ask('evm_mine')
  const full = Number(await ask('eth_blockNumber'))
  await mined('self', { to: ALICE, value: '0x1' })
  await mined('selfDestruct', { to: contract, data: DO.selfDestruct })
  return { ask, contract, hashes, full }
}

/** Returns the method's response for each transaction, by action. */
async function ofEach(scene: Scene, method: string): Promise<Readonly<Record<string, unknown>>> {
  const { ask, hashes } = scene
  const entries = await Promise.all([...hashes].map(async ([name, hash]) => [name, await ask(method, hash)] as const))
  return Object.fromEntries(entries)
}

/** Replaces hashes with names. */
function readable<T>({ hashes }: Scene, value: T): T {
  let text = JSON.stringify(value)
  for (const [name, hash] of hashes) text = text.replaceAll(hash, name)
  return JSON.parse(text) as T // only string values differ
}

interface Call {
  readonly type: string
  readonly depth: number
  readonly from: string
  readonly to: string
  readonly value: string | null
  readonly input: string
  readonly output: string
}

interface Page {
  readonly txs: readonly Json[]
  readonly receipts: readonly Json[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

interface BlockPage {
  readonly fullblock: { readonly transactions: readonly Json[]; readonly transactionCount: number }
  readonly receipts: readonly Json[]
}

describe.skipIf(ANVIL === null)('equals the response of anvil', () => {
  test('for the API level and the existence of code', async () => {
    for (const { ask, contract } of [ours, theirs]) {
      expect(await ask('ots_getApiLevel')).toBe(8)
      const known = [
        await ask('ots_hasCode', contract, 'latest'),
        await ask('ots_hasCode', contract),
        await ask('ots_hasCode', contract, 0),
        await ask('ots_hasCode', ALICE, 1),
      ]
      expect(known).toEqual([true, true, false, false])
    }
  })

  test('for the keys of a block, its fees and a header', async () => {
    const [mine, other] = [await ours.ask<Json>('ots_getBlockDetails', 2), await theirs.ask<Json>('ots_getBlockDetails', 2)]
    expect(Object.keys(mine).toSorted()).toEqual(Object.keys(other).toSorted())
    expect(Object.keys(mine['block'] as object)).toEqual(expect.arrayContaining(Object.keys(other['block'] as object)))
    expect(mine['block']).not.toHaveProperty('transactions')
    expect(mine['issuance']).toEqual(other['issuance'])
    const block = await ours.ask<Json>('eth_getBlockByNumber', '0x2', false)
    expect(mine['block']).toMatchObject({ hash: block['hash'], transactionCount: (block['transactions'] as readonly unknown[]).length })
    expect(await ours.ask('ots_getBlockDetailsByHash', block['hash'])).toEqual(mine)
    expect(await ours.ask('erigon_getHeaderByNumber', 2)).toMatchObject({ hash: block['hash'], number: '0x2' })
    for (const { ask } of [ours, theirs]) {
      const { totalFees } = await ask<Json>('ots_getBlockDetails', '0x2')
      const receipts = await ask<readonly Json[]>('eth_getBlockReceipts', '0x2')
      const fees = receipts.map(({ gasUsed, effectiveGasPrice }) => BigInt(gasUsed as string) * BigInt(effectiveGasPrice as string))
      expect(BigInt(totalFees as string)).toBe(fees.reduce((sum, fee) => sum + fee))
    }
  })

  test('for calls, except creations and self-destructions, which anvil omits', async () => {
    const [mine, other] = [await ofEach(ours, 'ots_traceTransaction'), await ofEach(theirs, 'ots_traceTransaction')]
    for (const [name, calls] of Object.entries(mine)) {
      const shared = (calls as readonly Call[]).filter(({ type }) => !/CREATE|SELFDESTRUCT/.test(type))
      expect(
        shared.map((call) => ({ ...call, value: call.value ?? '0x0' })),
        name,
      ).toEqual(other[name])
    }
  })

  test('for internal operations, except the transaction itself, which anvil includes', async () => {
    const [mine, other] = [await ofEach(ours, 'ots_getInternalOperations'), await ofEach(theirs, 'ots_getInternalOperations')]
    for (const name of ['everything', 'payAndRevert', 'callThatReverts', 'selfDestruct', 'createInVain']) {
      expect(mine[name], name).toEqual(other[name])
      expect(mine[name], name).not.toEqual([])
    }
    for (const name of ['deploy', 'fund', 'self', 'many 0']) expect(mine[name], name).toEqual([])
  })

  test('for the revert data of a transaction', async () => {
    const mine = await ofEach(ours, 'ots_getTransactionError')
    expect(mine).toEqual(await ofEach(theirs, 'ots_getTransactionError'))
    expect(mine).toMatchObject({ payAndRevert: '0xdeadbeef', callThatReverts: '0x', fund: '0x' })
  })

  test('for transactions by sender and nonce', async () => {
    const answers = [ours, theirs].map(async (scene) => {
      const found: unknown[] = []
      for (let nonce = 0; nonce <= scene.hashes.size; nonce++)
        found.push(await scene.ask('ots_getTransactionBySenderAndNonce', ALICE, nonce))
      expect(await scene.ask('ots_getTransactionBySenderAndNonce', PAID, 0)).toBe(null)
      return readable(scene, found)
    })
    const [mine, other] = await Promise.all(answers)
    expect(mine).toEqual([...ours.hashes.keys(), null])
    expect(mine).toEqual(other)
  })

  test('for the creator of a contract, an account or another contract', async () => {
    const answers = [ours, theirs].map(async (scene) => {
      const operations = await scene.ask<readonly Json[]>('ots_getInternalOperations', scene.hashes.get('everything'))
      const inner = operations.filter(({ type }) => type === 2 || type === 3).map(({ to }) => to)
      expect(inner).toHaveLength(2)
      const creators = await Promise.all([scene.contract, ...inner, ALICE].map((address) => scene.ask('ots_getContractCreator', address)))
      return readable(scene, creators)
    })
    const [mine, other] = await Promise.all(answers)
    expect(mine).toEqual(other)
    expect(mine).toMatchObject([{ hash: 'deploy', creator: ALICE }, { hash: 'everything' }, { hash: 'everything' }, null])
  })

  test('for the transactions of an address', async () => {
    const answers = [ours, theirs].map(async (scene) => {
      const { txs, receipts, firstPage, lastPage } = await scene.ask<Page>('ots_searchTransactionsBefore', ALICE, 0, 100)
      expect(Object.keys(receipts[0] ?? {})).toContain('timestamp')
      expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(txs.map(({ hash }) => hash))
      return { firstPage, lastPage, txs: readable(scene, txs.map(({ hash }) => hash)) } // prettier-ignore
    })
    const [mine, other] = await Promise.all(answers)
    expect(mine).toEqual(other)
    expect(mine?.txs).toEqual([...ours.hashes.keys()].toReversed())
  })
})

describe('equals the response of erigon', () => {
  test('for every call of a trace', async () => {
    const calls = await ours.ask<readonly Call[]>('ots_traceTransaction', ours.hashes.get('everything'))
    expect(calls.map(({ type, depth, value }) => [type, depth, value])).toEqual([
      ['CALL', 0, '0x0'],
      ['CALL', 1, '0x5'],
      ['CREATE', 1, '0x3'],
      ['CREATE2', 1, '0x2'],
      ['STATICCALL', 1, null],
      ['DELEGATECALL', 1, null],
      ['CALLCODE', 1, '0x1'],
    ])
    const vain = await ours.ask<readonly Call[]>('ots_traceTransaction', ours.hashes.get('createInVain'))
    expect(vain[1]).toMatchObject({ type: 'CREATE', from: ours.contract, to: expect.stringMatching(/^0x/), value: '0x1' })
    const [, left] = await ours.ask<readonly Call[]>('ots_traceTransaction', ours.hashes.get('selfDestruct'))
    expect(left).toMatchObject({ type: 'SELFDESTRUCT', depth: 1, from: ours.contract, to: HEIR })
  })

  test('for pages of a block, which start at its end and count all its transactions', async () => {
    const { transactions } = await ours.ask<{ transactions: readonly Json[] }>('eth_getBlockByNumber', Hex.fromQuantity(ours.full), true)
    expect(transactions.length).toBeGreaterThanOrEqual(5)
    const found: Json[] = []
    for (let page = 0; ; page++) {
      const { fullblock, receipts } = await ours.ask<BlockPage>('ots_getBlockTransactions', ours.full, page, 2)
      expect(fullblock.transactionCount).toBe(transactions.length)
      expect(receipts.map(({ transactionHash }) => transactionHash)).toEqual(fullblock.transactions.map(({ hash }) => hash))
      if (receipts.length === 0) break
      found.unshift(...fullblock.transactions)
    }
    expect(found).toEqual(transactions.map((tx) => ({ ...tx, input: (tx['input'] as string).slice(0, 10) })))
    expect(found.at(-1)).toMatchObject({ input: '0x11223344' })
  })

  test('for a missing object: null, an empty page or an error', async () => {
    expect(await ours.ask('ots_getBlockDetails', 1_000)).toBe(null)
    expect(await ours.ask('ots_getBlockDetailsByHash', ours.hashes.get('fund'))).toBe(null)
    expect(await ours.ask('ots_getBlockTransactions', 1_000, 0, 25)).toBe(null)
    expect(await ours.ask('ots_getContractCreator', NOBODY)).toBe(null)
    const nothing = { txs: [], receipts: [], firstPage: true, lastPage: true }
    expect(await ours.ask('ots_searchTransactionsBefore', NOBODY, 0, 25)).toEqual(nothing)
    // As in anvil, the page does not reach the oldest block.
    expect(await ours.ask('ots_searchTransactionsAfter', NOBODY, 3, 25)).toEqual({ ...nothing, lastPage: false })
    await expect(ours.ask('ots_traceTransaction', `0x${'11'.repeat(32)}`)).rejects.toThrow('-32000 transaction not found')
    await expect(ours.ask('ots_searchTransactionsBefore', ALICE, 0, 101)).rejects.toThrow('a page has 1 to 100 transactions, not 101')
    await expect(ours.ask('ots_searchTransactionsAfter', ALICE, 0, 0)).rejects.toThrow('a page has 1 to 100 transactions, not 0')
  })
})

// Must be the last test: it replaces the node that the other tests use.
test('a reopened node returns the same responses', async () => {
  const questions: readonly Parameters<Ask>[] = [
    ['ots_searchTransactionsBefore', ALICE, 0, 100],
    ['ots_searchTransactionsAfter', ours.contract, 2, 2],
    ['ots_getTransactionBySenderAndNonce', ALICE, 7],
    ['ots_getContractCreator', ours.contract],
    ['ots_traceTransaction', ours.hashes.get('everything')],
  ]
  const before = await Promise.all(questions.map((question) => ours.ask(...question)))
  await node[Symbol.asyncDispose]()
  node = await startNode({ cadence: 'manual', workers: 0, data: folder })
  expect(await Promise.all(questions.map((question) => node.ask(...question)))).toEqual(before)
})
