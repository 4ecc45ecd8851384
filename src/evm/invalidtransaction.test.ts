import { expect, test } from 'vitest'
import { Address, Hash } from '../eth/index.ts'
import { ALICE, BOB, contextOf, ETHER, GWEI, isUntouched, l1Config, Memory, message, opConfig } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import type { ChainConfig } from './forks.ts'
import type { Message } from './message.ts'
import { InvalidTransaction, type InvalidTransactionCode } from './invalidtransaction.ts'
import { World } from './world.ts'

const CONTRACT_CODE = '0x6001'
const DELEGATED = `0xef0100${'11'.repeat(20)}` as const
const WHO = `address ${Address.checksum(ALICE)}`
const PRAGUE = l1Config('prague')
const blob = Hash.from(`0x01${'00'.repeat(31)}`)
const authorization = { chainId: 0n, address: BOB, nonce: 0n, yParity: 0, r: 1n, s: 1n, authority: null }
const blobs = (count: number): Partial<Message> => ({
  type: 3,
  blobVersionedHashes: new Array<Hash>(count).fill(blob),
  maxFeePerBlobGas: 10n,
})

interface Case {
  readonly code: InvalidTransactionCode
  readonly expectedMessage: string
  readonly message: Partial<Message>
  readonly config?: ChainConfig
  readonly sender?: ConstructorParameters<typeof Memory>[0][string]
}

