import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { createTestClient, createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LOGGER_INIT_CODE } from '../../src/chain/chain.fixture.ts'
import { Hex } from '../../src/eth/index.ts'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../src/index.ts'
import type { StateFileOptions } from '../../src/store/index.ts'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const STRANGER = '0x00000000000000000000000000000000000a11ce'
const CONTRACT = '0x0000000000000000000000000000000000c0de00'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const STORE_AND_LOG = '0x600160005560015f5f5fa0'
const SLOT = `0x${'1'.padStart(64, '0')}`
const WORD = `0x${'beef'.padStart(64, '0')}`
const QUIET: PocketchainOptions = { cadence: 'manual', workers: 0 }

/** Returns the result as the type that the caller expects. */
type Ask = <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>

type Json = Readonly<Record<string, unknown>>

interface ReceiptJson {
  readonly blockNumber: string
  readonly contractAddress: string
}

function asking(node: Pocketchain): Ask {
  return async <T>(method: string, ...params: readonly unknown[]) => (await node.request({ method, params })) as T
}

/** Sends, mines, and returns the receipt. */
async function sent(ask: Ask, request: object): Promise<ReceiptJson> {
  const hash = await ask('eth_sendTransaction', { from: ALICE, gas: '0x100000', ...request })
  await ask('evm_mine')
  return ask<ReceiptJson>('eth_getTransactionReceipt', hash)
}

/** Blocks with transfers, a creation and logs, and an edit after the last. */
async function lively(options: PocketchainOptions = {}): Promise<Pocketchain> {
  const node = await createPocketchain({ ...QUIET, ...options })
  const ask = asking(node)
  const { contractAddress } = await sent(ask, { data: Hex.fromBytes(LOGGER_INIT_CODE) })
  for (let i = 0; i < 3; i++) await sent(ask, { to: contractAddress, value: '0x0', data: WORD })
  await sent(ask, { to: STRANGER, value: '0x5' })
  await ask('anvil_setCode', CONTRACT, '0x6001600055')
  await ask('anvil_setStorageAt', CONTRACT, SLOT, WORD)
  return node
}

async function everything(ask: Ask): Promise<unknown> {
  const height = Number(await ask('eth_blockNumber'))
  const blocks: unknown[] = []
  for (let number = 0; number <= height; number++) {
    const tag = `0x${number.toString(16)}`
    blocks.push(await ask('eth_getBlockByNumber', tag, true), await ask('eth_getBlockReceipts', tag))
  }
  const state = [
    await ask('eth_getBalance', STRANGER, 'latest'),
    await ask('eth_getTransactionCount', ALICE, 'latest'),
    await ask('eth_getCode', CONTRACT, 'latest'),
    await ask('eth_getStorageAt', CONTRACT, SLOT, 'latest'),
    await ask('eth_getProof', CONTRACT, [SLOT], 'latest'),
  ]
  return JSON.parse(JSON.stringify({ blocks, state, logs: await ask('eth_getLogs', { fromBlock: '0x0' }) }))
}

