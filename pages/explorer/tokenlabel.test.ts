import { encodeAbiParameters } from 'viem/utils'
import { expect, test } from 'vitest'
import { decodeTokenLabel } from './tokenlabel.ts'

test.each([
  ['USDC', 'USDC'],
  ['  USDC ', 'USDC'],
  ['5,000,000 USDC', '“5,000,000 USDC”'],
  ['USD\u202EC', 'USD\\u{202e}C'],
  [' ', null],
  ['x'.repeat(25), `${'x'.repeat(24)}…`],
])('the symbol %j is shown as in the wallet: %j', (symbol, shown) => {
  expect(decodeTokenLabel(encodeAbiParameters([{ type: 'string' }], [symbol]), null).symbol).toBe(shown)
})
