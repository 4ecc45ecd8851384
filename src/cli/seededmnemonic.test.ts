import { expect, it } from 'vitest'
import { seededMnemonic } from './seededmnemonic.ts'

it.each([
  [0n, 'leisure need topic clown code attend earn lounge baby omit vault crunch'],
  [1n, 'gesture car maximum regret pudding merry fatal electric sea grab crack social'],
  [42n, 'pen brief eager pepper brass detect problem vital physical tent assume damp'],
  [2n ** 64n - 1n, 'reunion eager public radio victory silver palm elite make sing accuse moon'],
])('the mnemonic of seed %i is that of anvil 1.7.1', async (seed, words) => {
  expect(await seededMnemonic(seed)).toBe(words)
})
