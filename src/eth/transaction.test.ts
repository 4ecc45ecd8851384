import * as fc from 'fast-check'
import {
  type Hex as ViemHex,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerializable,
  type TransactionSerialized,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hashAuthorization } from 'viem/utils'
import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { Authorization } from './authorization.ts'
import { SourceHash } from './deposit.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { Rlp, type RlpInput, type RlpItem } from './rlp.ts'
import { Secp256k1 } from './secp256k1.ts'
import { Transaction, type TransactionFields } from './transaction.ts'
import { chainRlp, hasVectors, opTransactions } from './vectors.fixture.ts'
import { Block } from './block.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const SENDER = Secp256k1.address(KEY)

const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Address.from(bytes))
const hash = uint(256).map((value) => Hash.fromBigint(value))
const key = fc.bigInt({ min: 1n, max: Secp256k1.ORDER - 1n }).map((value) => Hash.fromBigint(value))
const accessList = fc.array(fc.record({ address, storageKeys: fc.array(hash, { maxLength: 3 }) }), { maxLength: 3 })
const authorization = fc.record({ chainId: uint(30), address, nonce: uint(50) }).map((fields) => Authorization.sign(fields, KEY))

const common = {
  chainId: fc.integer({ min: 1, max: 2 ** 31 }),
  nonce: uint(50),
  gas: uint(60),
  value: uint(256),
  data: fc.uint8Array({ maxLength: 100 }),
}
const fees = { maxFeePerGas: uint(200), maxPriorityFeePerGas: uint(100) }
const ordered = (fields: TransactionFields): TransactionFields => ({
  ...fields,
  maxFeePerGas: (fields.maxFeePerGas ?? 0n) + (fields.maxPriorityFeePerGas ?? 0n), // viem refuses a tip above the cap
})
const to = fc.option(address, { nil: null })
const versioned = hash.map((value) => `0x01${value.slice(4)}` as Hash)

const KINDS: Record<string, fc.Arbitrary<TransactionFields>> = {
  'a legacy transaction': fc.record({ type: fc.constant(0 as const), ...common, to, maxFeePerGas: uint(200) }),
  'a legacy transaction for any chain': fc
    .record({ type: fc.constant(0 as const), ...common, to, maxFeePerGas: uint(200) })
    .map((fields) => ({ ...fields, chainId: null })),
  'an access-list transaction': fc.record({ type: fc.constant(1 as const), ...common, to, maxFeePerGas: uint(200), accessList }),
  'a fee-market transaction': fc.record({ type: fc.constant(2 as const), ...common, to, ...fees, accessList }).map(ordered),
  'a blob transaction': fc
    .record({
      type: fc.constant(3 as const),
      ...common,
      to: address,
      ...fees,
      accessList,
      maxFeePerBlobGas: uint(100),
      blobVersionedHashes: fc.array(versioned, { minLength: 1, maxLength: 3 }),
    })
    .map(ordered),
  'a set-code transaction': fc
    .record({
      type: fc.constant(4 as const),
      ...common,
      to: address,
      ...fees,
      accessList,
      authorizationList: fc.array(authorization, { minLength: 1, maxLength: 2 }),
    })
    .map(ordered),
}

const VIEM_TYPES = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702'] as const

function forViem(fields: TransactionFields): TransactionSerializable {
  const type = fields.type ?? 2
  const priced =
    type < 2 ? { gasPrice: fields.maxFeePerGas } : { maxFeePerGas: fields.maxFeePerGas, maxPriorityFeePerGas: fields.maxPriorityFeePerGas }
  const described = {
    type: VIEM_TYPES[type],
    ...(fields.chainId === null ? {} : { chainId: fields.chainId }),
    nonce: Number(fields.nonce),
    gas: fields.gas,
    to: fields.to ?? undefined,
    value: fields.value,
    data: Hex.fromBytes(fields.data ?? new Uint8Array()),
    ...priced,
    ...(type === 0 ? {} : { accessList: fields.accessList }),
    ...(type === 3 ? { maxFeePerBlobGas: fields.maxFeePerBlobGas, blobVersionedHashes: fields.blobVersionedHashes } : {}),
    ...(type === 4 ? { authorizationList: fields.authorizationList?.map(authorizationForViem) } : {}),
  }
  return described as unknown as TransactionSerializable // viem has one type per transaction type; the fields match it
}

