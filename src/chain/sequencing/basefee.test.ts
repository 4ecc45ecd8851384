import { describe, expect, test } from 'vitest'
import { Hex } from '../../eth/index.ts'
import type { Header } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import type { ChainConfig, OpFork } from '../../evm/index.ts'
import { decodeExtraData, encodeExtraData, nextBaseFee } from './basefee.ts'
import { testChain } from '../chain.fixture.ts'
import { opConfig } from '../genesis/defaultgenesis.ts'

const { chain } = testChain('manual')
const GENESIS = chain.genesis.header
const NONE = { codeSizeLimit: null, transactionGasCap: null }

function parent(changes: Partial<Header>): Header {
  return { ...GENESIS, baseFeePerGas: 1_000_000_000n, extraData: new Uint8Array(0), blobGasUsed: 0n, ...changes }
}

function feeAfter(header: Header, config: ChainConfig): bigint | null {
  return nextBaseFee(header, config, rulesAt(config, header.number + 1, header.timestamp + 1))
}

function op(fork: OpFork): ChainConfig {
  return opConfig(10, fork, 0, NONE)
}

const L1: ChainConfig = { ...op('azul'), op: null }

describe('L1', () => {
  // geth, consensus/misc/eip1559 TestCalcBaseFee
  test.each([
    [10_000_000n, 1_000_000_000n],
    [9_000_000n, 987_500_000n],
    [11_000_000n, 1_012_500_000n],
  ])('a parent that used %i of 20,000,000 gas gives %i', (gasUsed, fee) => {
    expect(feeAfter(parent({ gasLimit: 20_000_000n, gasUsed }), L1)).toBe(fee)
  })

  test('rises by at least 1 wei and never falls below 0', () => {
    expect(feeAfter(parent({ gasLimit: 20_000_000n, gasUsed: 10_000_001n, baseFeePerGas: 7n }), L1)).toBe(8n)
    expect(feeAfter(parent({ gasLimit: 20_000_000n, gasUsed: 0n, baseFeePerGas: 0n }), L1)).toBe(0n)
    expect(feeAfter(parent({ gasLimit: 20_000_000n, gasUsed: 0n, baseFeePerGas: 7n }), L1)).toBe(7n)
  })

  test('is 1 gwei in the first London block and absent before', () => {
    const berlin: ChainConfig = { ...L1, l1: [{ fork: 'berlin', block: 0, timestamp: null }] }
    expect(feeAfter(parent({ baseFeePerGas: null }), L1)).toBe(1_000_000_000n)
    expect(feeAfter(parent({ baseFeePerGas: null }), berlin)).toBeNull()
  })
})

describe('OP chains', () => {
  // op-geth, consensus/misc/eip1559 TestCalcBaseFeeOptimism
  test.each([
    ['regolith', 5_000_000n, 1_000_000_000n],
    ['regolith', 4_000_000n, 996_000_000n],
    ['regolith', 10_000_000n, 1_020_000_000n],
    ['canyon', 5_000_000n, 1_000_000_000n],
    ['canyon', 4_000_000n, 999_200_000n],
    ['canyon', 10_000_000n, 1_004_000_000n],
  ] as const)('%s: a parent that used %i of 30,000,000 gas gives %i', (fork, gasUsed, fee) => {
    expect(feeAfter(parent({ gasLimit: 30_000_000n, gasUsed }), op(fork))).toBe(fee)
  })

  test('Holocene takes the parameters from the parent’s extra data; Canyon’s apply if it is empty or zero', () => {
    const full = { gasLimit: 30_000_000n, gasUsed: 30_000_000n }
    // denominator 100, elasticity 2: (30 - 15) / 15 / 100
    expect(feeAfter(parent({ ...full, extraData: Hex.toBytes('0x000000006400000002') }), op('holocene'))).toBe(1_010_000_000n)
    // denominator 250, elasticity 6: (30 - 5) / 5 / 250
    for (const extraData of [new Uint8Array(0), new Uint8Array(9)])
      expect(feeAfter(parent({ ...full, extraData }), op('holocene'))).toBe(1_020_000_000n)
    // before Holocene, extra data is free text
    expect(feeAfter(parent({ ...full, extraData: Hex.toBytes('0x000000006400000002') }), op('granite'))).toBe(1_020_000_000n)
  })

  test('Jovian: never below the minimum base fee in the parent’s extra data', () => {
    const extraData = Hex.toBytes('0x01000000640000000500000000004c4b40')
    const quiet = { gasLimit: 30_000_000n, gasUsed: 0n, extraData }
    expect(feeAfter(parent({ ...quiet, baseFeePerGas: 5_010_000n }), op('jovian'))).toBe(5_000_000n)
    expect(feeAfter(parent({ ...quiet, baseFeePerGas: 4_000_000n }), op('jovian'))).toBe(5_000_000n)
    expect(feeAfter(parent({ ...quiet, baseFeePerGas: 6_000_000n }), op('jovian'))).toBe(5_940_000n)
  })

  test('Jovian: the footprint determines the fee if it exceeds the gas used; before Jovian it is ignored', () => {
    const extraData = Hex.toBytes('0x0000000064000000050000000000000000')
    const jovian = Uint8Array.of(1, ...extraData.subarray(1))
    const busy = { gasLimit: 30_000_000n, gasUsed: 6_000_000n, blobGasUsed: 12_000_000n }
    expect(feeAfter(parent({ ...busy, extraData: jovian }), op('jovian'))).toBe(1_010_000_000n)
    expect(feeAfter(parent({ ...busy, blobGasUsed: 5_000_000n, extraData: jovian }), op('jovian'))).toBe(1_000_000_000n)
    expect(feeAfter(parent({ ...busy, extraData: extraData.slice(0, 9) }), op('isthmus'))).toBe(1_000_000_000n)
  })
})

describe('extra data', () => {
  const jovian = rulesAt(op('jovian'), 1, 1)
  const holocene = rulesAt(op('holocene'), 1, 1)

  test('Jovian: version, denominator, elasticity, minimum base fee', () => {
    const bytes = Hex.toBytes('0x01000000640000000500000000004c4b40')
    const parameters = { denominator: 100n, elasticity: 5n, minBaseFee: 5_000_000n }
    expect(decodeExtraData(bytes)).toEqual(parameters)
    expect(encodeExtraData(parameters, jovian)).toEqual(bytes)
  })

  test('Holocene: no minimum base fee', () => {
    const bytes = Hex.toBytes('0x00000000fa00000006')
    expect(decodeExtraData(bytes)).toEqual({ denominator: 250n, elasticity: 6n, minBaseFee: 0n })
    expect(encodeExtraData({ denominator: 250n, elasticity: 6n, minBaseFee: 9n }, holocene)).toEqual(bytes)
    expect(encodeExtraData({ denominator: 250n, elasticity: 6n, minBaseFee: 9n }, rulesAt(op('granite'), 1, 1))).toEqual(new Uint8Array(0))
  })

  test.each([
    ['nothing', '0x'],
    ['Holocene bytes of the wrong version', '0x01000000fa00000006'],
    ['Jovian bytes of the wrong version', '0x00000000640000000500000000004c4b40'],
    ['free text', '0x746578742077697468203c'],
    ['a denominator of zero', '0x000000000000000006'],
    ['an elasticity of zero', '0x00000000fa00000000'],
  ] as const)('%s decodes to null', (_, bytes) => {
    expect(decodeExtraData(Hex.toBytes(bytes))).toBeNull()
  })
})
