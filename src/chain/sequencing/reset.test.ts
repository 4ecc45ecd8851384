import { describe, expect, it } from 'vitest'
import { Hash } from '../../eth/index.ts'
import { ALICE, RECIPIENT, testChain } from '../chain.fixture.ts'
import type { Chain } from '../chain.ts'

const WETH = '0x4200000000000000000000000000000000000006'

async function disturb(chain: Chain): Promise<void> {
  await chain.edit((world) => {
    world.setBalance(RECIPIENT, 5n)
    world.setStorage(RECIPIENT, Hash.zero, 5n)
    world.setAccount(ALICE, null)
    world.setCode(WETH as typeof ALICE, new Uint8Array([1])) // a lower-case address
    world.setStorage(WETH as typeof ALICE, Hash.fromBigint(77n), 5n)
  })
}

describe.each([
  ['kept', 100],
  ['pruned', 3],
])('a reset when the genesis state is %s', (_, historyBlocks) => {
  it('removes everything, repeatedly', async () => {
    const fresh = testChain('manual')
    const [expected] = await fresh.chain.mine(1)
    const { chain } = testChain('manual', { historyBlocks })
    const size = chain.sealed.history.size()
    for (let round = 0; round < 3; round++) {
      await disturb(chain)
      await chain.mine(10)
      await disturb(chain)
      await chain.reset()
      expect(chain.head.view.head.hash).toBe(chain.genesis.hash)
      expect(chain.sealed.history.size()).toEqual(size)
      expect(chain.sealed.history.stateRoot()).toBe(chain.genesis.header.stateRoot)
      expect(chain.head.view.state(chain.head.view.head).storage(RECIPIENT, Hash.zero)).toBe(0n)
    }
    const [block] = await chain.mine(1)
    expect(block?.hash).toBe(expected?.hash)
  })
})