function fileOf(node: Pocketchain, options: StateFileOptions = {}): Buffer {
  return Buffer.from([...node.stateFile(options)].join(''))
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-state-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a chain restored from its own state file', () => {
  test('has the same blocks, receipts, logs and accounts', async () => {
    await using node = await lively()
    await using again = await createPocketchain({ ...QUIET, stateFile: fileOf(node) })
    expect(await everything(asking(again))).toEqual(await everything(asking(node)))
  })

  test('derives the next number, time and base fee from the last block', async () => {
    await using node = await lively()
    await using again = await createPocketchain({ ...QUIET, stateFile: fileOf(node) })
    const { parentHash } = await blockOf(asking(again), await sent(asking(again), { to: BOB, value: '0x1' }))
    expect(parentHash).toBe(node.chain.sealed.head.hash)
    expect(again.chain.sealed.head.header.number).toBe(node.chain.sealed.head.header.number + 1)
    expect(again.chain.sealed.head.header.timestamp).toBeGreaterThan(node.chain.sealed.head.header.timestamp)
  })

  test('has the chain id, genesis and accounts of the file despite other options', async () => {
    await using node = await lively({ chainId: 901, accounts: 1, balance: 77n * 10n ** 18n, timestamp: 1_700_000_000 })
    await using again = await createPocketchain({ ...QUIET, accounts: 2, stateFile: fileOf(node) })
    expect(await asking(again)('eth_chainId')).toBe('0x385')
    await again.request({ method: 'anvil_reset' })
    expect(again.chain.sealed.head).toEqual(node.chain.genesis)
    expect(await asking(again)('eth_getBalance', ALICE, 'latest')).toBe(`0x${(77n * 10n ** 18n).toString(16)}`)
    expect(await asking(again)('eth_getBalance', BOB, 'latest')).toBe('0x0')
  })

  test('has no state of older blocks and does not rewind below the last block of the file', async () => {
    await using node = await lively()
    await using again = await createPocketchain({ ...QUIET, stateFile: fileOf(node) })
    const ask = asking(again)
    await expect(ask('eth_getBalance', ALICE, '0x1')).rejects.toMatchObject({ code: 4444 })
    await expect(ask('anvil_rollback', 1)).rejects.toThrow('state is kept from block 5 on')
    await sent(ask, { to: BOB, value: '0x1' })
    await ask('anvil_rollback', 1)
    expect(await everything(ask)).toEqual(await everything(asking(node)))
  })

  test('has the states of the blocks that were in memory, if a data directory was their source', async () => {
    const data = join(folder, 'data')
    await using node = await createPocketchain({ ...QUIET, data })
    await node.chain.mine(100)
    for (const value of ['0x5', '0x6']) {
      await asking(node)('anvil_setBalance', STRANGER, value)
      await node.chain.mine(1)
    }
    const dumped = gunzipSync(Buffer.from((await asking(node)<string>('anvil_dumpState', true)).slice(2), 'hex'))
    expect(dumped.equals(fileOf(node, { pastStates: true }))).toBe(true)
    await using again = await createPocketchain({ ...QUIET, stateFile: dumped })
    const ask = asking(again)
    const balances = await Promise.all(['0x28', '0x64', '0x65', '0x66'].map((block) => ask('eth_getBalance', STRANGER, block)))
    expect(balances).toEqual(['0x0', '0x5', '0x6', '0x6'])
    await expect(ask('eth_getBalance', STRANGER, '0x1')).rejects.toMatchObject({ code: 4444 })
  })

  test('is rejected under another chain id', async () => {
    await using node = await lively()
    await expect(createPocketchain({ ...QUIET, chainId: 5, stateFile: fileOf(node) })).rejects.toThrow(
      'chain id is 31337, and 5 was requested',
    )
  })

  test('can be stored in a new directory and continues there', async () => {
    const data = join(folder, 'data')
    await using node = await lively()
    // More blocks than one commit prunes the state of.
    await node.chain.mine(200)
    const before = await everything(asking(node))
    {
      await using kept = await createPocketchain({ ...QUIET, data, stateFile: fileOf(node) })
      expect(await everything(asking(kept))).toEqual(before)
      for (const old of ['0x1', '0x7f', '0xcc'])
        await expect(asking(kept)('eth_getBalance', ALICE, old)).rejects.toMatchObject({ code: 4444 })
    }
    await expect(createPocketchain({ ...QUIET, data, stateFile: fileOf(node) })).rejects.toThrow('a state file is for a new chain')
    await using again = await createPocketchain({ ...QUIET, data })
    expect(await everything(asking(again))).toEqual(before)
  })
})

describe('a file with accounts only', () => {
  test("applies geth's alloc on top of block 0", async () => {
    const alloc = { [STRANGER.slice(2)]: { balance: '0x7' }, [CONTRACT]: { code: '0x00', storage: { [SLOT]: WORD } } }
    await using node = await createPocketchain({ ...QUIET, stateFile: Buffer.from(JSON.stringify({ alloc })) })
    const ask = asking(node)
    expect(await ask('eth_blockNumber')).toBe('0x0')
    expect(await ask('eth_getBalance', STRANGER, 'latest')).toBe('0x7')
    expect(await ask('eth_getStorageAt', CONTRACT, SLOT, 'latest')).toBe(WORD)
    expect(await ask('eth_getBalance', ALICE, 'latest')).not.toBe('0x0')
    expect(await sent(ask, { to: STRANGER, value: '0x1' })).toMatchObject({ status: '0x1', blockNumber: '0x1' })
  })

  test('provides the accounts if the blocks cannot be imported, and logs a line', async () => {
    const notes: string[] = []
    const file = { best_block_number: 3, blocks: [], accounts: { [STRANGER]: { nonce: 1, balance: '0x7' } } }
    await using node = await createPocketchain({ ...QUIET, stateFile: gzipSync(JSON.stringify(file)), onNote: (line) => notes.push(line) })
    expect(notes).toEqual([
      'the blocks of the state file are left out: its best block, 3, is not there; its accounts are laid over block 0',
    ])
    expect(await asking(node)('eth_getBalance', STRANGER, 'latest')).toBe('0x7')
  })
})