function authorizationForViem(entry: Authorization) {
  const { r, s, yParity } = entry
  return {
    address: entry.address,
    chainId: Number(entry.chainId),
    nonce: Number(entry.nonce),
    yParity,
    r: Hash.fromBigint(r),
    s: Hash.fromBigint(s),
  }
}

describe.each(Object.entries(KINDS))('%s', (_, kind) => {
  it("is signed to viem's bytes and decoded from them", async () => {
    await fc.assert(
      fc.asyncProperty(kind, key, async (fields, privateKey) => {
        const signed = Transaction.sign(fields, privateKey)
        const judged = await privateKeyToAccount(privateKey).signTransaction(forViem(fields))
        expect(Hex.fromBytes(signed.raw)).toBe(judged)
        expect(Transaction.decode(Hex.toBytes(judged))).toEqual(signed)
        expect(Transaction.encode(signed)).toEqual(signed.raw)
        expect(signed.hash).toBe(Hash.from(keccak256(signed.raw)))
        expect(signed).toMatchObject({ ...fields, from: Secp256k1.address(privateKey) })
        expect(Transaction.sign(fields, privateKey, signed.from)).toEqual(signed)
      }),
      { numRuns: 20 },
    )
  })

  it('has the sender and the fields that viem decodes', async () => {
    await fc.assert(
      fc.asyncProperty(kind, async (fields) => {
        const serialized = Hex.fromBytes(Transaction.sign(fields, KEY).raw) as TransactionSerialized // one of viem's branded hex types
        const parsed = parseTransaction(serialized)
        expect((await recoverTransactionAddress({ serializedTransaction: serialized })).toLowerCase()).toBe(SENDER)
        expect(parsed.gas ?? 0n).toBe(fields.gas)
        expect(parsed.value ?? 0n).toBe(fields.value)
        expect(parsed.nonce ?? 0).toBe(Number(fields.nonce))
        expect(parsed.data ?? '0x').toBe(Hex.fromBytes(fields.data ?? new Uint8Array()))
      }),
      { numRuns: 10 },
    )
  })

  it('has another sender after any changed byte', () => {
    const [fields] = fc.sample(kind, { seed: 7, numRuns: 1 }) as [TransactionFields]
    const { raw } = Transaction.sign(fields, KEY)
    for (let at = 0; at < raw.length; at++) {
      const changed = raw.slice()
      changed[at] = (changed[at] as number) ^ 1
      const read = decoded(changed)
      if (read !== null) expect(read.from).not.toBe(SENDER)
    }
  })

  it('is rejected when truncated anywhere or followed by a byte', () => {
    const [fields] = fc.sample(kind, { seed: 8, numRuns: 1 }) as [TransactionFields]
    const { raw } = Transaction.sign(fields, KEY)
    for (let end = 0; end < raw.length; end++) expect(() => Transaction.decode(raw.subarray(0, end))).toThrow(DecodeError)
    expect(() => Transaction.decode(Buffer.concat([raw, Uint8Array.of(0)]))).toThrow(DecodeError)
  })
})

/** Returns null if decoding throws a DecodeError. */
function decoded(raw: Uint8Array): Transaction | null {
  try {
    return Transaction.decode(raw)
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError)
    return null
  }
}