const cases: readonly Case[] = [
  { code: 'type-not-supported', expectedMessage: 'transaction type not supported: 3', message: blobs(1), config: opConfig('isthmus') },
  { code: 'type-not-supported', expectedMessage: 'transaction type not supported: 4', message: { type: 4 }, config: l1Config('cancun') },
  {
    code: 'type-not-supported',
    expectedMessage: 'transaction type not supported: 126',
    message: { type: 0x7e, deposit: { sourceHash: Hash.zero, mint: 1n, isSystemTx: false } },
  },
  { code: 'nonce-too-low', expectedMessage: `nonce too low: ${WHO}, tx: 0 state: 5`, message: {}, sender: { nonce: 5n } },
  { code: 'nonce-too-high', expectedMessage: `nonce too high: ${WHO}, tx: 7 state: 0`, message: { nonce: 7n } },
  {
    code: 'nonce-max',
    expectedMessage: `nonce has max value: ${WHO}, nonce: 18446744073709551615`,
    message: { nonce: 2n ** 64n - 1n },
    sender: { nonce: 2n ** 64n - 1n },
  },
  {
    code: 'gas-limit-cap',
    expectedMessage: 'transaction gas limit too high (cap: 16777216, tx: 16777217)',
    message: { gas: 16_777_217n },
    config: l1Config('osaka'),
  },
  { code: 'sender-not-eoa', expectedMessage: `sender not an eoa: ${WHO}, len(code): 2`, message: {}, sender: { code: CONTRACT_CODE } },
  {
    code: 'tip-above-fee-cap',
    expectedMessage: `max priority fee per gas higher than max fee per gas: ${WHO}, maxPriorityFeePerGas: 4000000000, maxFeePerGas: 3000000000`,
    message: { maxPriorityFeePerGas: 4n * GWEI },
  },
  {
    code: 'fee-cap-below-base-fee',
    expectedMessage: `max fee per gas less than block base fee: ${WHO}, maxFeePerGas: 1, baseFee: 1000000000`,
    message: { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
  },
  { code: 'blob-creation', expectedMessage: 'blob transaction of type create', message: { ...blobs(1), to: null } },
  { code: 'blob-hashes-missing', expectedMessage: 'blob transaction missing blob hashes', message: blobs(0) },
  {
    code: 'blob-count',
    expectedMessage: 'blob transaction has too many blobs: have 10, permitted 9',
    message: blobs(10),
  },
  {
    code: 'blob-count',
    expectedMessage: 'blob transaction has too many blobs: have 7, permitted 6',
    message: blobs(7),
    config: l1Config('osaka'),
  },
  {
    code: 'blob-hash-version',
    expectedMessage: 'blob 1 has invalid hash version',
    message: { ...blobs(1), blobVersionedHashes: [blob, Hash.zero] },
  },
  {
    code: 'blob-fee-cap-below-base-fee',
    expectedMessage: `max fee per blob gas less than block blob gas fee: ${WHO} blobGasFeeCap: 0, blobBaseFee: 1`,
    message: { ...blobs(1), maxFeePerBlobGas: 0n },
  },
  {
    code: 'authorization-creation',
    expectedMessage: `EIP-7702 transaction cannot be used to create contract (sender ${Address.checksum(ALICE)})`,
    message: { type: 4, to: null, authorizationList: [authorization] },
  },
  {
    code: 'empty-authorization-list',
    expectedMessage: `EIP-7702 transaction with empty auth list (sender ${Address.checksum(ALICE)})`,
    message: { type: 4 },
  },
  {
    code: 'insufficient-funds',
    expectedMessage: `insufficient funds for gas * price + value: ${WHO} have 7 want 300000000000009`,
    message: { value: 9n },
    sender: { balance: 7n },
  },
  {
    code: 'insufficient-funds',
    expectedMessage: `insufficient funds for gas * price + value: ${WHO} required balance exceeds 256 bits`,
    message: { value: 2n ** 256n - 1n },
  },
  { code: 'intrinsic-gas', expectedMessage: 'intrinsic gas too low: have 20999, want 21000', message: { gas: 20_999n } },
  {
    code: 'intrinsic-gas',
    expectedMessage: 'intrinsic gas too low: have 53000, want 53006',
    message: { to: null, gas: 53_000n, data: new Uint8Array(1) },
    config: l1Config('shanghai'),
  },
  {
    code: 'floor-gas',
    expectedMessage: 'insufficient gas for floor data gas cost: have 38000, want 61000',
    message: { gas: 38_000n, data: new Uint8Array(1_000).fill(1) },
  },
  {
    code: 'init-code-size',
    expectedMessage: 'max initcode size exceeded: code size 49153 limit 49152',
    message: { to: null, gas: 3_000_000n, data: new Uint8Array(49_153) },
  },
]

test.each(cases)('$code: $expectedMessage', ({ code, expectedMessage, message: changes, config = PRAGUE, sender = {} }) => {
  const world = new World(new Memory({ [ALICE]: { balance: ETHER, ...sender } }))
  const mark = world.checkpoint()
  const send = () => executeTransaction(message(changes), contextOf(config), world)
  expect(send).toThrow(InvalidTransaction)
  expect(send).toThrow(expect.objectContaining({ code, message: expectedMessage }))
  expect(isUntouched(world.writes())).toBe(true)
  expect(world.checkpoint()).toBe(mark)
})

test('an invalid transaction leaves earlier transactions of the block unchanged', () => {
  const world = new World(new Memory({ [ALICE]: { balance: ETHER } }))
  executeTransaction(message({ value: 5n }), contextOf(PRAGUE), world)
  const before = world.writes()
  expect(() => executeTransaction(message(), contextOf(PRAGUE), world)).toThrow('nonce too low')
  expect(world.writes()).toEqual(before)
  expect(world.balance(BOB)).toBe(5n)
})

test('a delegating account may send', () => {
  const world = new World(new Memory({ [ALICE]: { balance: ETHER, code: DELEGATED } }))
  const { outcome } = executeTransaction(message(), contextOf(PRAGUE), world)
  expect(outcome.kind).toBe('success')
})

test('a call skips nonce, sender code, fees and gas cap but checks the value', () => {
  const world = new World(new Memory({ [ALICE]: { nonce: 5n, balance: 3n, code: CONTRACT_CODE } }))
  const call = { skipNonce: true, skipFees: true, skipGasCap: true }
  const context = contextOf(l1Config('osaka'))
  const request = { gas: 50_000_000n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  const { outcome } = executeTransaction(message({ ...request, value: 3n }), context, world, call)
  expect(outcome.kind).toBe('success')
  const refused = () => executeTransaction(message({ ...request, value: 1n }), context, world, call)
  const why = { code: 'insufficient-funds', message: expect.stringContaining('have 0 want 1') as string }
  expect(refused).toThrow(expect.objectContaining(why))
})

test('a call checks its blob fee cap, unless it has none', () => {
  const { env, ...context } = contextOf(PRAGUE)
  const world = new World(new Memory({ [ALICE]: { balance: ETHER } }))
  const free = { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  const call = (maxFeePerBlobGas: bigint) =>
    executeTransaction(message({ ...blobs(1), ...free, maxFeePerBlobGas }), { ...context, env: { ...env, blobBaseFee: 2n } }, world, {
      skipNonce: true,
      skipFees: true,
    })
  expect(() => call(1n)).toThrow(expect.objectContaining({ code: 'blob-fee-cap-below-base-fee' }))
  for (const cap of [0n, 2n]) expect(call(cap).outcome.kind).toBe('success')
})
