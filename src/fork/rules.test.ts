import { describe, expect, test } from 'vitest'
import { Address, EMPTY_OMMERS, EMPTY_REQUESTS_HASH, EMPTY_ROOT, Bloom, Hash, Hex } from '../eth/index.ts'
import type { Header } from '../eth/index.ts'
import { hardforkOf } from './rules.ts'

const JOVIAN = '0x01000000fa000000060000000000000000'
const HOLOCENE = '0x00000000fa00000006'

/** A header of an OP chain, by default with what Jovian writes into it. */
function headerAt(timestamp: number, extraData: Hex = JOVIAN, withdrawalsRoot = Hash.from(`0x${'8e'.repeat(32)}`)): Header {
  return {
    parentHash: Hash.zero,
    ommersHash: EMPTY_OMMERS,
    coinbase: Address.zero,
    stateRoot: EMPTY_ROOT,
    transactionsRoot: EMPTY_ROOT,
    receiptsRoot: EMPTY_ROOT,
    logsBloom: Bloom.empty,
    difficulty: 0n,
    number: 1_000,
    gasLimit: 60_000_000n,
    gasUsed: 0n,
    timestamp,
    extraData: Hex.toBytes(extraData),
    mixHash: Hash.zero,
    nonce: new Uint8Array(8),
    baseFeePerGas: 1n,
    withdrawalsRoot,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: Hash.zero,
    requestsHash: EMPTY_REQUESTS_HASH,
  }
}

describe('the hardfork of a block of an OP chain', () => {
  test.each([
    ['OP Mainnet', 10, 1_783_526_401],
    ['Unichain', 130, 1_783_526_401],
    ['Soneium', 1_868, 1_783_526_401],
    ['Lisk', 1_135, 1_783_526_401],
    ['Metal', 1_750, 1_783_526_401],
    ['Mode', 34_443, 1_783_526_401],
    ['Ink', 57_073, 1_783_526_401],
    ['Zora', 7_777_777, 1_783_526_401],
    ['World Chain', 480, 1_789_992_000],
    ['OP Sepolia', 11_155_420, 1_781_712_001],
    ['Ink Sepolia', 763_373, 1_781_712_001],
    ['World Chain Sepolia', 4_801, 1_788_868_800],
  ])('of %s is Karst from its time on', (_, chainId, karst) => {
    expect(hardforkOf(chainId, headerAt(karst), true)).toBe('karst')
    expect(hardforkOf(chainId, headerAt(karst - 1), true)).toBe('jovian')
  })

  test.each([
    ['Base', 8_453, 1_779_991_200],
    ['Base Sepolia', 84_532, 1_776_708_000],
  ])('of %s is Azul from its time on, and never Karst', (_, chainId, azul) => {
    expect(hardforkOf(chainId, headerAt(azul - 1), true)).toBe('jovian')
    expect(hardforkOf(chainId, headerAt(azul), true)).toBe('azul')
    expect(hardforkOf(chainId, headerAt(1_790_000_000), true)).toBe('azul')
  })

  test.each([
    ['fjord', 1_726_070_400],
    ['granite', 1_726_070_401],
    ['holocene', 1_736_445_601],
    ['isthmus', 1_746_806_401],
    ['jovian', 1_764_691_201],
  ] as const)('is %s by the time of the chain, although the header shows none', (fork, timestamp) => {
    expect(hardforkOf(10, headerAt(timestamp, '0x', EMPTY_ROOT), true)).toBe(fork)
  })

  test('is what the header shows, if that is later than the known schedule or the chain is unknown', () => {
    // BOB has no time of Jovian in the registry.
    expect(hardforkOf(60_808, headerAt(1_790_000_000), true)).toBe('jovian')
    expect(hardforkOf(60_808, headerAt(1_790_000_000, HOLOCENE), true)).toBe('isthmus')
    expect(hardforkOf(999, headerAt(1_790_000_000), true)).toBe('jovian')
    expect(hardforkOf(999, headerAt(1_790_000_000, HOLOCENE, EMPTY_ROOT), true)).toBe('holocene')
    expect(hardforkOf(999, headerAt(1_790_000_000, '0x', EMPTY_ROOT), true)).toBe('granite')
  })
})

test('the hardfork of a block of Ethereum is by its time, else by its header', () => {
  expect(hardforkOf(1, headerAt(1_764_798_551, '0x', EMPTY_ROOT), false)).toBe('osaka')
  expect(hardforkOf(1, headerAt(1_764_798_550, '0x', EMPTY_ROOT), false)).toBe('prague')
})
