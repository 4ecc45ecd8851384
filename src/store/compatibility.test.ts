import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { blockJson, receiptsJson } from '../rpc/json.fixture.ts'
import { Store, openLmdb } from './index.ts'
import { jsonWriter } from './json/index.ts'
import { BlockRecord, encodeBlock } from './record/index.ts'

// Bytes on disk that pocketchain 0.1.0 wrote, in testdata/: records of random blocks that together have every field, of every transaction type,
// and a data directory. The hashes are of the JSON that 0.1.0 returned for them.

describe('records of 0.1.0', () => {
  const records = recordsIn(testData('v0.1.0-records.gz'))
  const hashes = JSON.parse(readFileSync(pathOf('v0.1.0-records.json'), 'utf8')) as readonly Hash[]

  test('give the same JSON', () => {
    const writer = jsonWriter()
    const texts = records.map((record) =>
      [writer.block(record, true), writer.block(record, false), writer.receipts(record)].map(text).join('\n'),
    )
    expect(texts.map(Hash.ofText)).toEqual(hashes)
  })

  test('decode to blocks with the same JSON', () => {
    const texts = records.map((record) => {
      const block = BlockRecord.checked(record, new BlockRecord(record).number).decode()
      return [blockJson(block, true), blockJson(block, false), receiptsJson(block)].map((json) => JSON.stringify(json)).join('\n')
    })
    expect(texts.map(Hash.ofText)).toEqual(hashes)
  })

  test('encode to the same bytes', () => {
    for (const record of records) expect(Hex.fromBytes(encodeBlock(new BlockRecord(record).decode()))).toBe(Hex.fromBytes(record))
  })
})

test('a data directory of 0.1.0 opens with its blocks, index, state, records and open block', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pocketchain-0.1.0-'))
  writeFileSync(join(directory, 'pocketchain.mdb'), testData('v0.1.0-directory.mdb.gz'))
  const [A, B] = [Address.from(`0x${'a1'.repeat(20)}`), Address.from(`0x${'b2'.repeat(20)}`)]
  const store = new Store(await openLmdb(directory))
  try {
    expect([store.height, store.persistedState?.oldestBlock, store.persistedState?.stateRoot]).toEqual([3, 0, Hash.fromBigint(77n)])
    expect([0, 1, 2, 3].map((number) => store.hashOf(number))).toEqual(BLOCK_HASHES)
    const texts = [0, 1, 2, 3].map((number) =>
      Hash.keccak(Buffer.concat([store.blockJsonBytes(number, true), store.receiptsJsonBytes(number)])),
    )
    expect(texts).toEqual(TEXT_HASHES)
    expect(BLOCK_HASHES.map((hash) => store.numberOf(hash))).toEqual([0, 1, 2, 3])
    const tx = store.byNumber(2)!.transactions[1]!
    expect(store.locationOf(tx.hash)).toEqual({ number: 2, index: 1 })
    expect(store.bySenderAndNonce(tx.from, tx.nonce)).toEqual({ number: 2, index: 1 })
    const logs = [...store.logs({ addresses: null, topics: [] }, 0, 3)]
    expect(logs.length).toBeGreaterThan(0)
    expect(store.countLogs({ addresses: new Set([logs[0]!.log.address]), topics: [] }, 0, 3)).toBeGreaterThan(0)

    const states = [0, 1, 2, 3].map((number) => store.persistedState!.at(number))
    expect(states.map((state) => state.account(A)?.nonce)).toEqual([0n, 1n, 2n, 9n])
    expect(states.map((state) => state.account(B)?.nonce)).toEqual([1n, 1n, 1n, undefined])
    expect(states.map((state) => state.storage(B, Hash.fromBigint(1n)))).toEqual([1n, 2n, 3n, 0n])
    expect(states[2]!.storage(B, Hash.fromBigint(4n))).toBe(2n ** 255n)
    expect(states[0]!.code(states[0]!.account(B)!.codeHash)).toEqual(Uint8Array.of(1, 2, 3))
    expect(Buffer.from(store.records.get('wallet/example')!).toString()).toBe('a value')
    expect(store.openBlockRecord).toEqual(Uint8Array.of(7, 7, 7))
  } finally {
    await store.close()
    rmSync(directory, { recursive: true })
  }
})

const BLOCK_HASHES = [
  '0x387e8230a05cd5c1e69b7eed8fab29174272be5215492371694a340ecd3d7d46',
  '0xbd730eff9f3953e89e2cc9eae81effade86fb83561814be87f371dc70cddcd04',
  '0x124340f378c55c622422bd67296d4a2b144d00456e83c821a5fbdc2bf4d707ec',
  '0x0b2040ba43688bc363bacadc1c82fe2e2f9565656221b394165bc7557650e5f6',
].map((hash) => Hash.from(hash))

const TEXT_HASHES = [
  '0xa0f3ce2620aa4f9bf35ec52ffeb4f62f2d84187e271ed3d38bb1d98cc52751a4',
  '0xed535193ba6a57df45ee056cf8e3608705bbf66075a55bbd5bf33947262a443a',
  '0x4438ae4e02cd7caa40162989e1d5780217812246d8fe32a3fc6a225c72611ac8',
  '0xd33981fc820272504f0ae5645bc9e28766a2c20c9ab6b96f5a521fc1c0de84a4',
]

function pathOf(name: string): URL {
  return new URL(`testdata/${name}`, import.meta.url)
}

function testData(name: string): Uint8Array {
  return gunzipSync(readFileSync(pathOf(name)))
}

/** Splits concatenated records. Bytes 8 to 11 of a record are its size. */
function recordsIn(bytes: Uint8Array): readonly Uint8Array[] {
  const records: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    const size = Buffer.from(bytes).readUInt32LE(at + 8)
    records.push(bytes.slice(at, at + size))
    at += size
  }
  return records
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}