describe.skipIf(ANVIL === null)('anvil', () => {
  test('continues from a pocketchain state file', async () => {
    await using node = await lively()
    const path = join(folder, 'ours.json')
    writeFileSync(path, fileOf(node))
    await using anvil = await startAnvil('--load-state', path)
    const ours = asking(node)
    expect(await anvil.ask('eth_blockNumber')).toBe('0x5')
    for (const ask of [
      ['eth_getBalance', ALICE],
      ['eth_getBalance', STRANGER],
      ['eth_getTransactionCount', ALICE],
      ['eth_getCode', CONTRACT],
      ['eth_getStorageAt', CONTRACT, SLOT],
      ['eth_getCode', L1_BLOCK],
    ] as const) {
      const [method, ...params] = ask
      expect([method, await anvil.ask(method, ...params, 'latest')]).toEqual([method, await ours(method, ...params, 'latest')])
    }
    const head = await anvil.ask<Json>('eth_getBlockByNumber', 'latest', false)
    expect(head['hash']).toBe(node.chain.sealed.head.hash)
    await anvil.ask('evm_mine')
    expect(await anvil.ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ number: '0x6', parentHash: head['hash'] })
  })

  test('loads the result of anvil_dumpState of pocketchain, and the reverse', async () => {
    await using node = await lively()
    const ours = asking(node)
    await using anvil = await startAnvil()
    expect(await anvil.ask('anvil_loadState', await ours('anvil_dumpState'))).toBe(true)
    expect(await anvil.ask('eth_getBalance', STRANGER, 'latest')).toBe('0x5')
    expect(await anvil.ask('eth_getStorageAt', CONTRACT, SLOT, 'latest')).toBe(WORD)
    await anvil.ask('anvil_setBalance', STRANGER, '0x99')
    expect(await ours('anvil_loadState', await anvil.ask('anvil_dumpState'))).toBe(true)
    expect(await ours('eth_getBalance', STRANGER, 'latest')).toBe('0x99')
  })

  test('writes a file that pocketchain continues, with the blocks, receipts and logs of anvil', async () => {
    const path = join(folder, 'anvil.json')
    await using anvil = await startAnvil('--dump-state', path, '--hardfork', 'prague')
    await fill(anvil.url)
    const blocks = await theirs(anvil.ask)
    await anvil.stop()
    await using node = await createPocketchain({ ...QUIET, stateFile: readFileSync(path), onNote: (line) => expect.fail(line) })
    const ask = asking(node)
    expect(await theirs(ask)).toEqual(blocks)
    expect(await ask('eth_getLogs', { fromBlock: '0x0' })).toHaveLength(1)
    expect(await ask('eth_getBalance', STRANGER, 'latest')).toBe('0x9')
    await expect(ask('eth_getBalance', STRANGER, '0x1')).rejects.toMatchObject({ code: 4444 })
    // The predeploys of every pocketchain exist too, and the chain continues.
    expect(await ask('eth_getCode', L1_BLOCK, 'latest')).not.toBe('0x')
    const receipt = await sent(ask, { to: STRANGER, value: '0x1' })
    expect(receipt).toMatchObject({ status: '0x1', blockNumber: `0x${blocks.length.toString(16)}` })
    expect(await blockOf(ask, receipt)).toMatchObject({ parentHash: blocks.at(-1)!.block['hash'] })
    // The same through a pocketchain state file.
    await using again = await createPocketchain({ ...QUIET, stateFile: fileOf(node) })
    expect(await everything(asking(again))).toEqual(await everything(ask))
  })
})

