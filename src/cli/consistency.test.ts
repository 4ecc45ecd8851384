import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cadenceOf } from './cadence.ts'
import { finish } from './cli.fixture.ts'
import type { Settings } from './options.ts'
import { readSettings } from './settings.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-consistency-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Read {
  readonly settings: Settings
  readonly warnings: readonly string[]
}

async function read(argv: readonly string[], env: Readonly<Record<string, string>> = {}, file: object = {}): Promise<Read> {
  writeFileSync(join(folder, 'pocketchain.config.json'), JSON.stringify(file))
  const parsed = await readSettings(argv, env, folder)
  if (!('settings' in parsed)) throw new Error(`not a start: ${JSON.stringify(parsed)}`)
  return parsed
}

const URL = 'http://127.0.0.1:9'

describe('of two options that exclude each other', () => {
  test.each([
    [
      ['--genesis', 'g.json'],
      {},
      { forkUrl: [URL], forkBlockNumber: 5, forkHeader: ['a: b'] },
      { genesis: 'g.json', forkUrl: [], forkBlockNumber: null },
    ],
    [
      ['--fork-url', URL],
      {},
      { genesis: 'g.json', timestamp: 5, data: 'x' },
      { forkUrl: [URL], genesis: null, timestamp: null, data: null },
    ],
    [[], { POCKETCHAIN_FORK_URL: URL }, { genesis: 'g.json' }, { forkUrl: [URL], genesis: null }],
    [['--genesis', 'g.json'], { POCKETCHAIN_FORK_URL: URL }, {}, { forkUrl: [], genesis: 'g.json' }],
    [['--no-wallet'], {}, { walletPolicy: 'approve', keystore: 'k' }, { noWallet: true, walletPolicy: 'ask', keystore: null }],
    [[], { POCKETCHAIN_NO_WALLET: '1' }, { walletPolicy: 'approve' }, { noWallet: true, walletPolicy: 'ask' }],
    [['--sponsor-policies', 'p.json'], { POCKETCHAIN_NO_SPONSOR: 'false' }, {}, { noSponsor: false, sponsorPolicies: { path: 'p.json' } }],
    [['--sponsor-policies', 'p.json'], {}, { noSponsor: true }, { noSponsor: false }],
    [['--mnemonic-random'], { POCKETCHAIN_MNEMONIC: 'test' }, {}, { mnemonic: null, mnemonicRandom: '12' }],
    [['--data', 'x'], {}, { state: 's.json' }, { data: 'x', state: null }],
    [['--explorer-of', URL], {}, { chainId: 5, noWallet: true }, { explorerOf: URL, chainId: null }],
    [['--chain-id', '5'], {}, { explorerOf: URL }, { explorerOf: null, chainId: 5 }],
    // The flag overrides both, which is no contradiction then.
    [['--data', 'x'], {}, { forkUrl: [URL], state: 's.json' }, { data: 'x', forkUrl: [], state: null }],
  ] as const)('that of the higher rank is used: %j over %j and %j', async (argv, env, file, wanted) => {
    const { settings, warnings } = await read(argv, env, file)
    expect(settings).toMatchObject(wanted)
    expect(warnings).toEqual([])
  })

  test.each([
    [['--cadence', 'instant'], { blockTime: 2, flashblockTime: 100 }, { kind: 'instant' }],
    [['-b', '3'], { cadence: 'instant' }, { kind: 'preconf', blockTimeMs: 3_000, flashblockMs: 200 }],
    [['--no-mining'], { cadence: 'native', blockTime: 1 }, { kind: 'manual' }],
    [['--cadence', 'native'], { noMining: true, flashblockTime: 100 }, { kind: 'native', blockTimeMs: 200 }],
  ] as const)('also in a cadence: %j over %j', async (argv, file, wanted) => {
    expect(cadenceOf((await read(argv, {}, file)).settings)).toEqual(wanted)
  })

  test.each([
    [['--no-wallet', '--keystore', 'k'], '--no-wallet and --keystore exclude each other: no wallet is started; omit one of them'],
    [['--no-bundler', '--bundler-rules', 'strict'], '--no-bundler and --bundler-rules exclude each other'],
    [['--no-bundler', '--bundler-min-stake', '1'], '--no-bundler and --bundler-min-stake exclude each other'],
    [['--no-bundler', '--bundler-unstake-delay', '1'], '--no-bundler and --bundler-unstake-delay exclude each other'],
    [['--no-cors', '--allow-origin', '*'], '--no-cors and --allow-origin exclude each other'],
    [['--code-size-limit', '5', '--disable-code-size-limit'], '--disable-code-size-limit and --code-size-limit exclude each other'],
    [['--chain-type', 'l1', '--l1-base-fee', '5'], '--chain-type and --l1-base-fee exclude each other: a chain of type l1 has no data fee'],
    [['--chain-type', 'l1', '--l1-blob-base-fee', '5'], '--chain-type and --l1-blob-base-fee exclude each other'],
    [['--fork-url', URL, '--import', 'x'], '--fork-url and --import exclude each other'],
    [['--fork-url', URL, '--number', '5'], '--fork-url and --number exclude each other'],
    [
      ['--fork-url', URL, '--fork-block-number', '5', '--fork-transaction-hash', `0x${'1'.repeat(64)}`],
      '--fork-block-number and --fork-transaction-hash exclude each other: each names the block to fork from',
    ],
    [['--data', 'd', '--state-history', '5'], '--data and --state-history exclude each other: --prune limits the state'],
    [['--explorer-of', URL, '--chain-id', '5'], '--explorer-of and --chain-id exclude each other: it starts no chain'],
    [['--explorer-of', URL, '--no-wallet'], '--explorer-of and --no-wallet exclude each other: it starts no chain'],
  ])('two of the same rank are refused: %j', async (argv, message) => {
    const { code, out, err } = await finish(['--port', '0', ...argv])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })

  test('values that go together are accepted', async () => {
    const argv = ['--chain-type', 'op', '--l1-base-fee', '5', '--no-mining', '--cadence', 'manual', '--explorer-of', URL]
    expect((await read(argv.slice(0, -2))).settings).toMatchObject({ l1BaseFee: 5n, noMining: true, cadence: 'manual' })
    expect((await read(['--explorer-of', URL, '--port', '5', '--host', '::1', '--quiet'])).settings).toMatchObject({ explorerOf: URL })
  })

  test('the error names a variable or a key of the file', async () => {
    await expect(read([], { POCKETCHAIN_NO_WALLET: '1', POCKETCHAIN_KEYSTORE: 'k' })).rejects.toThrow(
      'POCKETCHAIN_NO_WALLET and POCKETCHAIN_KEYSTORE exclude each other',
    )
    await expect(read([], {}, { forkUrl: [URL], genesis: 'g' })).rejects.toThrow(
      `${folder}/pocketchain.config.json: forkUrl and ${folder}/pocketchain.config.json: genesis exclude each other`,
    )
  })
})

