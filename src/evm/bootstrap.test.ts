import { describe, expect, test } from 'vitest'
import type { Hex } from '../eth/index.ts'
import { ALICE, contextOf, CONTRACT, ETHER, l1Config, Memory, message } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import { World } from './world.ts'

describe('what is copied beyond its source is zero', () => {
  // four bytes into memory that held ones, from two bytes before the end of the source, returned
  const returned = (copy: string) => `0x7f${'11'.repeat(32)}5f52${copy}60205ff3` as Hex

  test.each<[string, Hex, string]>([
    ['CALLDATACOPY', returned('600460025f37'), 'ccdd0000'],
    ['CODECOPY', returned('6004602b5f39'), '5ff30000'],
    ['EXTCODECOPY', returned('6004602c5f303c'), '5ff30000'],
    ['CALLDATACOPY far beyond', returned(`60047f${'ff'.repeat(32)}5f37`), '00000000'],
  ])('%s', async (_name, code, expected) => {
    const world = new World(new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code } }))
    const call = message({ to: CONTRACT, data: Uint8Array.of(0xaa, 0xbb, 0xcc, 0xdd) })
    const { output } = await executeTransaction(call, contextOf(l1Config('prague')), world)
    expect(Buffer.from(output).toString('hex')).toBe(expected + '11'.repeat(28))
  })
})
