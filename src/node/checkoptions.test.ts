import { expect, test } from 'vitest'
import { createPocketchain } from './index.ts'

test.each([
  [{ cadense: 'instant' }, 'unknown option cadense; the options of createPocketchain are cadence, '],
  [{ forkUrl: 'https://mainnet.base.org' }, 'unknown option forkUrl'],
  [{ cadence: 'fast' }, 'cadence must be one of preconf, native, instant, manual, not "fast"'],
  [{ clock: 'stopped' }, 'clock must be one of real, manual, not "stopped"'],
  [{ compat: 'gteh' }, 'compat must be one of '],
  [{ chainType: 'eth' }, 'chainType must be one of op, l1, not "eth"'],
  [{ accounts: '3' }, 'accounts must be a whole number from 0 to 1000, not "3"'],
  [{ timestamp: -1 }, 'timestamp must be a whole number'],
  [{ balance: 5 }, 'balance must be a bigint such as 10n ** 18n, from 0 to 2n ** 256n - 1n, not 5'],
  [{ balance: -1n }, 'balance must be a bigint such as 10n ** 18n, from 0 to 2n ** 256n - 1n, not -1'],
  [{ balance: 2n ** 256n }, 'balance must be a bigint'],
  [{ baseFee: 2n ** 128n }, 'baseFee must be wei as a bigint such as 10n ** 9n, from 0 to 2n ** 128n - 1n, not 34028'],
  [{ minBaseFee: -1n }, 'minBaseFee must be wei as a bigint such as 10n ** 9n, from 0 to 2n ** 64n - 1n, not -1'],
  [{ minBaseFee: 2n ** 64n }, 'minBaseFee must be wei'],
  [{ minGasPrice: -1n }, 'minGasPrice must be wei'],
  [{ l1BaseFee: -1n }, 'l1BaseFee must be wei'],
  [{ l1BlobBaseFee: 2n ** 256n }, 'l1BlobBaseFee must be wei'],
  [{ gasLimit: 0n }, 'gasLimit must be gas as a bigint such as 60_000_000n, from 2000000 to 9007199254740991, not 0'],
  [{ gasLimit: 2n ** 64n }, 'gasLimit must be gas'],
  [{ transactionGasCap: 0n }, 'transactionGasCap must be gas as a bigint from 1n to 2n ** 64n - 1n, or null for no cap, not 0'],
  [{ transactionGasCap: -1n }, 'transactionGasCap must be gas'],
  [{ chainId: 0 }, 'chainId must be a whole number from 1 on, not 0'],
  [{ accounts: 1_001 }, 'accounts must be a whole number from 0 to 1000, not 1001'],
  [{ workers: 65 }, 'workers must be a whole number from 0 to 64, not 65'],
  [{ fundedAccounts: [null] }, 'fundedAccounts[0] must be an object with address and balance, not null'],
  [{ fundedAccounts: [{ address: '0x1', balance: 1n }] }, 'fundedAccounts[0].address must be 0x and 40 hex digits, not "0x1"'],
  [{ fundedAccounts: [{ address: `0x${'11'.repeat(20)}` }] }, 'fundedAccounts[0].balance must be a bigint such as 10n ** 18n'],
  [{ fundedAccounts: [{ address: `0x${'11'.repeat(20)}`, balance: -1n }] }, 'fundedAccounts[0].balance must be a bigint'],
  [{ fundedAccounts: [{ address: `0x${'11'.repeat(20)}`, balance: 1n, nonce: 1n }] }, 'unknown option fundedAccounts[0].nonce'],
  [{ fork: 'https://mainnet.base.org' }, 'fork must be an object with the url'],
  [{ fork: {} }, 'fork must be an object with the url'],
  [{ fork: null }, 'fork must be an object with the url'],
  [{ chaos: 'wild' }, 'chaos must be one of calm, normal, rough, not "wild"'],
  [{ cadence: { kind: 'fast' } }, 'cadence.kind must be one of preconf, native, instant, manual, not fast'],
  [{ cadence: { kind: 'native', blockTime: 100 } }, 'unknown option cadence.blockTime; this cadence has kind, blockTimeMs'],
  [{ cadence: { kind: 'native' } }, 'cadence: blocks cannot come every undefined ms: it takes 100 to 86400000 whole ms'],
  [{ cadence: { kind: 'native', blockTimeMs: -5 } }, 'cadence: blocks cannot come every -5 ms'],
  [{ cadence: { kind: 'native', blockTimeMs: 300 } }, 'cadence: native blocks come at multiples of 200 ms, not every 300 ms'],
  [{ cadence: { kind: 'native', blockTimeMs: 30 * 86_400_000 } }, 'cadence: blocks cannot come every 2592000000 ms'],
  [{ cadence: { kind: 'preconf', blockTimeMs: '2s', flashblockMs: 200 } }, 'cadence: blocks cannot come every 2s ms'],
  [
    { cadence: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 0 } },
    'cadence: flashblocks cannot come every 0 ms: it takes 10 to 60000',
  ],
  [{ cadence: { kind: 'preconf', blockTimeMs: 2_000 } }, 'cadence: flashblocks cannot come every undefined ms'],
  [{ cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 2_000 } }, 'and at most the block time of 1000 ms'],
  [{ number: 2 ** 53 - 3 }, 'number must be a whole number from 0 to 281474976710656, not 9007199254740989'],
  [{ timestamp: 9e15 }, 'timestamp must be a whole number of seconds from 0 to 100000000000, not 9000000000000000'],
  [{ gasLimit: null }, 'gasLimit must be gas as a bigint'],
  [{ factories: 'no' }, 'factories must be true or false, not "no"'],
  [{ onError: 'log' }, 'onError must be a function, not "log"'],
  [{ wallet: { polcy: 'approve' } }, 'unknown option wallet.polcy; the options of wallet are chains, keys, '],
  [{ wallet: { confirmation: 'fast' } }, 'wallet.confirmation must be one of preconfirmed, sealed, not "fast"'],
  [{ wallet: { sponsorship: 'off' } }, 'wallet.sponsorship must be true or false, not "off"'],
  [{ wallet: { latencyMs: '5' } }, 'wallet.latencyMs must be a whole number such as 1, not "5"'],
  [{ wallet: { keys: { dev: [] } } }, 'unknown option wallet.keys.dev; the options of wallet.keys are memory, keystore'],
  [{ wallet: 'approve' }, 'wallet must be an object of options, or false, not "approve"'],
  [{ bundler: { minstake: 1n } }, 'unknown option bundler.minstake'],
  [{ bundler: { minStake: 1 } }, 'bundler.minStake must be a bigint such as 10n ** 18n, from 0 to 2n ** 256n - 1n, not 1'],
  [{ bundler: { minUnstakeDelay: 2n ** 32n } }, 'bundler.minUnstakeDelay must be seconds as a bigint'],
  [{ bundler: { rules: 'lax' } }, 'bundler.rules must be one of strict, relaxed, off, true, false, not "lax"'],
  [{ sponsor: { deposit: 1n } }, 'unknown option sponsor.deposit'],
  [{ sponsor: { policies: {} } }, 'sponsor.policies must be an array'],
  [{ fork: { url: 'http://127.0.0.1:1', block: 1 } }, 'unknown option fork.block; the options of fork are url, blockNumber, '],
  [{ fork: { url: 'http://127.0.0.1:1', blockNumber: '0x1' } }, 'fork.blockNumber must be a whole number such as -1, not "0x1"'],
  [{ fleet: null }, 'fleet must be an object with database (a URL of PostgreSQL), nats (URLs) and role'],
  [{ fleet: 'postgres://127.0.0.1:1/x' }, 'fleet must be an object with database'],
  [{ fleet: { role: 'replica' } }, 'fleet must be an object with database'],
  [{ fleet: { nats: 'n', database: 'd', role: 'leader' } }, 'fleet.role must be'],
  [{ fork: { url: 1 } }, 'fork.url must be a string, or an array of strings, not 1'],
  [{ chainType: 'l1', l1BaseFee: 1n }, 'chainType and l1BaseFee exclude each other: a chain of type l1 has no data fee; omit one of them'],
  [{ chainType: 'l1', l1BlobBaseFee: 1n }, 'chainType and l1BlobBaseFee exclude each other'],
  [
    { fork: { url: 'http://127.0.0.1:1', blockNumber: 1, transactionHash: `0x${'1'.repeat(64)}` } },
    'fork.blockNumber and fork.transactionHash exclude each other: each names the block to fork from',
  ],
  [{ fork: { url: 'http://127.0.0.1:1' }, number: 5 }, 'number cannot be combined with fork'],
  [
    { fork: { url: 'http://127.0.0.1:1' }, fleet: { nats: 'nats://127.0.0.1:1', database: 'postgres://127.0.0.1:1/x', role: 'replica' } },
    'fleet and fork exclude each other: the chain of a fleet is that of its database',
  ],
  [
    { stateFile: new Uint8Array(), fleet: { nats: 'nats://127.0.0.1:1', database: 'postgres://127.0.0.1:1/x', role: 'replica' } },
    'fleet and stateFile exclude each other',
  ],
])('createPocketchain refuses %o', async (options, message) => {
  await expect(createPocketchain(options as object)).rejects.toThrow(message)
})

