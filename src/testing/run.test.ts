import { expect, test } from 'vitest'
import { startChain, useSnapshot } from './run.ts'

test('a chain that a test has reset cannot be restored, and the fixture reports it', async () => {
  await using chain = await startChain({ cadence: 'manual' }, 2_000)
  const reset = async () => void (await chain.request({ method: 'anvil_reset', params: [] }))
  await expect(useSnapshot(chain, reset)).rejects.toThrow('the chain cannot be restored')
})

test('a sponsor that cannot be renewed does not prevent the restoration of the chain', async () => {
  await using chain = await startChain({ cadence: 'manual' }, 2_000)
  const renewSponsor = async () => {
    throw new Error('no sponsor')
  }
  const broken = Object.create(chain, { renewSponsor: { value: renewSponsor } })
  const mine = async () => void (await chain.request({ method: 'evm_mine', params: [] }))
  await expect(useSnapshot(broken, mine)).rejects.toThrow('no sponsor')
  expect(await chain.request({ method: 'eth_blockNumber', params: [] })).toBe('0x0')
})
