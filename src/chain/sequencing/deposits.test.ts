import { describe, expect, test } from 'vitest'
import { Hash, Hex } from '../../eth/index.ts'
import type { Block, Transaction } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import type { OpFork } from '../../evm/index.ts'
import { testChain } from '../chain.fixture.ts'
import { opConfig } from '../genesis/defaultgenesis.ts'
import { baseTimeDeposit, l1AttributesDeposit } from './deposits.ts'
import { SimulatedL1 } from '../l1.ts'
import type { L1Options, L1Origin } from '../l1.ts'

const { chain } = testChain('manual')

const ORIGIN: L1Origin = {
  number: 7_855_060,
  hash: Hash.from('0x4edd27304108914dd6503b19b9eeb9956982ef197febbeeed8a9eac3dbaaabdf'),
  timestamp: 1_741_388_976,
  baseFee: 14_121_491_676n,
  blobBaseFee: 1_324_954_204n,
}

const OPTIONS: L1Options = {
  baseFee: ORIGIN.baseFee,
  blobBaseFee: ORIGIN.blobBaseFee,
  baseFeeScalar: 2_269,
  blobBaseFeeScalar: 1_055_762,
  operatorFeeScalar: 17,
  operatorFeeConstant: 18n,
  daFootprintGasScalar: 400,
}

const L1 = new SimulatedL1(OPTIONS, { number: 0, timestamp: 0 }, 'seed')

function rules(fork: OpFork) {
  return rulesAt(opConfig(10, fork, 0, { codeSizeLimit: null, transactionGasCap: null }), 1, 1)
}

function after(...transactions: Transaction[]): Block {
  return { ...chain.genesis, transactions }
}

function word(data: Uint8Array, offset: number, length: number): bigint {
  return BigInt(Hex.fromBytes(data.subarray(offset, offset + length)))
}

describe('the L1-attributes deposit', () => {
  test.each([
    ['fjord', '0x440a5e20', 164],
    ['isthmus', '0x098999be', 176],
    ['jovian', '0x3db6be2b', 178],
  ] as const)('%s: selector %s, %i bytes', (fork, selector, length) => {
    const { data } = l1AttributesDeposit(ORIGIN, chain.genesis, L1, rules(fork))
    expect(Hex.fromBytes(data.subarray(0, 4))).toBe(selector)
    expect(data).toHaveLength(length)
  })

  test('holds each field at its offset', () => {
    const { data } = l1AttributesDeposit(ORIGIN, chain.genesis, L1, rules('jovian'))
    expect([
      word(data, 4, 4),
      word(data, 8, 4),
      word(data, 12, 8),
      word(data, 20, 8),
      word(data, 28, 8),
      word(data, 36, 32),
      word(data, 68, 32),
      word(data, 100, 32),
      word(data, 132, 32),
      word(data, 164, 4),
      word(data, 168, 8),
      word(data, 176, 2),
    ]).toEqual([
      2_269n,
      1_055_762n,
      0n,
      1_741_388_976n,
      7_855_060n,
      14_121_491_676n,
      1_324_954_204n,
      BigInt(ORIGIN.hash),
      0n,
      17n,
      18n,
      400n,
    ])
  })

  test('is sent by the depositor to L1Block, with 1,000,000 gas and no value', () => {
    const deposit = l1AttributesDeposit(ORIGIN, chain.genesis, L1, rules('jovian'))
    expect(deposit).toMatchObject({
      type: 0x7e,
      from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001',
      to: '0x4200000000000000000000000000000000000015',
      gas: 1_000_000n,
      value: 0n,
      deposit: { mint: 0n, isSystemTx: false },
    })
  })

  test('counts the blocks of an epoch and restarts with the next one', () => {
    let parent = chain.genesis
    for (let sequence = 0; sequence < 5; sequence++) {
      const deposit = l1AttributesDeposit(ORIGIN, parent, L1, rules('jovian'))
      expect(word(deposit.data, 12, 8)).toBe(BigInt(sequence))
      // node-reth's recorded deposit has sequence number 4
      if (sequence === 4) expect(deposit.deposit?.sourceHash).toBe('0x42a8ae5ec231af3d0f90f68543ec8bca1da4f7edd712d5b51b490688355a6db7')
      parent = after(deposit)
    }
    const next = l1AttributesDeposit({ ...ORIGIN, number: ORIGIN.number + 1 }, parent, L1, rules('jovian'))
    expect(word(next.data, 12, 8)).toBe(0n)
  })

  test('continues counting across forks that change the layout', () => {
    const parent = after(l1AttributesDeposit(ORIGIN, chain.genesis, L1, rules('isthmus')))
    expect(word(l1AttributesDeposit(ORIGIN, parent, L1, rules('jovian')).data, 12, 8)).toBe(1n)
  })
})

describe('the BaseTime deposit', () => {
  test('holds the millisecond part as a word after the selector of setTimestampMillisPart(uint16)', () => {
    const { data, to } = baseTimeDeposit(chain.genesis, 800)
    expect(to).toBe('0x4200000000000000000000000000000000000030')
    expect(Hex.fromBytes(data.subarray(0, 4))).toBe(Hash.keccak(new TextEncoder().encode('setTimestampMillisPart(uint16)')).slice(0, 10))
    expect(data).toHaveLength(36)
    expect(word(data, 4, 32)).toBe(800n)
  })

  test('has a different hash in each block, also with equal content', () => {
    expect(baseTimeDeposit(chain.genesis, 0).hash).not.toBe(baseTimeDeposit({ ...chain.genesis, hash: Hash.zero }, 0).hash)
  })
})
