import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cadenceOf } from './cadence.ts'
import { OPTION_ROWS, longName, takesValue, variableOf } from './options.ts'
import { readSettings } from './settings.ts'
import type { Settings } from './options.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** The accounts of `ganache --deterministic`. */
const GANACHE = 'myth like bonus scare over problem client lizard pioneer submit female collect'

describe('flags', () => {
  test.each([
    [['-p', '9000'], { port: 9_000 }],
    [['--port=9000'], { port: 9_000 }],
    [['-p9000'], { port: 9_000 }],
    [['--host', '0.0.0.0'], { host: ['0.0.0.0'] }],
    [['-a', '3', '--balance', '0.5'], { accounts: 3, balance: 5n * 10n ** 17n }],
    [['-b', '2.5'], { blockTime: 2_500 }],
    [['--blockTime', '3'], { blockTime: 3_000 }],
    [['--no-mine'], { noMining: true }],
    [['--no-mining'], { noMining: true }],
    [['--cadence', 'automine'], { cadence: 'instant' }],
    [['--base-fee', '7'], { baseFee: 7n }],
    [['--block-base-fee-per-gas', '0x7'], { baseFee: 7n }],
    [['--block-gas-limit=30000000'], { gasLimit: 30_000_000n }],
    [['--init', 'g.json'], { genesis: 'g.json' }],
    [['--with-accounts'], { withAccounts: true }],
    [['--auto-unlock'], { autoImpersonate: true }],
    [['--silent'], { quiet: true }],
    [['-q', '-vvv', '--json'], { quiet: true, verbose: 3, json: true }],
    [['-v', '--verbose'], { verbose: 2 }],
    [['--abi', 'a.json', '--abi', 'out', '--print-traces'], { abi: ['a.json', 'out'], printTraces: true }],
    [['--disable-console-log'], { disableConsoleLog: true }],
    [['--no-cors', '--no-color'], { noCors: true, noColor: true }],
    [['--mnemonic-random'], { mnemonicRandom: '12' }],
    [['--ipc'], { ipc: '/tmp/anvil.ipc' }],
    [['--number', '0x64'], { number: 100 }],
    [['--preserve-historical-states'], { preserveHistoricalStates: true }],
    [['--ipcpath', '/tmp/other.ipc'], { ipc: '/tmp/other.ipc' }],
    [['--mnemonic-seed-unsafe', '7'], { mnemonicSeedUnsafe: 7n }],
    [
      [
        '--fund-accounts',
        '0x00000000000000000000000000000000000000AA:1.5',
        '--fund-accounts',
        '0x00000000000000000000000000000000000000bb',
      ],
      {
        fundAccounts: [
          { address: '0x00000000000000000000000000000000000000aa', balance: 15n * 10n ** 17n },
          { address: '0x00000000000000000000000000000000000000bb', balance: null },
        ],
      },
    ],
    [['--mnemonic-random', '24'], { mnemonicRandom: '24' }],
    [
      ['--allow-origin', 'https://a.example', '--allow-origin', 'https://b.example'],
      { allowOrigin: ['https://a.example', 'https://b.example'] },
    ],
    [
      ['--allow-origin', '*', '--allow-origin', 'chrome-extension://abcdef', '--allow-origin', 'http://[::1]:3000/'],
      { allowOrigin: ['*', 'chrome-extension://abcdef', 'http://[::1]:3000/'] },
    ],
    [['--allow-host', 'a.example:8545', '--allow-host', 'b.example'], { allowHost: ['a.example:8545', 'b.example'] }],
    [['--no-bundler', '--no-sponsor'], { noBundler: true, noSponsor: true }],
    [['--sponsor-policies', 'p.json'], { sponsorPolicies: { kind: 'file', path: 'p.json' } }],
    [['--tls-folder', 'keys', '--allow-http-loopback'], { tlsFolder: 'keys', allowHttpLoopback: true }],
    [['--seed', 'constructor'], { seed: 'constructor' }],
    [['--chain-id', 'base'], { chainId: 8_453 }],
    [['--chain', 'Base-Sepolia'], { chainId: 84_532 }],
    [['--host', '127.0.0.1', '--host', '::1'], { host: ['127.0.0.1', '::1'] }],
    [['--host', '127.0.0.1,::1'], { host: ['127.0.0.1', '::1'] }],
    [
      ['-d', '-e', '5', '-l', '0x1c9c380', '-k', 'cancun'],
      { mnemonic: GANACHE, balance: 5n * 10n ** 18n, gasLimit: 30_000_000n, hardfork: 'cancun' },
    ],
    [
      ['--wallet.deterministic', '--wallet.totalAccounts=3', '--miner.blockTime', '4'],
      { mnemonic: GANACHE, accounts: 3, blockTime: 4_000 },
    ],
    [['--chain.chainId', '7', '--server.port', '9', '--database.dbPath', 'x'], { chainId: 7, port: 9, data: 'x' }],
    [['--no-console-log', '--enable-trace-printing'], { disableConsoleLog: true, printTraces: true }],
    [['--compat', 'geth', '--clock', 'manual', '--order', 'fifo'], { compat: 'geth', clock: 'manual', order: 'fifo' }],
  ])('%j', async (argv, wanted) => {
    expect(await settingsOf(argv)).toMatchObject(wanted)
  })

  test('every option has its default without them', async () => {
    const settings = await settingsOf([])
    for (const [name, row] of OPTION_ROWS) expect([name, settings[name]]).toEqual([name, row.default])
  })

  test.each([
    [['--port', '70000'], '--port: expected a whole number from 0 to 65535, got "70000"'],
    [['--port', 'x'], '--port: expected a whole number'],
    [['--port'], "option '-p, --port <number>' argument missing"],
    [['--chain-id', '-1'], '--chain-id: expected a whole number'],
    [['--balance', 'lots'], '--balance: expected an amount of ETH'],
    [['--cadence', 'sometimes'], '--cadence: expected one of preconf, native, instant, manual, got "sometimes"'],
    [['--gas-limit', '5'], '--gas-limit: expected a whole number of gas from'],
    [['--allow-host', 'https://a.example'], '--allow-host[0]: expected a host name such as node.example, got "https://a.example"'],
    [['--allow-origin', 'a.example'], '--allow-origin[0]: expected an origin such as https://app.example, or *, got "a.example"'],
    [['--allow-origin', 'https://a.example/app'], '--allow-origin[0]: expected an origin such as https://app.example, or *'],
    [['--nonsense'], "unknown option '--nonsense'"],
    [['--cadence', 'constructor'], '--cadence: expected one of preconf, native, instant, manual, got "constructor"'],
    [['constructor'], 'unknown command "constructor": the commands are demo, audit, fleet and completions'],
    [['extra'], 'unknown command "extra": the commands are demo, audit, fleet and completions'],
    [['--port', '1', 'demo', 'extra'], 'too many arguments'],
    [['--headless'], "unknown option '--headless'"],
    [['--no-sponsor', '--sponsor-policies', 'p.json'], '--no-sponsor and --sponsor-policies exclude each other'],
    [['--no-wallet', '--wallet-policy', 'ask'], '--no-wallet and --wallet-policy exclude each other'],
    [['--no-wallet', '--allow-http-loopback'], '--no-wallet and --allow-http-loopback exclude each other'],
    [['--fork-url', 'localhost'], '--fork-url[0]: expected '],
    [['-f', 'ftp://x'], '--fork-url[0]: expected '],
    [['--rpc-url=x'], '--fork-url[0]: expected '],
    [['--fork-block-number', '-1.5'], '--fork-block-number: expected a whole number from -1000000000 to'],
    [['--fork-block-number', '--1'], '--fork-block-number: expected a whole number'],
    [['--fork-transaction-hash', '0x12'], '--fork-transaction-hash: expected '],
    [['--fork-header', 'no colon'], '--fork-header[0]: expected '],
    [['--timeout', '0'], '--timeout: expected a whole number from 1 to 3600000'],
    [['--retries', '-1'], '--retries: expected a whole number from 0 to 1000'],
    [['--chain-id', 'atlantis'], '--chain-id: the chain "atlantis" is unknown; give its id, or one of mainnet,'],
    [['--account', '0x12,1'], '--account: private keys are not taken from the command line'],
    [['--wallet.unlockedAccounts', '0x12'], 'all accounts of the node are unlocked'],
    [['--config', 'hardhat.config.ts'], '--config: name the options as flags'],
    [['--disable-pool-balance-checks'], 'the pool checks balances'],
    [['-port', '8546'], '-port has one dash; the option is --port'],
    [['—port', '8546'], '—port begins with a typographic dash; type --port'],
    [['–-port', '8546'], '–-port begins with a typographic dash; type --port'],
    [['--mnemonic', 'test', 'test', 'junk'], 'a value with spaces needs quotes: --mnemonic "test test …"'],
    [['--verbose', '3'], '--verbose takes no value; repeat it to print more, as in -vvv'],
    [['-vv', '3'], '-vv takes no value; repeat it to print more, as in -vvv'],
    [['--verbosity=3'], '--verbose takes no value; repeat it to print more, as in -vvv'],
    [['--quiet', 'yes'], '--quiet takes no value: give it alone, or leave it out; remove "yes"'],
    [['--json=false'], '--json takes no value: give it alone, or leave it out, or set POCKETCHAIN_JSON=false'],
    [['--no-wallet=true'], '--no-wallet takes no value: give it alone, or leave it out, or set POCKETCHAIN_NO_WALLET=true'],
    [['--gas-price', '1gwei'], '--gas-price: expected a whole number of wei such as 1000000000, which is 1 gwei, got "1gwei"'],
    [['--balance', '10ether'], '--balance: expected an amount of ETH such as 10000 or 0.5, got "10ether"'],
    [['--timestamp', '2024-01-01'], '--timestamp: expected a whole number of seconds since 1970, such as 1700000000, from 1 to'],
    [['--host', 'localhost:8545'], '--host[0]: "localhost:8545" has a port; name the host alone, and the port with --port 8545'],
    [['--host', '[::1]:8545'], '--port 8545'],
    [['--account', '3'], '--accounts sets the number of dev accounts'],
    [['--fork.network', 'mainnet'], '--fork.network: name an endpoint of the chain with --fork-url <url>'],
    [['start'], 'unknown command "start": the commands are demo, audit, fleet and completions; without a command the node starts'],
  ])('%j is rejected with exit code 2', async (argv, sentence) => {
    await expect(settingsOf(argv)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(sentence) })
  })

  test('of other nodes may be followed by a number', async () => {
    for (const argv of [
      ['--prune-history', '5', '-p', '9'],
      ['--prune-history', '-p', '9'],
      ['--prune-history=5', '-p', '9'],
      ['-i', '5777', '-p', '9'],
    ]) {
      const parsed = await readSettings(argv, {}, folder)
      if (!('settings' in parsed)) throw new Error('not a start')
      expect(parsed.warnings).toEqual([`ignored flags of other nodes: ${argv[0]?.split('=')[0]}`])
      expect(parsed.settings.port).toBe(9)
    }
  })

  test('of other nodes without effect are named once, and their values skipped', async () => {
    const parsed = await readSettings(['--threads', '4', '-j', '2', '--threads=8', '--steps-tracing', '-p', '9'], {}, folder)
    if (!('settings' in parsed)) throw new Error('not a start')
    expect(parsed.warnings).toEqual(['ignored flags of other nodes: --threads, -j, --steps-tracing'])
    expect(parsed.settings.port).toBe(9)
  })
})