describe('an option without the one that it requires', () => {
  test.each([
    ['--fork-block-number', '5'],
    ['--fork-transaction-hash', `0x${'1'.repeat(64)}`],
    ['--fork-chain-id', '5'],
    ['--fork-header', 'a: b'],
    ['--timeout', '5'],
    ['--retries', '5'],
    ['--fork-retry-backoff', '5'],
    ['--compute-units-per-second', '5'],
    ['--no-rate-limit'],
    ['--no-storage-caching'],
  ])('%s is refused as a flag', async (...argv) => {
    const { code, err } = await finish(['--port', '0', ...argv])
    expect([code, err]).toEqual([2, `pocketchain: ${argv[0]} requires --fork-url <url>\n`])
  })

  test.each([
    [['--prune', '5'], '--prune requires --data <dir>; --state-history limits the state of a chain in memory'],
    [['--keystore-password-file', 'x'], '--keystore-password-file requires --keystore <file>'],
    [['-s', '5'], '--state-interval requires --state or --dump-state'],
    [['--role', 'sequencer'], '--role needs --fleet <url> and --database <url>'],
  ])('%j is refused', async (argv, message) => {
    const { code, err } = await finish(['--port', '0', ...argv])
    expect([code, err]).toEqual([2, `pocketchain: ${message}\n`])
  })

  test('is a warning as a variable or a key of the file, which may be meant for other starts', async () => {
    const { settings, warnings } = await read([], { POCKETCHAIN_FORK_HEADER: 'Authorization: secret' }, { forkBlockNumber: 5 })
    expect(settings).toMatchObject({ forkHeader: [], forkBlockNumber: null })
    expect(warnings).toEqual([
      `${folder}/pocketchain.config.json: forkBlockNumber has no effect: it requires --fork-url <url>`,
      'POCKETCHAIN_FORK_HEADER has no effect: it requires --fork-url <url>',
    ])
    await expect(read([], { POCKETCHAIN_ROLE: 'replica' })).rejects.toThrow('POCKETCHAIN_ROLE needs --fleet')
  })

  test('is refused if a flag switches off that one', async () => {
    await expect(read(['--genesis', 'g', '--fork-block-number', '5'], {}, { forkUrl: [URL] })).rejects.toThrow(
      '--fork-block-number requires --fork-url <url>',
    )
  })

  test('--cache-path is accepted, as in anvil', async () => {
    expect((await read(['--cache-path', 'x'])).warnings).toEqual([])
  })
})
