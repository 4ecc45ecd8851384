import { readFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { RICH, below, random, signed, testChain, testGenesis } from '../../chain/chain.fixture.ts'
import type { Chain } from '../../chain/index.ts'
import { PersistentStore } from '../../chain/persistentstore.fixture.ts'
import { Address, EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import { BlockRecord } from '../record/index.ts'
import { MemoryStorage } from '../storage/index.ts'
import { Store } from '../store.ts'
import { accountsText } from './accounts.ts'
import { StateFileError } from './jsonfield.ts'
import { historyOf, storeBlocks, overlayState, readStateAccounts, readStateFile, stateFileText, writeSetOf } from './index.ts'
import type { StateFileOptions } from './index.ts'

/** The result of anvil_dumpState of anvil 1.7.1: blocks 0 to 9, transactions of types 0, 1, 2 and 4, two of an impersonated sender, one creation. */
const ANVIL = readFileSync(new URL('anvil.fixture.hex', import.meta.url))

const SENDER = RICH[0]!
/** anvil's first account */
const FIRST = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const CONTRACT = Address.from('0x00000000000000000000000000000000000c0de0')
const EMPTY = Address.from('0x0000000000000000000000000000000000000e17')
const SLOT = Hash.fromBigint(7n)

/** A file, as a value that may be changed. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test damages values deep inside
type Parsed = Record<string, any>

function bytesOf(file: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(file))
}

function anvilFile(): Parsed {
  return JSON.parse(gunzipSync(Buffer.from(ANVIL.toString().trim().slice(2), 'hex')).toString()) as Parsed
}

async function chainOf(blocks: number, options: Parameters<typeof testChain>[1] = {}): Promise<Chain> {
  const { chain } = testChain('manual', { store: new Store(new MemoryStorage()), ...options })
  await chain.start()
  for (let nonce = 0; nonce < blocks; nonce++) {
    await chain.submit(signed({ nonce: BigInt(nonce) }))
    await chain.mine(1)
  }
  await chain.edit((world) => {
    world.setCode(CONTRACT, Uint8Array.of(0x60, 1))
    world.setStorage(CONTRACT, SLOT, 9n)
  })
  return chain
}

function textOf(chain: Chain, options: StateFileOptions = {}): string {
  return [...stateFileText(chain, options)].join('')
}

async function ownFile(): Promise<Parsed> {
  return JSON.parse(textOf(await chainOf(2))) as Parsed
}

function refusal(file: unknown): StateFileError {
  try {
    readStateFile(file instanceof Uint8Array ? file : bytesOf(file))
  } catch (error) {
    if (error instanceof StateFileError) return error
    throw error
  }
  throw new Error('it was read')
}

describe('a state file of pocketchain', () => {
  test('restores every block, the state with its edits, and the genesis', async () => {
    const chain = await chainOf(3)
    const { own, accounts } = readStateFile(Buffer.from(textOf(chain)))
    const blocks = own!.records.map((record) => new BlockRecord(record).decode())
    expect(blocks.map(({ hash }) => hash)).toEqual([0, 1, 2, 3].map((number) => chain.sealed.blockHash(number)))
    expect(blocks[3]!.receipts).toEqual(chain.head.view.byNumber(3)!.receipts)
    const { contractsMayDiffer: _, ...genesis } = testGenesis()
    expect(own!.genesis).toEqual({ ...genesis, blobGasUsed: own!.genesis.blobGasUsed, excessBlobGas: own!.genesis.excessBlobGas })
    expect(accounts.find(({ address }) => address === CONTRACT)).toEqual({
      address: CONTRACT,
      nonce: 0n,
      balance: 0n,
      code: Uint8Array.of(0x60, 1),
      storage: new Map([[SLOT, 9n]]),
    })
    expect(own!.stateRoot).toBe(chain.sealed.history.stateRoot())
  })

  test('has the keys that anvil requires', async () => {
    const chain = await chainOf(2)
    const file = JSON.parse(textOf(chain)) as Parsed
    expect(file['best_block_number']).toBe(2)
    expect(file['block']).toMatchObject({ number: '0x2', gas_limit: Number(chain.sealed.head.header.gasLimit) })
    expect(file['blocks']).toEqual([expect.objectContaining({ transactions: [], ommers: [] })])
    expect(file['blocks'][0].header).toMatchObject({
      number: '0x2',
      parentHash: chain.sealed.blockHash(1),
      logsBloom: `0x${'00'.repeat(256)}`,
    })
    expect(file['transactions']).toEqual([])
    expect(file['historical_states']).toBeNull()
    expect(file['accounts'][CONTRACT]).toEqual({ nonce: 0, balance: '0x0', code: '0x6001', storage: { [SLOT]: Hash.fromBigint(9n) } })
  })

  test('is a consistent snapshot although the chain continues between its pieces', async () => {
    const chain = await chainOf(2)
    const before = textOf(chain)
    let text = ''
    for (const piece of stateFileText(chain)) {
      text += piece
      await chain.mine(1)
      await chain.edit((world) => world.setBalance(SENDER, BigInt(text.length)))
    }
    expect(text).toBe(before)
  })

  test('has past states of its own blocks only, although the chain continues between its pieces', async () => {
    const chain = await chainOf(2)
    const before = textOf(chain, { pastStates: true })
    expect(readStateFile(Buffer.from(before)).own!.past).toMatchObject({ from: 0, writes: { length: 2 } })
    let text = ''
    for (const piece of stateFileText(chain, { pastStates: true })) {
      text += piece
      await chain.mine(1)
      await chain.edit((world) => world.setBalance(SENDER, BigInt(text.length)))
    }
    expect(text === before).toBe(true) // the difference is too long to print
  })

  test('has the past states that are in memory if the store persists older ones', async () => {
    const chain = await chainOf(10, { store: new PersistentStore(), historyBlocks: 3 })
    const { own } = readStateFile(Buffer.from(textOf(chain, { pastStates: true })))
    const { from, writes } = own!.past!
    expect(from).toBeGreaterThan(0)
    expect(from + writes.length).toBe(10)
    const { history, versions } = historyOf(own!.past!)
    expect(history.stateRoot()).toBe(own!.stateRoot)
    const { view } = chain.head
    for (const [index, version] of versions!.entries())
      expect(history.at(version).account(SENDER)).toEqual(view.state(view.byNumber(from + index)!).account(SENDER))
  })

  test('is aborted when the chain rewinds below it', async () => {
    const chain = await chainOf(2)
    const text = stateFileText(chain)
    text.next()
    await chain.rollback(1)
    expect(() => [...text]).toThrow(expect.objectContaining({ name: 'RewoundState' }))
  })

  test('is aborted when the chain rewinds while its past states are written', async () => {
    const chain = await chainOf(2)
    const text = stateFileText(chain, { pastStates: true })
    while (!String(text.next().value).endsWith('"base":[')); // up to the past states
    await chain.rollback(1)
    await chain.mine(1)
    expect(() => [...text]).toThrow(expect.objectContaining({ name: 'RewoundState' }))
  })

  test('is aborted at the size that is not read', async () => {
    const { state, ...rest } = testGenesis()
    const code = new Uint8Array(8 * 2 ** 20)
    const codeHash = Hash.keccak(code)
    const accounts = new Map(state.accounts)
    // 16 MB of text each, in the genesis and in the newest state.
    for (let i = 1n; i <= 16n; i++) accounts.set(Address.create(SENDER, i), { nonce: 1n, balance: 0n, codeHash })
    const genesis = { ...rest, state: { ...state, accounts, codes: new Map(state.codes).set(codeHash, code) } }
    const chain = await chainOf(0, { genesis })
    let chars = 0
    const write = (pastStates: boolean) => () => {
      chars = 0
      for (const { length } of stateFileText(chain, { pastStates })) chars += length
    }
    const limit = 500 * 2 ** 20
    expect(write(false)).toThrow(
      new StateFileError('file', 'would have more than 500 MB of text: keep a chain of this size in a directory, with --data'),
    )
    expect([chars > limit - 17 * 2 ** 20, chars <= limit]).toEqual([true, true])
    expect(write(true)).toThrow('file would have more than 500 MB of text: leave out the states of older blocks')
  })

  test('preserves a nonce above the range of JSON numbers', async () => {
    const chain = await chainOf(1)
    await chain.edit((world) => world.setNonce(CONTRACT, 2n ** 64n - 2n))
    const { accounts } = readStateFile(Buffer.from(textOf(chain)))
    expect(accounts.find(({ address }) => address === CONTRACT)?.nonce).toBe(2n ** 64n - 2n)
  })

  test.each<[string, (file: Parsed) => void, string]>([
    [
      'a record with another byte',
      (file) => (file['pocketchain'].records[0] = flipped(file['pocketchain'].records[0])),
      'pocketchain.records[0]',
    ],
    ['half a record', (file) => (file['pocketchain'].records[0] = file['pocketchain'].records[0].slice(0, 400)), 'pocketchain.records[0]'],
    ['no record', (file) => (file['pocketchain'].records = []), 'pocketchain.records'],
    ['a newer format', (file) => (file['pocketchain'].format = 3), 'pocketchain.format'],
    ['a balance changed by hand', (file) => (file['accounts'][SENDER].balance = '0x1'), 'pocketchain.stateRoot'],
    ['a lost account', (file) => delete file['accounts'][CONTRACT], 'pocketchain.stateRoot'],
    ['a lost account of the genesis', (file) => delete file['pocketchain'].genesis.alloc[SENDER], 'pocketchain.genesis.stateRoot'],
    ['another chain id', (file) => (file['pocketchain'].chainId = 5), 'pocketchain.chainId'],
    ['a fork of the future', (file) => (file['pocketchain'].genesis.config.l1[0].fork = 'zeno'), 'pocketchain.genesis.config.l1[0].fork'],
  ])('with %s is rejected by name', async (_, damage, field) => {
    const file = await ownFile()
    damage(file)
    expect(refusal(file).field).toBe(field)
  })
})

describe('a state file of anvil', () => {
  test('is read as hex, as gzip and as JSON', () => {
    const packed = Buffer.from(ANVIL.toString().trim().slice(2), 'hex')
    const files = [ANVIL, packed, gunzipSync(packed), gzipSync(packed)].slice(0, 3).map((bytes) => readStateFile(bytes))
    for (const file of files) expect(file).toEqual(files[0])
    expect(files[0]).toMatchObject({ own: null, leftOut: null, anvil: { chainId: 31_337 } })
  })

  test('yields its blocks with hashes, senders and receipts, in order', () => {
    const blocks = readStateFile(ANVIL).anvil!.records.map((record) => new BlockRecord(record).decode())
    expect(blocks.map(({ header }) => header.number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    for (const [index, block] of blocks.entries()) if (index > 0) expect(block.header.parentHash).toBe(blocks[index - 1]!.hash)
    expect(blocks.map(({ transactions }) => transactions.map(({ type }) => type))).toEqual([
      [],
      [0],
      [1],
      [2],
      [4],
      [2],
      [],
      [],
      [],
      [2, 2],
    ])
    expect(blocks[9]!.transactions.map(({ from }) => from)).toEqual([FIRST, '0x00000000000000000000000000000000000000bb'])
    expect(blocks[9]!.receipts.map(({ gasUsed }) => gasUsed)).toEqual([21_000n, 21_000n])
    expect(blocks[3]!.receipts[0]).toMatchObject({ contractAddress: Address.create(FIRST, 2n), logs: [{ topics: [] }] })
  })

  test.each<[string, (file: Parsed) => void, string]>([
    ['a pruned parent', (file) => file['blocks'].splice(1, 1), 'the parent of its block'],
    ['no best block', (file) => delete file['best_block_number'], 'it names no best block'],
    ['no blocks', (file) => (file['blocks'] = []), 'its best block, 9, is not there'],
    ['headers of later rules', (file) => (file['blocks'][0].header.slotNumber = '0x1'), 'rules that are not known here'],
    ['a gap in a header', (file) => delete file['blocks'][0].header.withdrawalsRoot, 'lacks a field that precedes another one'],
    ['a lost receipt', (file) => file['transactions'].pop(), 'has no receipt'],
    [
      'a lost transaction',
      (file) => file['blocks'].find((block: Parsed) => block['transactions'].length === 2).transactions.pop(),
      'are not those',
    ],
    ['another log', (file) => (logsOf(file)[0]!['data'] = '0x01'), 'are not those'],
  ])('with %s gives its accounts and the reason for the missing blocks', (_, change, reason) => {
    const file = anvilFile()
    change(file)
    const { accounts, anvil, leftOut } = readStateFile(bytesOf(file))
    expect(anvil).toBeNull()
    expect(leftOut).toContain(reason)
    expect(accounts).toEqual(readStateFile(ANVIL).accounts)
  })

  test.each<[string, (file: Parsed) => void, RegExp]>([
    ['an unknown field', (file) => (file['accounts'][FIRST].colour = 'red'), /^accounts\.0xf39f\w+\.colour is not known here/],
    [
      'a balance that is none',
      (file) => (file['accounts'][FIRST].balance = 'much'),
      /\.balance must be a quantity such as "0x1" or 1, not "much"/,
    ],
    ['a balance too large', (file) => (file['accounts'][FIRST].balance = `0x1${'0'.repeat(64)}`), /\.balance must be a quantity/],
    ['a negative nonce', (file) => (file['accounts'][FIRST].nonce = -1), /\.nonce must be a quantity/],
    ['half a byte of code', (file) => (file['accounts'][FIRST].code = '0x600'), /\.code must be 0x-prefixed bytes/],
    ['a slot that is none', (file) => (file['accounts'][FIRST].storage = { x: '0x1' }), /\.storage\.x is not a slot/],
    ['storage that is a list', (file) => (file['accounts'][FIRST].storage = []), /\.storage must be an object, not a list/],
    ['an address that is none', (file) => (file['accounts']['0x12'] = {}), /^accounts\.0x12 is not an address/],
    ['an account twice', (file) => (file['accounts'][FIRST.toUpperCase().replace('0X', '')] = {}), /is there twice/],
    ['no accounts', (file) => delete file['accounts'], /^accounts must be an object, not missing/],
    ['a header of another type', (file) => (file['blocks'][0].header.gasUsed = true), /^blocks\[0\]\.header\.gasUsed must be a quantity/],
    [
      'a short bloom',
      (file) => (file['blocks'][0].header.logsBloom = '0x00'),
      /^blocks\[0\]\.header\.logsBloom must have 256 bytes, not 1/,
    ],
    [
      'a transaction that was changed',
      (file) => (signedOf(file).value = '0x77'),
      /is not the hash of the transaction's fields|is no transaction/,
    ],
  ])('with %s is rejected by path', (_, damage, message) => {
    const file = anvilFile()
    damage(file)
    expect(refusal(file).message).toMatch(message)
  })

  test.each([
    ['nothing', new Uint8Array(0), 'is no JSON'],
    ['noise', Buffer.from('hello'), 'is no JSON'],
    ['half a gzip', gzipSync('{"accounts":{}}').subarray(0, 20), 'is damaged'],
    ['hex with a stray letter', Buffer.from('0x1f8z'), 'is hex of nothing'],
    ['hex of half of it', ANVIL.subarray(0, 2_000), 'is damaged'],
    ['a list', Buffer.from('[]'), 'must be an object, not a list'],
  ])('that is %s is rejected', (_, bytes, reason) => {
    expect(refusal(bytes)).toMatchObject({ field: 'file', message: expect.stringContaining(reason) })
  })
})

describe('a file with a changed value', () => {
  /** Keys of other files, and unknown keys. */
  const FOREIGN_FILES = [
    null,
    true,
    -1,
    1.5,
    2 ** 60,
    5,
    '',
    'x',
    '0x',
    '0x0',
    '0x1',
    '0xzz',
    `0x${'ff'.repeat(32)}`,
    `0x${'ff'.repeat(20)}`,
    `0x${'00'.repeat(300)}`,
    [],
    {},
    [[]],
  ]

  test.each([
    ["anvil's", async () => anvilFile()],
    ['ours', ownFile],
  ] as const)('is read or refused by path: %s', async (_, make) => {
    const next = random(7)
    const original = await make()
    for (let round = 0; round < 200; round++) {
      const file = structuredClone(original)
      const places = valuesOf(file).filter(({ key }) => key !== 'traces')
      const { holder, key } = places[below(next, places.length)]!
      holder[key] = FOREIGN_FILES[below(next, FOREIGN_FILES.length)]
      try {
        readStateFile(bytesOf(file))
      } catch (error) {
        expect([key, error]).toEqual([key, expect.any(StateFileError)])
      }
    }
  })
})

