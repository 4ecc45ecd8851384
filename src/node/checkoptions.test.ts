import { expect, expectTypeOf, test } from 'vitest'
import { createPocketchain } from './index.ts'
import type { PocketchainOptions } from './index.ts'
import type { OPTION_NAMES } from './checkoptions.ts'

test('every option is known', () => {
  expectTypeOf<(typeof OPTION_NAMES)[number]>().toEqualTypeOf<keyof PocketchainOptions>()
})

test.each([
  [{ cadense: 'instant' }, 'unknown option cadense; the options of createPocketchain are cadence, '],
  [{ forkUrl: 'https://mainnet.base.org' }, 'unknown option forkUrl'],
  [{ cadence: 'fast' }, 'cadence must be one of preconf, native, instant, manual, not "fast"'],
  [{ clock: 'stopped' }, 'clock must be one of real, manual, not "stopped"'],
  [{ compat: 'gteh' }, 'compat must be one of '],
  [{ chainType: 'eth' }, 'chainType must be one of op, l1, not "eth"'],
  [{ accounts: '3' }, 'accounts must be a whole number such as 1, not "3"'],
  [{ timestamp: -1 }, 'timestamp must be a whole number'],
  [{ balance: 5 }, 'balance must be a bigint such as 10n ** 18n, not 5'],
  [{ fork: 'https://mainnet.base.org' }, 'fork must be an object with the url'],
  [{ fork: {} }, 'fork must be an object with the url'],
  [{ fork: null }, 'fork must be an object with the url'],
  [{ chaos: 'wild' }, 'chaos must be one of calm, normal, rough, not "wild"'],
  [{ cadence: { kind: 'fast' } }, 'cadence.kind must be one of preconf, native, instant, manual, not fast'],
  [{ cadence: { kind: 'native', blockTime: 100 } }, 'unknown option cadence.blockTime; this cadence has kind, blockTimeMs'],
  [{ gasLimit: null }, 'gasLimit must be a bigint'],
])('createPocketchain refuses %o', async (options, message) => {
  await expect(createPocketchain(options as object)).rejects.toThrow(message)
})
