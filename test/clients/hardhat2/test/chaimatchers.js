const { expect } = require('chai')
const { ethers } = require('hardhat')
const { anyValue } = require('@nomicfoundation/hardhat-chai-matchers/withArgs')

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

  it('reverted', async () => {
    await expect(vault.refuse()).to.be.reverted
    await expect(token.transfer(bob.address, 1n)).not.to.be.reverted
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
    await expect(vault.refuseSilently()).to.be.revertedWithoutReason()
  })

  it('a transaction with its own gas limit reverts when mined', async () => {
    await expect(vault.refuse.staticCall()).to.be.revertedWith('refused')
    const populated = await vault.refuse.populateTransaction()
    await expect(alice.sendTransaction({ ...populated, gasLimit: 100_000 })).to.be.reverted
  })

  it('changeEtherBalance', async () => {
    await expect(vault.pay(bob.address, 2n)).to.changeEtherBalance(bob, 2n)
    await expect(bob.sendTransaction({ to: vault.target, value: 9n })).to.changeEtherBalance(bob, -9n)
  })

  it('changeEtherBalances', async () => {
    await expect(alice.sendTransaction({ to: vault.target, value: 9n })).to.changeEtherBalances([alice, vault], [-9n, 9n])
    await expect(() => vault.pay(carol.address, 4n)).to.changeEtherBalances([alice, vault, carol], [0n, -4n, 4n])
  })

  it('changeEtherBalances with the fee', async () => {
    const sent = await alice.sendTransaction({ to: bob.address, value: 9n, gasPrice: 2_000_000_000n })
    const fee = 21_000n * 2_000_000_000n
    await expect(sent).to.changeEtherBalances([alice, bob], [-9n - fee, 9n], { includeFee: true })
  })

  it('changeTokenBalance', async () => {
    await expect(token.transfer(bob.address, 5n)).to.changeTokenBalance(token, bob, 5n)
  })

  it('changeTokenBalances', async () => {
    await expect(token.transfer(carol.address, 6n)).to.changeTokenBalances(token, [alice, carol], [-6n, 6n])
  })

  it('the block of a transaction has that transaction only', async () => {
    const receipt = await (await token.transfer(bob.address, 1n)).wait()
    const block = await ethers.provider.getBlock(receipt.blockNumber)
    expect(block.transactions).to.deep.equal([receipt.hash])
    expect(receipt.index).to.equal(0)
  })
})
