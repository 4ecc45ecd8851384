import { describe, expect, it } from 'vitest'
import { ALICE, GENESIS_SECONDS, PRECONF, testNode } from '../node.fixture.ts'

describe('evm_increaseTime', () => {
  it.each(['evm_increaseTime', 'anvil_increaseTime'])('%s returns the total offset from the clock', async (name) => {
    const { ask } = await testNode()
    expect(await ask(name, 100)).toBe(100)
    expect(await ask(name, '0x64')).toBe(200)
    expect(await ask(name, '100')).toBe(300)
  })
})

describe('evm_setTime', () => {
  it.each([
    ['seconds', GENESIS_SECONDS + 500],
    ['milliseconds', (GENESIS_SECONDS + 500) * 1_000],
  ])('takes %s', async (_, time) => {
    const { ask, chain } = await testNode()
    expect(await ask('evm_setTime', time)).toBe(500)
    await ask('evm_mine')
    expect(chain.head.view.head.header.timestamp).toBe(GENESIS_SECONDS + 500)
  })

  it('goes back at most to the time of the head', async () => {
    const { ask, chain } = await testNode()
    await ask('evm_mine', GENESIS_SECONDS + 500)
    expect(await ask('anvil_setTime', GENESIS_SECONDS)).toBe(0)
    await ask('evm_mine')
    expect(chain.head.view.head.header.timestamp).toBe(GENESIS_SECONDS + 501)
  })
})

describe('evm_setNextBlockTimestamp', () => {
  it('applies to the next opened block under preconf', async () => {
    const { ask, clock, chain } = await testNode({ cadence: PRECONF })
    await ask('evm_setNextBlockTimestamp', GENESIS_SECONDS + 777)
    expect(chain.head.view.byTag('pending').header.timestamp).toBe(GENESIS_SECONDS + 777)
    await clock.advance(2_000)
    expect(chain.head.view.head.header.timestamp).toBe(GENESIS_SECONDS + 777)
    await clock.advance(2_000)
    expect(chain.head.view.head.header.timestamp).toBe(GENESIS_SECONDS + 778)
  })

  it('seals nothing on an error, and compares with the block that it would seal', async () => {
    const { ask, clock, chain, send } = await testNode({ cadence: PRECONF })
    await send({ to: ALICE })
    await clock.advance(200)
    const promised = chain.head.view
    const taken = promised.byTag('pending').header.timestamp
    await expect(ask('evm_setNextBlockTimestamp', taken)).rejects.toThrow(`lower than or equal to previous block's timestamp ${taken}`)
    expect(chain.head.view).toBe(promised)
    await ask('evm_setNextBlockTimestamp', taken + 1)
    expect(chain.head.view.head.header).toMatchObject({ number: 1, timestamp: taken })
    expect(chain.head.view.byTag('pending').header.timestamp).toBe(taken + 1)
  })
})

describe('timestamp intervals', () => {
  it.each([
    ['anvil_setBlockTimestampInterval', 12, null],
    ['ganache_setBlockTimestampInterval', 12, true],
    ['hardhat_setBlockTimestampInterval', 12_000, true],
  ])('%s(%i) puts blocks 12 s apart', async (name, interval, answer) => {
    const { ask, chain } = await testNode()
    expect(await ask(name, interval)).toBe(answer)
    await ask('anvil_mine', 3)
    expect(chain.head.view.head.header.timestamp).toBe(GENESIS_SECONDS + 36)
    expect(await ask('anvil_removeBlockTimestampInterval')).toBe(true)
    expect(await ask('anvil_removeBlockTimestampInterval')).toBe(false)
  })
})

it('anvil_getGenesisTime', async () => {
  const { ask } = await testNode()
  expect(await ask('anvil_getGenesisTime')).toBe(GENESIS_SECONDS)
})
