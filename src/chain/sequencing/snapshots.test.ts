import { expect, test } from 'vitest'
import { signed, startedChain, testGenesis } from '../chain.fixture.ts'
import { DEFAULT_FEE_PARAMETERS } from '../genesis/defaultgenesis.ts'
import { initialOverrides } from './testoverrides.ts'
import { Snapshots } from './snapshots.ts'

test('snapshots share the list of the pool until it changes', async () => {
  const { chain } = await startedChain('manual')
  let id = 0
  const { sealed, pool, time } = chain
  const snapshots = new Snapshots({
    sealed,
    pool,
    time,
    overrides: initialOverrides({ ...testGenesis(), feeParameters: DEFAULT_FEE_PARAMETERS }),
    nextId: () => ++id,
  })
  await chain.submit(signed({ nonce: 0n }))
  const [first, second] = [snapshots.create(), snapshots.create()]
  await chain.submit(signed({ nonce: 1n }))
  const third = snapshots.create()
  expect(snapshots.get(second)!.pool).toBe(snapshots.get(first)!.pool)
  expect([first, third].map((each) => snapshots.get(each)!.pool.length)).toEqual([1, 2])
})