describe('sources', () => {
  test('flags override variables, variables override the file', async () => {
    writeFileSync(join(folder, 'pocketchain.config.json'), '{"port":1,"accounts":1,"balance":1}')
    const settings = await settingsOf(['--port', '3'], { POCKETCHAIN_PORT: '2', POCKETCHAIN_ACCOUNTS: '2' })
    expect(settings).toMatchObject({ port: 3, accounts: 2, balance: 10n ** 18n })
  })

  test('a variable can set a boolean option of the file to false', async () => {
    writeFileSync(join(folder, 'pocketchain.config.json'), '{"noMining":true,"json":true}')
    expect(await settingsOf([], { POCKETCHAIN_NO_MINING: 'false' })).toMatchObject({ noMining: false, json: true })
  })

  test('false in the file disables the random mnemonic', async () => {
    writeFileSync(join(folder, 'pocketchain.config.json'), '{"mnemonicRandom":false}')
    expect(await settingsOf([])).toMatchObject({ mnemonicRandom: null })
    expect(await settingsOf(['--mnemonic-random'])).toMatchObject({ mnemonicRandom: '12' })
  })

  test('the file is found upward and may be a module', async () => {
    const below = join(folder, 'a', 'b')
    mkdirSync(below, { recursive: true })
    writeFileSync(join(folder, 'pocketchain.config.mjs'), 'export default { chainId: 7, allowOrigin: ["https://a.example"] }')
    expect(await settingsOf([], {}, below)).toMatchObject({ chainId: 7, allowOrigin: ['https://a.example'] })
  })

  test('the file may contain the policies of the sponsor', async () => {
    const file = join(folder, 'pocketchain.config.mjs')
    writeFileSync(file, 'export default { sponsorPolicies: [{ name: "mine", perDay: 5n }] }')
    const list = [{ name: 'mine', perDay: 5n }]
    expect(await settingsOf([])).toMatchObject({ sponsorPolicies: { kind: 'list', list, source: `${file}: sponsorPolicies` } })
    expect(await settingsOf([], { POCKETCHAIN_SPONSOR_POLICIES: 'p.json' })).toMatchObject({ sponsorPolicies: { path: 'p.json' } })
  })

  test('the demo reads flags only, and listens on any free port', async () => {
    writeFileSync(join(folder, 'pocketchain.config.json'), '{"port":1,"accounts":1,"prot":1}')
    const parsed = await readSettings(['demo', '--headless', '--block-time', '1'], { POCKETCHAIN_NO_WALLET: '1' }, folder)
    expect(parsed).toMatchObject({ command: 'demo', isHeadless: true, settings: { port: 0, blockTime: 1_000, noWallet: false } })
    expect(await readSettings(['demo', '--port', '7'], {}, folder)).toMatchObject({ isHeadless: false, settings: { port: 7 } })
    expect(await readSettings(['--port', '7', 'demo'], {}, folder)).toMatchObject({ command: 'demo', settings: { port: 7 } })
  })

  test('ANVIL_IP_ADDR names the host', async () => {
    expect(await settingsOf([], { ANVIL_IP_ADDR: '0.0.0.0' })).toMatchObject({ host: ['0.0.0.0'] })
  })

  test('values of a module are read as their text is', async () => {
    writeFileSync(
      join(folder, 'pocketchain.config.mjs'),
      'export default { port: 0, baseFee: 7n, balance: 0.5, blockTime: 2.5, quiet: "yes", json: 1, mnemonicRandom: 24, seed: 7, allowHost: ["a.example"] }',
    )
    expect(await settingsOf([])).toMatchObject({
      port: 0,
      baseFee: 7n,
      balance: 5n * 10n ** 17n,
      blockTime: 2_500,
      quiet: true,
      json: true,
      mnemonicRandom: '24',
      seed: '7',
      allowHost: ['a.example'],
    })
  })

  test.each([
    ['{"quiet":"maybe"}', 'quiet: expected true or false, got "maybe"'],
    ['{"seed":""}', 'seed: expected text that is not empty, got ""'],
    ['{"allowHost":["a/b"]}', 'allowHost[0]: expected a host name'],
    ['{"allowHost":5}', 'allowHost: expected an array, got 5'],
    ['{"baseFee":1.5}', 'baseFee: expected a whole number of wei such as 1000000000, which is 1 gwei, got 1.5'],
    ['{"prot":1}', 'prot is not an option'],
    ['{"port":"x"}', 'port: expected a whole number from 0 to 65535, got "x"'],
    ['{"port":{}}', 'port: expected a whole number from 0 to 65535, got an object'],
    ['{', 'cannot be read'],
    ['[1]', 'must contain one object of options'],
  ])('a file %s is rejected by name', async (text, sentence) => {
    writeFileSync(join(folder, 'pocketchain.config.json'), text)
    await expect(settingsOf([])).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining(sentence) })
    await expect(settingsOf([])).rejects.toThrow('pocketchain.config.json')
  })

  test('a wrong variable is named', async () => {
    await expect(settingsOf([], { POCKETCHAIN_PORT: 'x' })).rejects.toThrow('POCKETCHAIN_PORT: expected a whole number')
  })
})

