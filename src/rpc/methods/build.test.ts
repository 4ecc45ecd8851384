import { describe, expect, it } from 'vitest'
import { Hash, Hex } from '../../eth/index.ts'
import { testNode } from '../node.fixture.ts'

const FEE_RECIPIENT = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

describe('testing_buildBlockV1', () => {
  it('builds on the head only, and does not change the chain', async () => {
    const { ask, chain } = await testNode()
    const { head } = chain.head.view
    const attributes = {
      timestamp: Hex.fromQuantity(head.header.timestamp + 2),
      prevRandao: Hash.zero,
      suggestedFeeRecipient: FEE_RECIPIENT,
      withdrawals: [],
      parentBeaconBlockRoot: Hash.zero,
    }
    const built = await ask('testing_buildBlockV1', head.hash, attributes, [], '0x')
    expect(built).toMatchObject({ executionPayload: { parentHash: head.hash, blockNumber: '0x1', transactions: [] }, blockValue: '0x0' })
    expect(chain.head.view.head).toBe(head)
    await expect(ask('testing_buildBlockV1', Hash.zero, attributes, [], '0x')).rejects.toMatchObject({ code: -32_000 })
    await expect(ask('testing_buildBlockV1', head.hash, attributes, ['0x02'], '0x')).rejects.toMatchObject({ code: -32_602 })
  })
})
