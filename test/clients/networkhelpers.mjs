// The tests of network-helpers that Hardhat 2 and Hardhat 3 have in common; each project calls this function from its own test file.

const TARGET = '0x00000000000000000000000000000000000beef1'

/** `send` makes a JSON-RPC request. */
export function describeNetworkHelpers({ expect, ethers, helpers, send }) {
  const { time } = helpers

  it('mine', async () => {
    const before = await time.latestBlock()
    await helpers.mine()
    await helpers.mine(10)
    expect(await time.latestBlock()).to.equal(before + 11)
  })

  it('mine with an interval', async () => {
    const before = await time.latest()
    await helpers.mine(5, { interval: 100 })
    expect((await time.latest()) - before).to.be.within(400, 510)
  })

  it('mineUpTo', async () => {
    await helpers.mineUpTo((await time.latestBlock()) + 7)
    const to = (await time.latestBlock()) + 3
    await helpers.mineUpTo(to)
    expect(await time.latestBlock()).to.equal(to)
  })

  it('setBalance', async () => {
    await helpers.setBalance(TARGET, 1234n)
    expect(await ethers.provider.getBalance(TARGET)).to.equal(1234n)
  })

  it('setCode', async () => {
    await helpers.setCode(TARGET, '0x602a60005260206000f3')
    expect(await ethers.provider.call({ to: TARGET })).to.equal(ethers.toBeHex(42, 32))
  })

  it('setNonce', async () => {
    await helpers.setNonce(TARGET, 9)
    expect(await ethers.provider.getTransactionCount(TARGET)).to.equal(9)
  })

  it('setStorageAt and getStorageAt', async () => {
    await helpers.setCode(TARGET, '0x60005460005260206000f3')
    await helpers.setStorageAt(TARGET, 0, 77)
    expect(await helpers.getStorageAt(TARGET, 0)).to.equal(ethers.toBeHex(77, 32))
    expect(await ethers.provider.call({ to: TARGET })).to.equal(ethers.toBeHex(77, 32))
  })

  it('impersonateAccount and stopImpersonatingAccount', async () => {
    const [alice] = await ethers.getSigners()
    await helpers.setBalance(TARGET, 10n ** 18n)
    await helpers.impersonateAccount(TARGET)
    const signer = await ethers.getSigner(TARGET)
    await (await signer.sendTransaction({ to: alice.address, value: 5n })).wait()
    expect(await ethers.provider.getTransactionCount(TARGET)).to.equal(1)
    await helpers.stopImpersonatingAccount(TARGET)
    const refused = await signer.sendTransaction({ to: alice.address, value: 5n }).catch((error) => error)
    expect(refused).to.be.instanceOf(Error)
  })

  it('setBlockGasLimit', async () => {
    await helpers.setBlockGasLimit(12_345_678)
    await helpers.mine()
    expect((await ethers.provider.getBlock('latest')).gasLimit).to.equal(12_345_678n)
  })

  it('setCoinbase', async () => {
    await helpers.setCoinbase(TARGET)
    await helpers.mine()
    expect((await ethers.provider.getBlock('latest')).miner).to.equal(ethers.getAddress(TARGET))
  })

  it('setNextBlockBaseFeePerGas', async () => {
    await helpers.setNextBlockBaseFeePerGas(3_000_000_000n)
    await helpers.mine()
    expect((await ethers.provider.getBlock('latest')).baseFeePerGas).to.equal(3_000_000_000n)
  })

  it('setPrevRandao', async () => {
    await helpers.setPrevRandao(4321)
    await helpers.mine()
    expect((await send('eth_getBlockByNumber', ['latest', false])).mixHash).to.equal(ethers.toBeHex(4321, 32))
  })

  it('takeSnapshot and restore', async () => {
    const snapshot = await helpers.takeSnapshot()
    const before = await time.latestBlock()
    await helpers.mine(3)
    await snapshot.restore()
    expect(await time.latestBlock()).to.equal(before)
    await helpers.mine(2)
    await snapshot.restore()
    expect(await time.latestBlock()).to.equal(before)
  })

  it('loadFixture runs a fixture once', async () => {
    let runs = 0
    async function fixture() {
      runs += 1
      await helpers.mine(4)
      return time.latestBlock()
    }
    const first = await helpers.loadFixture(fixture)
    await helpers.mine()
    expect(await helpers.loadFixture(fixture)).to.equal(first)
    expect(await time.latestBlock()).to.equal(first)
    expect(runs).to.equal(1)
    await helpers.clearSnapshots()
  })

  it('dropTransaction', async () => {
    const [alice, bob] = await ethers.getSigners()
    await send('evm_setAutomine', [false])
    try {
      const { hash } = await alice.sendTransaction({ to: bob.address, value: 1n, gasLimit: 21_000 })
      await helpers.dropTransaction(hash)
      await helpers.mine()
      expect(await ethers.provider.getTransactionReceipt(hash)).to.equal(null)
    } finally {
      await send('evm_setAutomine', [true])
    }
  })

  it('time.increase', async () => {
    const before = await time.latest()
    expect(await time.increase(3_600)).to.be.within(before + 3_600, before + 3_605)
    expect(await time.latest()).to.be.within(before + 3_600, before + 3_605)
  })

  it('time.increaseTo', async () => {
    const to = (await time.latest()) + 100_000
    await time.increaseTo(to)
    expect(await time.latest()).to.equal(to)
  })

  it('time.setNextBlockTimestamp', async () => {
    const [alice, bob] = await ethers.getSigners()
    const at = (await time.latest()) + 500
    await time.setNextBlockTimestamp(at)
    await (await alice.sendTransaction({ to: bob.address, value: 1n })).wait()
    expect(await time.latest()).to.equal(at)
  })

  it('time.duration', async () => {
    const before = await time.latest()
    await time.increase(time.duration.days(2))
    expect(await time.latest()).to.be.within(before + 172_800, before + 172_805)
  })
}
