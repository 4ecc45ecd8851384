import { expect } from 'chai'
import hre from 'hardhat'
import helpers from '@nomicfoundation/hardhat-network-helpers'
import { describeNetworkHelpers } from '../../networkhelpers.mjs'

const { ethers, network } = hre
const { time } = helpers
const send = (...request) => network.provider.send(...request)

describe('network-helpers', () => {
  let id
  beforeEach(async () => {
    id = await send('evm_snapshot')
  })
  afterEach(() => send('evm_revert', [id]))

  describeNetworkHelpers({ expect, ethers, helpers, send })

  it('time.advanceBlock and time.advanceBlockTo', async () => {
    const before = await time.latestBlock()
    await time.advanceBlock()
    await time.advanceBlockTo(before + 5)
    expect(await time.latestBlock()).to.equal(before + 5)
  })

  it('reset', async () => {
    await helpers.mine(3)
    await helpers.reset()
    expect(await time.latestBlock()).to.equal(0)
    id = await send('evm_snapshot')
  })
})
