import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { ALICE, GWEI, KEYS, LOGGER_INIT_CODE, RECIPIENT, sealedOf, signed, startedChain, testChain } from '../../chain/chain.fixture.ts'
import type { CadenceKind } from '../../chain/index.ts'
import { importChain, parseGenesis } from '../../chain/index.ts'
import { bytes, hasVectors, text } from '../../chain/vectors.fixture.ts'
import { Address, Authorization, Bloom, Hash, Hex, Transaction } from '../../eth/index.ts'
import type { Block, Header, L1Cost, Log, Receipt, TransactionFields, Withdrawal } from '../../eth/index.ts'

export { hasVectors }

/** Sealed blocks of a chain, genesis first: a creation, logs in transactions of several types, an empty block. */
export async function chainBlocks(kind: CadenceKind): Promise<readonly Block[]> {
  const { chain, clock, events } = await startedChain(kind)
  const seal = async () => {
    await (kind === 'manual' ? chain.mine(1) : clock.advance(2_000))
  }
  const logger = Address.create(ALICE, 0n)
  const call = (nonce: bigint, topic: bigint): TransactionFields => ({
    nonce,
    to: logger,
    data: Hex.toBytes(Hash.fromBigint(topic)),
    gas: 200_000n,
    value: 0n,
  })
  const accessList = [{ address: logger, storageKeys: [Hash.zero, Hash.fromBigint(7n)] }]
  const authorizationList = [Authorization.sign({ chainId: 31_337n, address: logger, nonce: 0n }, KEYS[1]!)]
  await chain.submit(signed({ to: null, data: LOGGER_INIT_CODE, gas: 200_000n, value: 0n }))
  await seal()
  await chain.submit(signed({ ...call(1n, 1n), type: 0, maxFeePerGas: 10n * GWEI }))
  await chain.submit(signed({ ...call(2n, 2n), type: 1, maxFeePerGas: 10n * GWEI, accessList }))
  await chain.submit(signed({ ...call(3n, 3n), accessList }))
  await chain.submit(signed({ ...call(4n, 4n), type: 4, authorizationList }))
  await chain.submit(signed({ to: RECIPIENT }, 2))
  await seal()
  await chain.submit(signed(call(5n, 5n)))
  await seal()
  await seal()
  return [chain.genesis, ...sealedOf(events).map(({ block }) => block)]
}

/** The record of a block in format 2, with a call that emits a log and a creation. */
export function formerRecord(): Uint8Array {
  const file = readFileSync(new URL('format2.fixture.hex', import.meta.url), 'utf8')
  return Uint8Array.from(Buffer.from(file.replaceAll('\n', ''), 'hex'))
}

/** The 54 blocks of ethereum/execution-apis, executed: frontier to Osaka, every type but deposits. */
export async function importedBlocks(): Promise<readonly Block[]> {
  const genesis = parseGenesis(text('rpc-compat/genesis.json'), () => {
    throw new Error('the file has its own rules')
  })
  const { chain, events } = testChain('manual', { genesis })
  await importChain(chain, bytes('rpc-compat/chain.rlp'))
  return [chain.genesis, ...sealedOf(events).map(({ block }) => block)]
}

// --- arbitrary blocks ----------------------------------------------------------------------------------------------------------------

