import { describe, expect, test } from 'vitest'
import { contextOf, GWEI, l1Config, message } from './evm.fixture.ts'
import { blobBaseFee, effectiveGasPrice, nextExcessBlobGas } from './fees.ts'
import { floorGas, intrinsicGas, refundCap } from './gas.ts'
import type { L1Fork } from './forks.ts'

const rules = (fork: L1Fork) => contextOf(l1Config(fork)).rules
const BLOB = 131_072n

test('the effective gas price is base fee plus tip up to the cap; before London the gas price', () => {
  const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 3n }
  expect(effectiveGasPrice(fees, 5n)).toBe(8n)
  expect(effectiveGasPrice(fees, 9n)).toBe(10n)
  expect(effectiveGasPrice({ maxFeePerGas: 10n, maxPriorityFeePerGas: 10n }, null)).toBe(10n)
})

describe('blob gas', () => {
  test('the base fee multiplies by e per update fraction of excess', () => {
    const cancun = { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n }
    expect(blobBaseFee(0n, cancun)).toBe(1n)
    expect(blobBaseFee(2_314_057n, cancun)).toBe(1n)
    expect(blobBaseFee(2_314_058n, cancun)).toBe(2n)
    expect(blobBaseFee(10n * 1024n * 1024n, cancun)).toBe(23n)
  })

  test('the excess is the usage above target', () => {
    const parent = { excessBlobGas: BLOB, blobGasUsed: 6n * BLOB, baseFeePerGas: 0n }
    expect(nextExcessBlobGas(parent, rules('cancun'))).toBe(4n * BLOB)
    expect(nextExcessBlobGas(parent, rules('prague'))).toBe(BLOB)
    expect(nextExcessBlobGas({ ...parent, blobGasUsed: 0n }, rules('prague'))).toBe(0n)
    expect(nextExcessBlobGas({ excessBlobGas: null, blobGasUsed: null, baseFeePerGas: null }, rules('cancun'))).toBe(0n)
  })

  test('EIP-7918: while blobs are cheaper than execution, the target is not subtracted', () => {
    const parent = { excessBlobGas: 20n * BLOB, blobGasUsed: 6n * BLOB, baseFeePerGas: GWEI }
    expect(nextExcessBlobGas(parent, rules('osaka'))).toBe(20n * BLOB + (6n * BLOB * 3n) / 9n)
    expect(nextExcessBlobGas({ ...parent, baseFeePerGas: 1n }, rules('osaka'))).toBe(20n * BLOB)
  })

  test('default schedules apply without a genesis schedule', () => {
    expect(rules('bpo1').blob).toMatchObject({ target: 10, max: 15 })
    expect(rules('bpo2').blob).toMatchObject({ target: 14, max: 21 })
    expect(rules('shanghai').blob).toBeNull()
  })
})

describe('intrinsic gas', () => {
  const data = Uint8Array.of(0, 0, 1)

  test.each([
    ['frontier', { to: null, data }, 21_000n + 8n + 68n],
    ['homestead', { to: null, data }, 53_000n + 8n + 68n],
    ['istanbul', { data }, 21_000n + 8n + 16n],
    ['shanghai', { to: null, data: new Uint8Array(33) }, 53_000n + 132n + 4n],
  ] as const)('%s', (fork, changes, gas) => {
    expect(intrinsicGas(message(changes), rules(fork))).toBe(gas)
  })

  test('access lists and authorizations', () => {
    const { from: address } = message()
    const authorization = { chainId: 0n, address, nonce: 0n, yParity: 0, r: 1n, s: 1n, authority: null }
    const zero = contextOf(l1Config('prague')).env.prevRandao
    const request = message({ accessList: [{ address, storageKeys: [zero, zero] }], authorizationList: [authorization] })
    expect(intrinsicGas(request, rules('prague'))).toBe(21_000n + 2_400n + 3_800n + 25_000n)
  })

  test('the floor since Prague', () => {
    expect(floorGas({ data }, rules('prague'))).toBe(21_000n + 60n)
    expect(floorGas({ data }, rules('cancun'))).toBe(0n)
  })

  test('refunds are capped at a half, since London a fifth', () => {
    expect(refundCap(100n, rules('berlin'))).toBe(50n)
    expect(refundCap(100n, rules('london'))).toBe(20n)
  })
})
