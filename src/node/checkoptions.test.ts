import { expect, test } from 'vitest'
import { createPocketchain } from './index.ts'

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
  [{ factories: 'no' }, 'factories must be true or false, not "no"'],
  [{ onError: 'log' }, 'onError must be a function, not "log"'],
  [{ wallet: { polcy: 'approve' } }, 'unknown option wallet.polcy; the options of wallet are chains, keys, '],
  [{ wallet: { confirmation: 'fast' } }, 'wallet.confirmation must be one of preconfirmed, sealed, not "fast"'],
  [{ wallet: { sponsorship: 'off' } }, 'wallet.sponsorship must be true or false, not "off"'],
  [{ wallet: { latencyMs: '5' } }, 'wallet.latencyMs must be a whole number such as 1, not "5"'],
  [{ wallet: { keys: { dev: [] } } }, 'unknown option wallet.keys.dev; the options of wallet.keys are memory, keystore'],
  [{ wallet: 'approve' }, 'wallet must be an object of options, or false, not "approve"'],
  [{ bundler: { minstake: 1n } }, 'unknown option bundler.minstake'],
  [{ bundler: { minStake: 1 } }, 'bundler.minStake must be a bigint such as 10n ** 18n, not 1'],
  [{ bundler: { rules: 'lax' } }, 'bundler.rules must be one of strict, relaxed, off, true, false, not "lax"'],
  [{ sponsor: { deposit: 1n } }, 'unknown option sponsor.deposit'],
  [{ sponsor: { policies: {} } }, 'sponsor.policies must be an array'],
  [{ fork: { url: 'http://127.0.0.1:1', block: 1 } }, 'unknown option fork.block; the options of fork are url, blockNumber, '],
  [{ fork: { url: 'http://127.0.0.1:1', blockNumber: '0x1' } }, 'fork.blockNumber must be a whole number such as -1, not "0x1"'],
  [{ fork: { url: 1 } }, 'fork.url must be a string, or an array of strings, not 1'],
])('createPocketchain refuses %o', async (options, message) => {
  await expect(createPocketchain(options as object)).rejects.toThrow(message)
})