describe('the table', () => {
  test('has no flag, variable or short form twice', () => {
    const names = OPTION_ROWS.flatMap(([, row]) => [longName(row.flag), variableOf(row), ...(/^-(\w),/.exec(row.flag) ?? []).slice(1)])
    expect(names.length).toBe(new Set(names).size)
  })

  test('names variables after flags', () => {
    const byName = new Map(OPTION_ROWS)
    expect(variableOf(byName.get('blockTime')!)).toBe('POCKETCHAIN_BLOCK_TIME')
    expect(takesValue(byName.get('mnemonicRandom')!.flag)).toBe(true)
  })

  test('is in the help, with examples', async () => {
    const parsed = await readSettings(['--help'], {}, folder)
    const help = 'print' in parsed ? (parsed.print ?? '') : ''
    for (const [, row] of OPTION_ROWS) expect(help).toContain(`--${longName(row.flag)}`)
    expect(help).toContain('Examples:')
    expect(help).toContain('Exit codes:')
    expect(help).toContain('pocketchain demo')
  })
})

describe('the cadence', () => {
  test.each([
    [[], { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 }],
    [['-b', '1', '--flashblock-time', '100'], { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 100 }],
    [['--cadence', 'native'], { kind: 'native', blockTimeMs: 200 }],
    [['--cadence', 'native', '-b', '1'], { kind: 'native', blockTimeMs: 1_000 }],
    [['--cadence', 'instant'], { kind: 'instant' }],
    [['--no-mining'], { kind: 'manual' }],
    [['--import', 'chain.rlp'], { kind: 'manual' }],
    [['--import', 'chain.rlp', '--cadence', 'preconf'], { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 }],
  ])('%j', async (argv, wanted) => {
    expect(cadenceOf(await settingsOf(argv))).toEqual(wanted)
  })

  test.each([
    [['-b', '0.5']],
    [['--cadence', 'native', '-b', '0.3']],
    [['--cadence', 'instant', '-b', '2']],
    [['--cadence', 'instant', '--no-mining']],
    [['--cadence', 'native', '--flashblock-time', '100']],
    [['-b', '1', '--flashblock-time', '1500']],
  ])('%j contradicts itself', async (argv) => {
    const settings = await settingsOf(argv)
    expect(() => cadenceOf(settings)).toThrow(expect.objectContaining({ exitCode: 2 }))
  })
})

async function settingsOf(argv: readonly string[], env: Record<string, string> = {}, from = folder): Promise<Settings> {
  const parsed = await readSettings(argv, env, from)
  if (!('settings' in parsed)) throw new Error(`not a start: ${JSON.stringify(parsed)}`)
  return parsed.settings
}
