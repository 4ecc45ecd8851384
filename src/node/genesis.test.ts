import { expect, test } from 'vitest'
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