describe('a blob transaction in its network form', () => {
  const fields = { type: 3, chainId: 1, to: Address.zero, blobVersionedHashes: [`0x01${'00'.repeat(31)}` as Hash] } as const
  const sealed = Transaction.sign(fields, KEY)
  const body = Rlp.decode(sealed.raw.subarray(1))
  const wrap = (...items: RlpInput[]): Uint8Array => Rlp.encodeTyped(3, items)

  it('is decoded as the envelope inside', () => {
    const blob = new Uint8Array(131_072)
    const proof = new Uint8Array(48)
    const cellProofs = new Array<Uint8Array>(128).fill(proof)
    expect(Transaction.decode(wrap(body, [blob], [proof], [proof]))).toEqual(sealed)
    expect(Transaction.decode(wrap(body, 1, [blob], [proof], cellProofs))).toEqual(sealed)
  })

  it("equals viem's", () => {
    const blob: ViemHex = `0x${'00'.repeat(131_072)}`
    const proof: ViemHex = `0x${'00'.repeat(48)}`
    const sidecars = [{ blob, commitment: proof, proof }]
    const { r, s, v } = sealed
    const network = serializeTransaction(
      {
        type: 'eip4844',
        chainId: 1,
        to: Address.zero,
        blobVersionedHashes: fields.blobVersionedHashes,
        sidecars,
        maxFeePerBlobGas: 1n,
      } as never, // viem's type requires a kzg here too
      { r: Hash.fromBigint(r), s: Hash.fromBigint(s), yParity: Number(v) },
    )
    const read = Transaction.decode(Hex.toBytes(network))
    expect(read.raw.length).toBeLessThan(300)
    expect(Transaction.decode(read.raw)).toEqual(read)
  })

  it('is rejected with another number of blobs, or an unknown version', () => {
    for (const wrong of [
      wrap(body, [], [], []),
      wrap(body, ['0x00'], [], []),
      wrap(body, 2, ['0x00'], ['0x00'], []),
      wrap(body, '0x00', '0x00', '0x00'),
      wrap(body),
    ])
      expect(() => Transaction.decode(wrong)).toThrow(DecodeError)
  })

  it('has as many blobs, commitments and proofs as hashes, of their size', () => {
    const [blob, point] = [new Uint8Array(131_072), new Uint8Array(48)]
    const cellProofs = new Array<Uint8Array>(128).fill(point)
    for (const [wrong, reason] of [
      [wrap(body, [blob, blob], [point], [point]), 'transaction.sidecar.blobs must be 1, not 2'],
      [wrap(body, [blob], [], [point]), 'transaction.sidecar.commitments must be 1, not 0'],
      [wrap(body, [blob], [point], []), 'transaction.sidecar.proofs must be 1, not 0'],
      [wrap(body, 1, [blob], [point], [point]), 'transaction.sidecar.proofs must be 128, not 1'],
      [wrap(body, 1, [blob], [point], cellProofs.slice(1)), 'transaction.sidecar.proofs must be 128, not 127'],
      [wrap(body, [blob.slice(1)], [point], [point]), 'transaction.sidecar.blobs[0] must be 131072 bytes'],
      [wrap(body, [blob], [point.slice(1)], [point]), 'transaction.sidecar.commitments[0] must be 48 bytes'],
      [wrap(body, [blob], [point], [[]]), 'transaction.sidecar.proofs[0] must be 48 bytes'],
    ] as const)
      expect(() => Transaction.decode(wrong)).toThrow(reason)
  })
})

