import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createPocketchain } from './index.ts'
import type { PocketchainOptions } from './index.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
/** Runs PUSH0, an opcode since Shanghai. */
const CALL = { to: '0x00000000000000000000000000000000000000aa' }
const FILE = {
  timestamp: '0x65000000',
  gasLimit: '0x3938700',
  baseFeePerGas: '0x3b9aca00',
  alloc: { [ALICE]: { balance: '0xde0b6b3a7640000' }, [CALL.to]: { balance: '0x0', code: '0x5f5ff3' } },
}

function start(file: object, options: PocketchainOptions = {}) {
  return createPocketchain({
    cadence: 'manual',
    clock: 'manual',
    onNote: () => undefined,
    genesis: JSON.stringify({ ...FILE, ...file }),
    ...options,
  })
}

test.each(['op', 'l1'] as const)(
  'a genesis file without rules but with blob gas starts a chain of type %s under Cancun',
  async (chainType) => {
    await using node = await start({ excessBlobGas: '0x0', blobGasUsed: '0x0' }, { chainType })
    expect(await node.request({ method: 'eth_call', params: [CALL, 'latest'] })).toBe('0x')
    expect(await node.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })).toMatchObject({ blobGasUsed: '0x0' })
    await node.request({ method: 'evm_mine' })
    expect(await node.request({ method: 'eth_call', params: [CALL, 'latest'] })).toBe('0x')
  },
)

test('a call on a block of an OP chain before Fjord is refused with that reason', async () => {
  await using node = await start({})
  const call = (block: string) => node.request({ method: 'eth_call', params: [CALL, block] })
  await expect(call('latest')).rejects.toMatchObject({
    code: -32000,
    message: 'blocks of an OP chain before Fjord are not supported: this block is under bedrock',
  })
  expect(await call('pending')).toBe('0x')
})

describe('a data directory', () => {
  let data: string
  const notes: string[] = []
  const open = (options: PocketchainOptions = {}) =>
    createPocketchain({ cadence: 'manual', wallet: false, data, onNote: (note) => notes.push(note), ...options })

  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'pocketchain-genesis-'))
    notes.splice(0)
  })
  afterEach(() => rmSync(data, { recursive: true }))

  test('has the same genesis with and without the bundler', async () => {
    await using first = await open()
    await first.request({ method: 'evm_mine' })
    await first.close()
    await using second = await open({ bundler: false })
    expect([second.chain.genesis.hash, notes]).toEqual([first.chain.genesis.hash, []])
    await second.request({ method: 'anvil_reset' })
    await second.close()
    await using third = await open()
    expect([third.chain.genesis.hash, notes]).toEqual([first.chain.genesis.hash, []])
  })

  test('whose block 0 was edited names that as the reason why another genesis is not compared', async () => {
    await using first = await open()
    await first.request({ method: 'anvil_setBalance', params: [ALICE, '0x5'] })
    await first.request({ method: 'evm_mine' })
    await first.close()
    await using second = await open({ balance: 5n })
    expect(notes).toEqual([expect.stringContaining('because it was edited before block 1 or is pruned')])
    await expect(second.request({ method: 'anvil_reset' })).rejects.toMatchObject({ code: 4444 })
  })
})

test('further accounts may have addresses in any letter case, also those of dev accounts', async () => {
  const [checksummed, other] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '0x00000000000000000000000000000000000ABCDE'] as const
  await using node = await createPocketchain({
    fundedAccounts: [
      { address: checksummed, balance: 5n },
      { address: other, balance: 6n },
    ],
  })
  const balanceOf = (address: string) => node.request({ method: 'eth_getBalance', params: [address] })
  expect([await balanceOf(checksummed), await balanceOf(other.toLowerCase())]).toEqual(['0x5', '0x6'])
})
