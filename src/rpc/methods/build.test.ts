import { describe, expect, it } from 'vitest'
import { configOf } from '../../chain/index.ts'
import { testGenesis } from '../../chain/chain.fixture.ts'
import { Hash, Hex, sha256 } from '../../eth/index.ts'
import { ALICE, testNode } from '../node.fixture.ts'

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

  it('rejects a timestamp that is not above the parent’s', async () => {
    const { ask, chain } = await testNode()
    const { head } = chain.head.view
    const parent = head.header.timestamp
    for (const timestamp of [parent, parent - 1, 1]) {
      const attributes = { timestamp: Hex.fromQuantity(timestamp), prevRandao: Hash.zero, suggestedFeeRecipient: FEE_RECIPIENT }
      const message = `invalid timestamp, parent ${parent} given ${timestamp}`
      await expect(ask('testing_buildBlockV1', head.hash, attributes, [])).rejects.toMatchObject({ code: -32_000, message })
    }
    expect(chain.head.view.head).toBe(head)
  })

  it('returns the requests that the block commits to', async () => {
    const config = configOf(31_337, 'osaka', 0, { codeSizeLimit: null, transactionGasCap: null })
    const genesis = { ...testGenesis([ALICE]), config, extraData: new Uint8Array(), excessBlobGas: 0n, blobGasUsed: 0n }
    const { ask, chain } = await testNode({ genesis })
    // Returns the byte 0xab to the system call at the end of the block.
    await ask('anvil_setCode', '0x00000961ef480eb55e80d19ad83579a64c007002', '0x60ab5f5360015ff3')
    const { head } = chain.head.view
    const timestamp = Hex.fromQuantity(head.header.timestamp + 12)
    const attributes = {
      timestamp,
      prevRandao: Hash.zero,
      suggestedFeeRecipient: FEE_RECIPIENT,
      withdrawals: [],
      parentBeaconBlockRoot: Hash.zero,
    }
    expect(await ask('testing_buildBlockV1', head.hash, attributes, [])).toMatchObject({ executionRequests: ['0x01ab'] })
    await ask('anvil_mine')
    const { requestsHash } = chain.head.view.head.header
    expect(requestsHash).toBe(Hex.fromBytes(sha256(sha256(Uint8Array.of(1, 0xab)))))
  })
})