describe('decoding rejects a malformed transaction', () => {
  const fields = { chainId: 1337, nonce: 1n, gas: 21_000n, to: Address.zero, maxFeePerGas: 5n }
  const typed = Rlp.decode(Transaction.sign(fields, KEY).raw.subarray(1)) as readonly RlpItem[] // an envelope holds a list
  const legacy = Rlp.decode(Transaction.sign({ ...fields, type: 0 }, KEY).raw) as readonly RlpItem[] // a transaction is a list
  const withItem = (list: readonly RlpItem[], at: number, item: RlpItem): readonly RlpItem[] => list.with(at, item)
  const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values)
  const highS = Rlp.toBigint(typed[11] as Uint8Array) // a signature's s is bytes
  const flipped = Hash.toBytes(Hash.fromBigint(Secp256k1.ORDER - highS))

  it.each<[string, string, Uint8Array]>([
    ['nothing', 'transaction', bytes()],
    ['an unknown type', 'transaction.type', bytes(5, 0xc0)],
    ['type 0 as an envelope', 'transaction.type', bytes(0, 0xc0)],
    ['a string', 'transaction.type', bytes(0x83, 1, 2, 3)],
    ['an envelope without a list', 'transaction', bytes(2, 0x80)],
    ['too few fields', 'transaction', Rlp.encodeTyped(2, typed.slice(1))],
    ['too many fields', 'transaction', Rlp.encodeTyped(2, [...typed, bytes()])],
    ['a nonce with leading zeros', 'transaction.nonce', Rlp.encodeTyped(2, withItem(typed, 1, bytes(0, 1)))],
    ['a zero written as a byte', 'transaction.nonce', Rlp.encodeTyped(2, withItem(typed, 1, bytes(0)))],
    ['a nonce of nine bytes', 'transaction.nonce', Rlp.encodeTyped(2, withItem(typed, 1, new Uint8Array(9).fill(1)))],
    ['a value of 33 bytes', 'transaction.value', Rlp.encodeTyped(2, withItem(typed, 6, new Uint8Array(33).fill(1)))],
    ['a chain id beyond 2^53', 'transaction.chainId', Rlp.encodeTyped(2, withItem(typed, 0, new Uint8Array(8).fill(255)))],
    ['a recipient of 19 bytes', 'transaction.to', Rlp.encodeTyped(2, withItem(typed, 5, new Uint8Array(19)))],
    ['data that is a list', 'transaction.data', Rlp.encodeTyped(2, withItem(typed, 7, []))],
    ['an access list that is bytes', 'transaction.accessList', Rlp.encodeTyped(2, withItem(typed, 8, bytes()))],
    ['an access list item that is bytes', 'transaction.accessList', Rlp.encodeTyped(2, withItem(typed, 8, [bytes()]))],
    [
      'a short storage key',
      'transaction.accessList.storageKeys',
      Rlp.encodeTyped(2, withItem(typed, 8, [[new Uint8Array(20), [bytes(1)]]])),
    ],
    ['a y parity of 2', 'transaction.yParity', Rlp.encodeTyped(2, withItem(typed, 9, bytes(2)))],
    ['a high s', 'transaction.s', Rlp.encodeTyped(2, withItem(typed, 11, flipped))],
    ['an s of zero', 'transaction.signature', Rlp.encodeTyped(2, withItem(typed, 11, bytes()))],
    ['an r of zero', 'transaction.signature', Rlp.encodeTyped(2, withItem(typed, 10, bytes()))],
    ['a legacy v of 0', 'transaction.v', Rlp.encode(withItem(legacy, 6, bytes()))],
    ['a legacy v of 29', 'transaction.v', Rlp.encode(withItem(legacy, 6, bytes(29)))],
    ['a legacy v of a huge chain', 'transaction.v', Rlp.encode(withItem(legacy, 6, new Uint8Array(8).fill(255)))],
    [
      'a set-code transaction that creates',
      'transaction.to',
      Rlp.encodeTyped(4, [...typed.slice(0, 9), [], ...typed.slice(9)].with(5, bytes())),
    ],
    ['an authorization of five fields', 'authorization', Rlp.encodeTyped(4, [...typed.slice(0, 9), [[1, 2, 3, 4, 5]], ...typed.slice(9)])],
    ['a deposit of seven fields', 'transaction', Rlp.encodeTyped(0x7e, [1, 2, 3, 4, 5, 6, 7])],
    ['a deposit with isSystemTx 2', 'transaction.isSystemTx', Rlp.encodeTyped(0x7e, [Hash.zero, SENDER, '0x', 0, 0, 0, 2, '0x'])],
  ])('%s', (_, field, raw) => {
    const error = caught(() => Transaction.decode(raw))
    expect(error).toBeInstanceOf(DecodeError)
    expect(error).toMatchObject({ field })
  })
})

