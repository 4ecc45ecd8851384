import { buildModule } from '@nomicfoundation/ignition-core'
import { expect } from 'chai'
import { network } from 'hardhat'

const { ethers, ignition, viem } = await network.create('local')

describe('hardhat-viem', () => {
  it('deploys, writes, waits and reads', async () => {
    const client = await viem.getPublicClient()
    const [alice, bob] = await viem.getWalletClients()
    const token = await viem.deployContract('Token', [1_000n])
    const receipt = await client.waitForTransactionReceipt({ hash: await token.write.transfer([bob.account.address, 25n]) })
    expect(receipt.status).to.equal('success')
    const [event] = await token.getEvents.Transfer({ to: bob.account.address })
    expect(event.args.value).to.equal(25n)
    const { contract, deploymentTransaction } = await viem.sendDeploymentTransaction('Vault', [token.address], { value: 3n })
    await client.waitForTransactionReceipt({ hash: deploymentTransaction.hash })
    expect(await client.getBalance({ address: contract.address })).to.equal(3n)
    const again = await viem.getContractAt('Token', token.address, { client: { wallet: bob } })
    await client.waitForTransactionReceipt({ hash: await again.write.transfer([alice.account.address, 5n]) })
    expect(await token.read.balanceOf([bob.account.address])).to.equal(20n)
  })

  it('moves the chain with its test client', async () => {
    const client = await viem.getPublicClient()
    const hand = await viem.getTestClient()
    const before = await client.getBlockNumber({ cacheTime: 0 })
    await hand.mine({ blocks: 2 })
    expect(await client.getBlockNumber({ cacheTime: 0 })).to.equal(before + 2n)
  })

  it('asserts events, reverts and balances', async () => {
    const [alice, bob] = await viem.getWalletClients()
    const token = await viem.deployContract('Token', [1_000n])
    const vault = await viem.deployContract('Vault', [token.address], { value: 50n })
    const to = bob.account.address
    await viem.assertions.emitWithArgs(token.write.transfer([to, 2n]), token, 'Transfer', [
      ethers.getAddress(alice.account.address),
      ethers.getAddress(to),
      2n,
    ])
    await viem.assertions.revertWith(vault.read.refuse(), 'refused')
    await viem.assertions.revertWithCustomError(token.write.transfer([to, 2_000n]), token, 'Short')
    await viem.assertions.balancesHaveChanged(vault.write.pay([to, 7n]), [{ address: to, amount: 7n }])
  })
})

describe('hardhat-ignition', () => {
  it('deploys a module of four transactions', async () => {
    const module = buildModule('Four', (m) => {
      const token = m.contract('Token', [1_000n])
      const vault = m.contract('Vault', [token], { value: 5n })
      const paid = m.call(token, 'transfer', [vault, 40n])
      m.send('fill', vault, 6n, undefined, { after: [paid] })
      return { token, vault }
    })
    const { token, vault } = await ignition.deploy(module, { deploymentId: `run-${Date.now()}` })
    expect(await token.balanceOf(vault.target)).to.equal(40n)
    expect(await ethers.provider.getBalance(vault.target)).to.equal(11n)
  })
})