describe("viem's test client", () => {
  test.each(['anvil', 'hardhat'] as const)('dumps and loads in mode %s', async (mode) => {
    await using first = await startNode(QUIET)
    await using second = await startNode({ ...QUIET, cadence: 'instant' })
    await fillOurs(first)
    const [from, to] = [first, second].map(({ url }) => createTestClient({ mode, transport: http(url) }).extend(publicActions))
    await to!.loadState({ state: await from!.dumpState() })
    expect(await to!.getBalance({ address: STRANGER })).toBe(5n)
    expect(await to!.getCode({ address: CONTRACT })).toBe('0x6001600055')
    expect(await to!.getStorageAt({ address: CONTRACT, slot: '0x1' })).toBe(WORD)
    expect(await to!.getBlockNumber()).toBe(0n)
  })

  test('receives pre-confirmed transactions as sealed', async () => {
    await using node = await startNode({ cadence: 'preconf', workers: 0 })
    await node.ask('eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x5' })
    while ((await node.ask('eth_getBalance', STRANGER, 'pending')) === '0x0') await node.ask('eth_blockNumber')
    const file = String(await node.ask('anvil_dumpState'))
    const { accounts, best_block_number: best } = JSON.parse(gunzipSync(Buffer.from(file.slice(2), 'hex')).toString())
    expect(accounts[STRANGER].balance).toBe('0x5')
    expect(best).toBeGreaterThan(0)
  })

  test('receives an error with the path of the invalid field of a file', async () => {
    await using node = await startNode(QUIET)
    const file = `0x${Buffer.from(`{"accounts":{"${BOB}":{"balance":"x"}}}`).toString('hex')}`
    await expect(node.ask('anvil_loadState', file)).rejects.toThrow(
      `-32602 invalid argument 0 (state): accounts.${BOB}.balance must be a quantity`,
    )
    await expect(node.ask('anvil_loadState', '0x1f8b08')).rejects.toThrow('-32602 invalid argument 0 (state): file is damaged')
  })
})

async function fillOurs({ node }: RunningNode): Promise<void> {
  const ask = asking(node)
  await sent(ask, { to: STRANGER, value: '0x5' })
  await ask('anvil_setCode', CONTRACT, '0x6001600055')
  await ask('anvil_setStorageAt', CONTRACT, SLOT, WORD)
}

/** Transactions of every type except blobs, an impersonated one, a creation, blocks with several transactions and with none. */
async function fill(url: string): Promise<void> {
  const account = privateKeyToAccount(KEY)
  const wallet = createWalletClient({ account, chain: foundry, transport: http(url) })
  const client = createTestClient({ mode: 'anvil', chain: foundry, transport: http(url) }).extend(publicActions)
  const accessList = [{ address: BOB, storageKeys: [WORD] }] as const
  const price = { gasPrice: 2_000_000_000n, value: 1n } as const
  await wallet.sendTransaction({ to: BOB, type: 'legacy', ...price })
  await wallet.sendTransaction({ to: BOB, type: 'eip2930', ...price, accessList: accessList as never }) // hex strings typed as string
  await wallet.sendTransaction({ data: STORE_AND_LOG, gas: 1_000_000n })
  const authorization = await wallet.signAuthorization({ contractAddress: BOB, executor: 'self' })
  await wallet.sendTransaction({ to: ALICE, authorizationList: [authorization], gas: 200_000n })
  await client.impersonateAccount({ address: STRANGER })
  await client.setBalance({ address: STRANGER, value: 10n ** 18n })
  const send = () => client.request({ method: 'eth_sendTransaction', params: [{ from: STRANGER, to: BOB, value: '0x5' }] } as never) // viem's test client types only its own methods
  await send()
  await client.mine({ blocks: 2 })
  await client.setAutomine(false)
  await wallet.sendTransaction({ to: BOB, value: 1n, gas: 30_000n, nonce: await client.getTransactionCount({ address: ALICE }) })
  await send()
  await client.mine({ blocks: 1 })
  await client.setBalance({ address: STRANGER, value: 9n })
}

interface Told {
  readonly block: Json
  readonly receipts: readonly Json[]
}

/** Blocks and receipts without the fields that only anvil adds or computes differently. */
async function theirs(ask: Ask): Promise<readonly Told[]> {
  const height = Number(await ask('eth_blockNumber'))
  const all: Told[] = []
  for (let number = 0; number <= height; number++) {
    const tag = `0x${number.toString(16)}`
    const block = without(['size', 'totalDifficulty'], await ask<Json>('eth_getBlockByNumber', tag, true))
    const receipts = await ask<readonly Json[]>('eth_getBlockReceipts', tag)
    all.push({ block, receipts: receipts.map((receipt) => without(['blobGasPrice', 'blockTimestamp'], receipt)) })
  }
  return JSON.parse(JSON.stringify(all)) as readonly Told[] // parsed from its own output
}

function without(keys: readonly string[], object: Json): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

function blockOf(ask: Ask, { blockNumber }: ReceiptJson): Promise<Json> {
  return ask('eth_getBlockByNumber', blockNumber, false)
}