function caught(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

describe('an impersonated sender', () => {
  const fields = { chainId: 1337, nonce: 3n, gas: 21_000n, to: Address.zero, value: 5n }
  const other = Address.from(`0x${'12'.repeat(20)}`)

  it.each([0, 1, 2, 4] as const)('is in the envelope of type %d, which only decodes with `impersonated`', (type) => {
    const made = Transaction.unsigned({ ...fields, type }, other)
    expect(made).toMatchObject({ ...fields, type, from: other })
    expect(Transaction.decode(made.raw, { impersonated: true })).toEqual(made)
    expect(() => Transaction.decode(made.raw)).toThrow(/reserves for impersonated senders/)
    expect(parseTransaction(Hex.fromBytes(made.raw) as TransactionSerialized)).toMatchObject({ value: 5n }) // one of viem's branded hex types
  })

  it('may be the zero address', () => {
    const made = Transaction.unsigned(fields, Address.zero)
    expect(Transaction.decode(made.raw, { impersonated: true })).toEqual(made)
    expect(() => Transaction.decode(made.raw)).toThrow(DecodeError)
  })

  it('gives the same transaction another hash', () => {
    expect(Transaction.unsigned(fields, SENDER).hash).not.toBe(Transaction.unsigned(fields, other).hash)
  })

  it('does not replace a real signature', () => {
    const signed = Transaction.sign(fields, KEY)
    expect(Transaction.decode(signed.raw, { impersonated: true })).toEqual(signed)
  })
})

describe('an authorization', () => {
  it('hashes as in viem and recovers its signer', () => {
    fc.assert(
      fc.property(fc.record({ chainId: uint(30), address, nonce: uint(50) }), key, (fields, privateKey) => {
        const { chainId, nonce } = fields
        const judged = hashAuthorization({ address: fields.address, chainId: Number(chainId), nonce: Number(nonce) })
        expect(Authorization.signingHash(fields)).toBe(judged)
        const signed = Authorization.sign(fields, privateKey)
        expect(signed.authority).toBe(Secp256k1.address(privateKey))
        expect(Authorization.recover(signed)).toBe(signed.authority)
        expect(Authorization.fromRlp(Rlp.decode(Rlp.encode(Authorization.toRlp(signed))))).toEqual(signed)
      }),
      { numRuns: 20 },
    )
  })

  it('with an invalid signature is decoded without an authority', () => {
    const signed = Authorization.sign({ chainId: 1n, address: Address.zero, nonce: 0n }, KEY)
    const flipped = { ...signed, s: Secp256k1.ORDER - signed.s, yParity: 1 - signed.yParity }
    for (const wrong of [flipped, { ...signed, yParity: 200 }, { ...signed, r: 0n }]) {
      const list = [Authorization.toRlp(wrong)]
      const envelope = Rlp.encode(list)
      expect(Authorization.fromRlp((Rlp.decode(envelope) as RlpItem[])[0] as RlpItem).authority).toBeNull() // a list of one
    }
  })
})

describe('a deposit', () => {
  // base/node-reth, crates/client tests: the L1-attributes transaction of one Ecotone block.
  const RAW =
    '0x7ef8f8a042a8ae5ec231af3d0f90f68543ec8bca1da4f7edd712d5b51b490688355a6db794deaddeaddeaddeaddeaddeaddeaddeaddead0001944200000000000000000000000000000000000015' +
    '8080830f424080b8a4440a5e200000044d000a118b00000000000000040000000067cb7cb0000000000077dbd4000000000000000000000000000000000000000000000000000000000000000a' +
    '00000000000000000000000000000000000000000000000000000000000000014edd27304108914dd6503b19b9eeb9956982ef197febbeeed8a9eac3dbaaabdf' +
    '000000000000000000000000fc56e7272eebbba5bc6c544e159483c4a38f8ba3'
  const L1_HASH = Hash.from('0x4edd27304108914dd6503b19b9eeb9956982ef197febbeeed8a9eac3dbaaabdf')

  it('round-trips', () => {
    const read = Transaction.decode(Hex.toBytes(RAW))
    expect(read).toMatchObject({
      type: 0x7e,
      hash: '0x2be2e6f8b01b03b87ae9f0ebca8bbd420f174bef0fbcc18c7802c5378b78f548',
      from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001',
      to: '0x4200000000000000000000000000000000000015',
      chainId: null,
      gas: 1_000_000n,
      value: 0n,
      deposit: { sourceHash: SourceHash.l1Attributes(L1_HASH, 4n), mint: 0n, isSystemTx: false },
    })
    expect(Hex.fromBytes(Transaction.encode(read))).toBe(RAW)
    expect(Transaction.deposit({ ...read, sourceHash: SourceHash.l1Attributes(L1_HASH, 4n), mint: 0n, isSystemTx: false })).toEqual(read)
  })

  it('keeps every field', () => {
    const fields = fc.record({
      sourceHash: hash,
      from: address,
      to,
      mint: uint(128),
      value: uint(256),
      gas: uint(64),
      isSystemTx: fc.boolean(),
      data: fc.uint8Array({ maxLength: 80 }),
    })
    fc.assert(
      fc.property(fields, (given) => {
        const made = Transaction.deposit(given)
        const { sourceHash, mint, isSystemTx, ...rest } = given
        expect(made).toMatchObject({ ...rest, deposit: { sourceHash, mint, isSystemTx } })
        expect(Transaction.decode(made.raw)).toEqual(made)
      }),
    )
  })

  it('of a network upgrade is identified by its intent', () => {
    expect(SourceHash.upgrade('Jovian: L1Block Deployment')).toBe('0x98faf23b9795967bc0b1c543144739d50dba3ea40420e77ad6ca9848dbfb62e8')
  })

  it('of a user is identified by its block and log', () => {
    expect(SourceHash.user(L1_HASH, 4n)).not.toBe(SourceHash.l1Attributes(L1_HASH, 4n))
    const expected = keccak256(
      Buffer.concat([new Uint8Array(32), keccak256(Buffer.concat([Hash.toBytes(L1_HASH), Hash.toBytes(Hash.fromBigint(4n))]))]),
    )
    expect(SourceHash.user(L1_HASH, 4n)).toBe(Hash.from(expected))
  })
})

describe.skipIf(!hasVectors)('recorded chains', () => {
  it('every transaction of the L1 chain round-trips', () => {
    const types = new Map<number, number>()
    for (const block of Block.decodeChain(chainRlp()))
      for (const transaction of block.transactions) {
        types.set(transaction.type, (types.get(transaction.type) ?? 0) + 1)
        expect(Transaction.encode(transaction)).toEqual(transaction.raw)
        expect(Transaction.decode(transaction.raw)).toEqual(transaction)
      }
    expect([...types.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
    expect([...types.values()].reduce((sum, count) => sum + count, 0)).toBe(249)
  })

  it('every transaction of the OP Sepolia blocks round-trips; each block begins with a deposit identified by its L1 block', () => {
    for (const block of opTransactions()) {
      for (const raw of block) expect(Hex.fromBytes(Transaction.encode(Transaction.decode(Hex.toBytes(raw))))).toBe(raw)
      const { data, deposit } = Transaction.decode(Hex.toBytes(block[0] as Hex)) // never empty
      const sequenceNumber = Rlp.toBigint(data.subarray(12, 20))
      expect(deposit?.sourceHash).toBe(SourceHash.l1Attributes(Hash.from(data.subarray(100, 132)), sequenceNumber))
    }
  })
})
