import { anyValue } from '@nomicfoundation/hardhat-ethers-chai-matchers/withArgs'
import { expect } from 'chai'
import { network } from 'hardhat'

const { ethers } = await network.create('local')

describe('chai-matchers', () => {
  let alice, bob, carol, token, vault
  before(async () => {
    ;[alice, bob, carol] = await ethers.getSigners()
    token = await ethers.deployContract('Token', [1_000n])
    await token.waitForDeployment()
    vault = await ethers.deployContract('Vault', [token.target], { value: 500n })
    await vault.waitForDeployment()
  })

  it('emit withArgs', async () => {
    await expect(token.transfer(bob.address, 3n)).to.emit(token, 'Transfer').withArgs(alice.address, bob.address, 3n)
    await expect(token.transfer(bob.address, 3n)).to.emit(token, 'Transfer').withArgs(alice.address, anyValue, anyValue)
    await expect(vault.pay(bob.address, 1n)).not.to.emit(token, 'Transfer')
  })

  it('revert', async () => {
    await expect(vault.refuse()).to.revert(ethers)
    await expect(token.transfer(bob.address, 1n)).not.to.revert(ethers)
  })

  it('revertedWith', async () => {
    await expect(vault.refuse()).to.be.revertedWith('refused')
    await expect(vault.pay(bob.address, 10n ** 20n)).to.be.revertedWith('the payment failed')
  })

  it('revertedWithCustomError withArgs', async () => {
    await expect(token.connect(carol).transfer(bob.address, 7n))
      .to.be.revertedWithCustomError(token, 'Short')
      .withArgs(carol.address, 0n, 7n)
  })

  it('revertedWithPanic', async () => {
    await expect(vault.overflow(1n)).to.be.revertedWithPanic(0x11)
  })

  it('revertedWithoutReason', async () => {
    await expect(vault.refuseSilently()).to.be.revertedWithoutReason(ethers)
  })

  it('a transaction with its own gas limit reverts when mined', async () => {
    const populated = await vault.refuse.populateTransaction()
    await expect(alice.sendTransaction({ ...populated, gasLimit: 100_000 })).to.revert(ethers)
  })

  it('changeEtherBalance', async () => {
    await expect(vault.pay(bob.address, 2n)).to.changeEtherBalance(ethers, bob, 2n)
    await expect(bob.sendTransaction({ to: vault.target, value: 9n })).to.changeEtherBalance(ethers, bob, -9n)
  })

  it('changeEtherBalances', async () => {
    await expect(alice.sendTransaction({ to: vault.target, value: 9n })).to.changeEtherBalances(ethers, [alice, vault], [-9n, 9n])
    await expect(() => vault.pay(carol.address, 4n)).to.changeEtherBalances(ethers, [alice, vault, carol], [0n, -4n, 4n])
  })

  it('changeEtherBalances with the fee', async () => {
    const sent = await alice.sendTransaction({ to: bob.address, value: 9n, gasPrice: 2_000_000_000n })
    const fee = 21_000n * 2_000_000_000n
    await expect(sent).to.changeEtherBalances(ethers, [alice, bob], [-9n - fee, 9n], { includeFee: true })
  })

  it('changeTokenBalance', async () => {
    await expect(token.transfer(bob.address, 5n)).to.changeTokenBalance(ethers, token, bob, 5n)
  })

  it('changeTokenBalances', async () => {
    await expect(token.transfer(carol.address, 6n)).to.changeTokenBalances(ethers, token, [alice, carol], [-6n, 6n])
  })
})