/** All values of the file; of the accounts only the first 40, because their values are numerous and of few kinds. */
function valuesOf(holder: Parsed): { readonly holder: Parsed; readonly key: string }[] {
  return Object.entries(holder).flatMap(([key, value]: [string, unknown]) => {
    const inside = typeof value === 'object' && value !== null ? valuesOf(value) : []
    return [{ holder, key }, ...(key === 'accounts' || key === 'alloc' ? inside.slice(0, 40) : inside)]
  })
}

describe('accounts', () => {
  test("of geth's alloc are read, whose keys and words may lack 0x", () => {
    const storage = { [SLOT.slice(2)]: SLOT.slice(2) }
    const file = { config: { chainId: 1 }, gasLimit: '0x1', alloc: { [CONTRACT.slice(2)]: { balance: '12', storage } } }
    expect(readStateFile(bytesOf(file))).toEqual({
      fork: null,
      own: null,
      anvil: null,
      leftOut: null,
      accounts: [{ address: CONTRACT, nonce: 0n, balance: 12n, code: new Uint8Array(0), storage: new Map([[SLOT, 7n]]) }],
    })
  })

  test('without content are dropped, and so are zero slots', () => {
    const nothing = { nonce: 0n, balance: 0n, code: new Uint8Array(0), storage: new Map([[SLOT, 0n]]) }
    const state = writeSetOf([
      { ...nothing, address: EMPTY },
      { ...nothing, address: CONTRACT, balance: 1n },
    ])
    expect(state).toEqual({
      accounts: new Map([[CONTRACT, { nonce: 0n, balance: 1n, codeHash: EMPTY_CODE_HASH }]]),
      storage: new Map(),
      codes: new Map(),
    })
  })

  test('that overlay others hide their storage too', () => {
    const { storage } = testGenesis().state
    const [address] = [...storage.keys()]
    const upper = writeSetOf([{ address: address!, nonce: 1n, balance: 1n, code: new Uint8Array(0), storage: new Map() }])
    const both = overlayState(testGenesis().state, upper)
    expect(both.storage.has(address!)).toBe(false)
    expect(both.accounts.get(address!)?.nonce).toBe(1n)
    expect(both.accounts.size).toBe(testGenesis().state.accounts.size)
  })

  test('are written in pieces that may split an account', () => {
    const account = { nonce: 1n, balance: 2n, codeHash: EMPTY_CODE_HASH }
    const slots = (...keys: bigint[]) => new Map(keys.map((key) => [Hash.fromBigint(key), 1n]))
    const codes = new Map<Hash, Uint8Array>()
    const pieces = [
      { accounts: new Map([[CONTRACT, account]]), storage: new Map([[CONTRACT, slots(1n)]]), codes },
      { accounts: new Map(), storage: new Map([[CONTRACT, slots(2n)]]), codes },
      {
        accounts: new Map([[EMPTY, account]]),
        storage: new Map([
          [CONTRACT, slots(3n)],
          [EMPTY, slots(4n)],
        ]),
        codes,
      },
    ]
    const text = `{"accounts":${[...accountsText(pieces)].join('')}}`
    const read = readStateAccounts(Buffer.from(text)).accounts
    expect(read.map(({ address, storage }) => [address, [...storage.keys()]])).toEqual([
      [CONTRACT, [...slots(1n, 2n, 3n).keys()]],
      [EMPTY, [...slots(4n).keys()]],
    ])
  })
})

test('blocks are stored in a backend that the store reads', async () => {
  const chain = await chainOf(3)
  const { own, accounts } = readStateFile(Buffer.from(textOf(chain)))
  const storage = new MemoryStorage()
  expect(storeBlocks(storage, own!.records, own!.genesis, writeSetOf(accounts, true))).toBe(true)
  const store = new Store(storage)
  expect(store.height).toBe(3)
  expect(store.byNumber(3)).toEqual(chain.head.view.byNumber(3))
  const [transaction] = chain.head.view.byNumber(3)!.transactions.slice(-1)
  expect(store.locationOf(transaction!.hash)?.number).toBe(3)
})

function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  bytes[300] = bytes[300]! ^ 1
  return bytes.toString('base64')
}

function logsOf(file: Parsed): Parsed[] {
  return file['transactions'].find((entry: Parsed) => entry['receipt'].logs.length > 0).receipt.logs
}

function signedOf(file: Parsed): Parsed {
  return file['blocks'].find((block: Parsed) => block['transactions'][0]?.transaction.type === '0x0').transactions[0].transaction
}
