import { expect } from 'chai'
import { network } from 'hardhat'
import { describeNetworkHelpers } from '../../networkhelpers.mjs'

const { ethers, networkHelpers, provider } = await network.create('local')
const send = (method, params = []) => provider.request({ method, params })

describe('network-helpers', () => {
  let id
  beforeEach(async () => {
    id = await send('evm_snapshot')
  })
  afterEach(() => send('evm_revert', [id]))

  describeNetworkHelpers({ expect, ethers, helpers: networkHelpers, send })
})