test.each([
  ['fast', 'createPocketchain takes an object of options, not fast'],
  [null, 'createPocketchain takes an object of options, not null'],
  [{ stateFile: 'state.json' }, 'stateFile must be a Uint8Array, such as the bytes of a file, not "state.json"'],
  [{ importedChain: 5 }, 'importedChain must be a Uint8Array'],
  [{ observer: 5 }, 'observer must be an object with functions, not 5'],
  [{ executionNotes: {} }, 'executionNotes must be an ExecutionNotes'],
])('createPocketchain refuses %o, also outside of TypeScript', async (options, message) => {
  await expect(createPocketchain(options as object)).rejects.toThrow(message)
})

test.each([
  [{ host: '' }, 'host must be a string that is not empty, not ""'],
  [{ host: 5 }, 'host must be a string that is not empty, not 5'],
  [{ port: '80' }, 'port must be a whole number from 0 to 65535, not "80"'],
  [{ port: 65_536 }, 'port must be a whole number from 0 to 65535, not 65536'],
  [{ ports: 80 }, 'unknown option ports; the options of listen are host, port, '],
  [{ keys: '' }, 'keys must be a string that is not empty, or null, not ""'],
  [{ allowOrigins: '*' }, 'allowOrigins must be an array, not "*"'],
  [8545, 'listen takes an object of options, not 8545'],
])('listen refuses %o and opens no port', async (options, message) => {
  await using node = await createPocketchain()
  await expect(node.listen(options as object)).rejects.toThrow(message)
  expect((await node.listen()).port).toBeGreaterThan(0)
})

test.each([
  [{ pastState: true }, 'unknown option pastState; the options of stateFile are pastStates'],
  [{ pastStates: 'yes' }, 'pastStates must be true or false, not "yes"'],
  [null, 'stateFile takes an object of options, not null'],
])('stateFile refuses %o', async (options, message) => {
  await using node = await createPocketchain()
  expect(() => node.stateFile(options as object)).toThrow(message)
})