const uint = (bits: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
/** Objects with the prototype of literals. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record(model, { noNullPrototype: true })
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null })
const blob = (maxLength: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength })
const someAddress = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((value) => Address.from(value))
const someHash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((value) => Hash.from(value))
const someBloom = fc.oneof(
  fc.constant(new Uint8Array(256)),
  fc.array(someHash, { maxLength: 3 }).map((topics) => Bloom.ofLogs([{ address: Address.zero, topics, data: new Uint8Array() }])),
  fc.integer({ min: 1, max: 140 }).map(bloomOfBits),
  fc.uint8Array({ minLength: 256, maxLength: 256 }),
)

/** A bloom with `count` bits, the last one among them. */
export function bloomOfBits(count: number): Uint8Array {
  const bloom = new Uint8Array(256)
  for (let i = 0; i < count; i++) {
    const bit = i === count - 1 ? 2047 : i * 14 + (i % 3)
    bloom[bit >> 3]! |= 0x80 >> (bit & 7)
  }
  return bloom
}

const someLog: fc.Arbitrary<Log> = record({
  address: someAddress,
  topics: fc.array(someHash, { maxLength: 4 }),
  data: fc.oneof(
    blob(70),
    fc.integer({ min: 0, max: 20_000 }).map((size) => new Uint8Array(size).fill(size)),
  ),
})

const someAccessList = fc.array(record({ address: someAddress, storageKeys: fc.array(someHash, { maxLength: 3 }) }), { maxLength: 3 })
const someAuthorization = record({
  chainId: uint(256),
  address: someAddress,
  nonce: uint(64),
  yParity: fc.integer({ min: 0, max: 255 }),
  r: uint(256),
  s: uint(256),
  authority: orNull(someAddress),
})

const call = { nonce: uint(64), gas: uint(64), value: uint(256), data: blob(80), to: orNull(someAddress) }
const chainId = fc.oneof(fc.integer({ min: 0, max: 2 ** 31 }), fc.maxSafeNat())
const fees = { maxFeePerGas: uint(256), maxPriorityFeePerGas: uint(128) }

const someFields: readonly fc.Arbitrary<TransactionFields>[] = [
  record({ type: fc.constant(0 as const), chainId: orNull(chainId), ...call, maxFeePerGas: uint(256) }),
  record({ type: fc.constant(1 as const), chainId, ...call, maxFeePerGas: uint(256), accessList: someAccessList }),
  record({ type: fc.constant(2 as const), chainId, ...call, ...fees, accessList: someAccessList }),
  record({
    type: fc.constant(3 as const),
    chainId,
    ...call,
    to: someAddress,
    ...fees,
    accessList: someAccessList,
    maxFeePerBlobGas: uint(256),
    blobVersionedHashes: fc.array(someHash, { maxLength: 4 }),
  }),
  record({
    type: fc.constant(4 as const),
    chainId,
    ...call,
    to: someAddress,
    ...fees,
    accessList: someAccessList,
    authorizationList: fc.array(someAuthorization, { maxLength: 3 }),
  }),
]

const someSigned = fc
  .tuple(fc.oneof(...someFields), fc.integer({ min: 0, max: KEYS.length - 1 }))
  .map(([fields, key]) => Transaction.sign(fields, KEYS[key]!))
const someUnsigned = fc.tuple(fc.oneof(...someFields), someAddress).map(([fields, from]) => Transaction.unsigned(fields, from))
const someDeposit = record({ ...call, from: someAddress, sourceHash: someHash, mint: uint(256), isSystemTx: fc.boolean() }).map((fields) =>
  Transaction.deposit(fields),
)

export const someTransaction: fc.Arbitrary<Transaction> = fc.oneof(someSigned, someUnsigned, someUnsigned, someDeposit)

const someL1: fc.Arbitrary<L1Cost> = record({
  gasPrice: uint(256),
  gasUsed: uint(64),
  fee: uint(256),
  baseFeeScalar: uint(32),
  blobBaseFee: uint(128),
  blobBaseFeeScalar: uint(32),
  operatorFeeScalar: orNull(fc.oneof(fc.constant(0n), uint(32))),
  operatorFeeConstant: orNull(fc.oneof(fc.constant(0n), uint(64))),
  daFootprintGasScalar: orNull(uint(16)),
})

/** `firstLogIndex` and `type` depend on the block. */
const someReceipt: fc.Arbitrary<Omit<Receipt, 'type' | 'firstLogIndex'>> = record({
  status: fc.constantFrom(0, 1, null),
  root: orNull(someHash),
  cumulativeGasUsed: uint(64),
  logsBloom: someBloom,
  logs: fc.array(someLog, { maxLength: 5 }),
  gasUsed: uint(64),
  effectiveGasPrice: uint(256),
  contractAddress: orNull(someAddress),
  blobGasUsed: orNull(uint(64)),
  blobGasPrice: orNull(uint(128)),
  depositNonce: orNull(uint(64)),
  depositReceiptVersion: orNull(fc.constant(1)),
  l1: orNull(someL1),
})

/** A header of any fork. */
const someHeader: fc.Arbitrary<Header> = record({
  parentHash: someHash,
  ommersHash: someHash,
  coinbase: someAddress,
  stateRoot: someHash,
  transactionsRoot: someHash,
  receiptsRoot: someHash,
  logsBloom: someBloom,
  difficulty: uint(128),
  number: fc.oneof(fc.nat(), fc.maxSafeNat()),
  gasLimit: uint(64),
  gasUsed: uint(64),
  timestamp: fc.oneof(fc.nat(), fc.maxSafeNat()),
  extraData: blob(40),
  mixHash: someHash,
  nonce: fc.uint8Array({ minLength: 8, maxLength: 8 }),
  baseFeePerGas: uint(256),
  withdrawalsRoot: someHash,
  blobGasUsed: uint(64),
  excessBlobGas: uint(64),
  parentBeaconBlockRoot: someHash,
  requestsHash: someHash,
  laterCount: fc.constantFrom(0, 1, 2, 5, 6),
}).map(({ laterCount, ...header }) => {
  const until = <T>(index: number, value: T): T | null => (index < laterCount ? value : null)
  return {
    ...header,
    baseFeePerGas: until(0, header.baseFeePerGas),
    withdrawalsRoot: until(1, header.withdrawalsRoot),
    blobGasUsed: until(2, header.blobGasUsed),
    excessBlobGas: until(3, header.excessBlobGas),
    parentBeaconBlockRoot: until(4, header.parentBeaconBlockRoot),
    requestsHash: until(5, header.requestsHash),
  }
})

const someWithdrawal: fc.Arbitrary<Withdrawal> = record({
  index: uint(64),
  validatorIndex: uint(64),
  address: someAddress,
  amount: uint(64),
})

/** Arbitrary sealed blocks; only the counts are consistent. */
export const someBlock: fc.Arbitrary<Block> = record({
  header: someHeader,
  hash: someHash.filter((hash) => hash !== Hash.zero),
  run: fc.array(fc.tuple(someTransaction, someReceipt), { maxLength: 6 }),
  ommers: fc.array(someHeader, { maxLength: 2 }),
  withdrawals: orNull(fc.array(someWithdrawal, { maxLength: 3 })),
  timestampMs: orNull(fc.maxSafeNat()),
  sizeBytes: fc.maxSafeNat(),
}).map(({ run, ...block }) => ({
  ...block,
  transactions: run.map(([tx]) => tx),
  receipts: withPlaces(run.map(([tx, receipt]) => ({ ...receipt, type: tx.type, root: receipt.status === null ? receipt.root : null }))),
}))

function withPlaces(receipts: readonly Omit<Receipt, 'firstLogIndex'>[]): readonly Receipt[] {
  let firstLogIndex = 0
  return receipts.map((receipt) => {
    const placed = { ...receipt, firstLogIndex }
    firstLogIndex += receipt.logs.length
    return placed
  })
}
