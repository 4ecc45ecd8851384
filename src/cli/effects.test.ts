import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Block, EMPTY_CODE_HASH, Hex } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import { start } from './cli.fixture.ts'
import type { Started } from './cli.fixture.ts'
import { FORK_OPTIONS } from './forkoptions.fixture.ts'
import { OPTIONS, longName } from './options.ts'
import type { OptionName } from './options.ts'

/**
 * Each option changes something that a user can observe. An option without an entry here fails the first test.
 * The options of a group are set together on one node, and their observations compared with those of a node without them.
 */
interface Group {
  readonly title: string
  /** Flags of both nodes. */
  readonly flags?: (folder: string) => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** False for nodes that cannot start from the genesis file of this test. */
  readonly withGenesis?: boolean
  readonly options: Readonly<Partial<Record<OptionName, Effect>>>
}

interface Effect {
  /** Absent: the flag takes no value. */
  readonly value?: string | ((folder: string) => string)
  readonly observe: (node: Observed) => unknown
  /** The result with the option; without it the result differs. */
  readonly expected: unknown
  /** The genesis file determines it: with `--genesis` the command prints that the option has no effect. */
  readonly note?: string
}

/** A command that runs, or has stopped. */
interface Observed {
  readonly url: string
  readonly folder: string
  readonly command: Started
  /** The first line of `--json`; `null` without it. */
  readonly ready: Readonly<Record<string, unknown>> | null
  /** The result, or the code of the error. */
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** The pending block with whole transactions. */
  readonly pending: () => Promise<Pending>
  readonly stop: () => Promise<void>
}

interface Pending {
  readonly gasLimit: string
  readonly extraData: string
  readonly mixHash: string
  readonly baseFeePerGas: string
  readonly timestamp: string
  readonly transactions: readonly { readonly from: string; readonly input: string }[]
}

const ACCOUNT = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const SECOND = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const STRANGER = '0x00000000000000000000000000000000000abcde'
const OWN_WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const SAFE_PROXY_FACTORY = '0x4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67'
const CREATE2_FACTORY = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const METHOD_NOT_FOUND = -32_601
const CHAIN_ID_REQUEST = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
/** Returns code of 25,000 and of 200 zero bytes. */
const LARGE_CODE = '0x6161a85ff3'
const SMALL_CODE = '0x60c85ff3'
const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Node's key 0x0707…07 with the password `correct horse`. */
const KEYSTORE = {
  address: '4a62316623ad457f02cdc5d997ded67a383ec569',
  crypto: {
    cipher: 'aes-128-ctr',
    ciphertext: '9f4cd58bc46770d0776c46c7b8ce320bd8369112825009a0beadae481a7c31e0',
    cipherparams: { iv: 'b9b1dc4a08a7fec5b74443f1a7e2206a' },
    kdf: 'scrypt',
    kdfparams: { dklen: 32, n: 4096, p: 1, r: 8, salt: '44eb039332c61fe3a563fe59dc26029f6a103e005ff5ad7f70a0a9019e0feac3' },
    mac: '9a73f611b3c866dde4d2ef54043f8bf2451d8541e82a1afe6efa338ffc91f32b',
  },
  id: '5e6eeb7f-2ea5-41d2-95c8-7f17b84dad7b',
  version: 3,
}

/** Forks of the genesis file that are active from block 0 on. */
const BLOCK_FORKS = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul', 'berlin', 'london']
const L1_TIME_FORKS = ['shanghai', 'cancun', 'prague', 'osaka']
const OP_TIME_FORKS = ['regolith', 'canyon', 'ecotone', 'fjord', 'granite', 'holocene', 'isthmus', 'jovian']

/** The options of a chain that makes no blocks by itself, whose blocks and state the test writes to files. */
const STANDING = { clock: 'manual', cadence: 'manual', timestamp: 1_700_000_000 } as const

/** A member of the rules of the bundler. */
function bundlerRule(name: string) {
  return async ({ ask }: { readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown> }) =>
    ((await ask('pocketchain_bundlerRules')) as Readonly<Record<string, unknown>>)[name]
}

/** Returns a genesis file with forks and the state of the default genesis. */
async function genesisFile(chainId: number): Promise<string> {
  await using node = await createPocketchain(STANDING)
  const { accounts, storage, codes } = node.chain.genesisState
  const alloc = [...accounts].map(([address, account]) => [
    address,
    {
      balance: String(account?.balance ?? 0n),
      nonce: String(account?.nonce ?? 0n),
      code: Hex.fromBytes(codes.get(account?.codeHash ?? EMPTY_CODE_HASH) ?? new Uint8Array()),
      storage: Object.fromEntries([...(storage.get(address) ?? [])].map(([slot, value]) => [slot, Hex.fromQuantity(value)])),
    },
  ])
  return JSON.stringify({
    config: {
      chainId,
      terminalTotalDifficulty: 0,
      ...Object.fromEntries(BLOCK_FORKS.map((fork) => [`${fork}Block`, 0])),
      ...Object.fromEntries([...L1_TIME_FORKS, ...OP_TIME_FORKS].map((fork) => [`${fork}Time`, 0])),
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    timestamp: '0x6553f000',
    gasLimit: '0x3938700',
    baseFeePerGas: '0x3b9aca00',
    // Version, denominator, elasticity and minimum base fee (Jovian).
    extraData: '0x01000000fa000000060000000000000000',
    alloc: Object.fromEntries(alloc) as unknown,
  })
}

let files = ''
let port = 0
beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), 'pocketchain-effects-'))
  const file = (name: string, text: string | Uint8Array) => writeFileSync(join(files, name), text, { mode: 0o600 })
  const genesis = await genesisFile(31_337)
  file('genesis.json', genesis)
  file('other.json', await genesisFile(99))
  file('key.json', JSON.stringify(KEYSTORE))
  file('password', 'correct horse\n')
  file('policies.json', JSON.stringify([{ name: 'mine', perDay: '1000' }]))
  for (const [name, options] of [
    ['', {}],
    ['-genesis', { genesis }],
  ] as const) {
    await using node = await createPocketchain({ ...STANDING, ...options })
    file(`chain${name}.rlp`, Buffer.concat((await node.chain.mine(3)).map(Block.encode)))
    file(`state${name}.json`, [...node.stateFile()].join(''))
  }
  port = await freePort()
})
afterAll(() => rmSync(files, { recursive: true, force: true }))

const header =
  (name: string, origin: string) =>
  async ({ url }: Observed) =>
    (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', origin }, body: '{}' })).headers.get(name)
const status =
  (path: string) =>
  async ({ url }: Observed) =>
    (await fetch(`${url}${path}`)).status
const cadenceOf = ({ ready }: Observed) => ready?.['cadence']
const blockZero =
  (field: string) =>
  async ({ ask }: Observed) =>
    ((await ask('eth_getBlockByNumber', '0x0', false)) as Readonly<Record<string, unknown>>)[field]
const exists =
  (name: string) =>
  ({ folder }: Observed) =>
    existsSync(join(folder, name))
const existsAfterStop = (name: string) => async (node: Observed) => {
  await node.stop()
  return exists(name)(node)
}

const GROUPS: readonly Group[] = [
  {
    title: 'without a chain',
    flags: () => ['--json'],
    withGenesis: false,
    options: {
      explorerOf: {
        value: 'http://127.0.0.1:18545',
        observe: ({ ask }) => ask('anvil_nodeInfo').then((result) => typeof result),
        expected: 'number',
      },
    },
  },
  {
    title: 'with faults',
    options: {
      chaos: {
        value: (folder) => {
          writeFileSync(join(folder, 'chaos.json'), '{"jitter":0.01}')
          return join(folder, 'chaos.json')
        },
        observe: ({ ask }) => ask('pocketchain_setPace', {}),
        expected: { speed: 1, jitter: 0.01 },
      },
    },
  },
  {
    title: 'under preconf',
    flags: () => ['--json', '--clock', 'manual'],
    options: {
      host: { value: '0.0.0.0', observe: ({ ready }) => ready?.['host'], expected: '0.0.0.0' },
      allowOrigin: {
        value: 'https://a.example',
        observe: header('access-control-allow-origin', 'https://a.example'),
        expected: 'https://a.example',
      },
      allowHost: { value: 'node.example', observe: ({ url }) => statusUnderHost(url, 'node.example'), expected: 200 },
      compat: {
        value: 'geth',
        observe: ({ ask }) => ask('eth_call', { to: STRANGER }, 'latest', { [STRANGER]: { code: '0x5f5ffd' } }),
        expected: 3,
      },
      clientVersion: { value: 'some/1', observe: ({ ask }) => ask('web3_clientVersion'), expected: 'some/1' },
      latest: {
        value: 'promised',
        observe: async ({ ask }) => {
          const [from] = (await ask('eth_accounts')) as readonly string[]
          await ask('anvil_setBalance', from, '0xde0b6b3a7640000')
          await ask('eth_sendTransaction', { from, to: STRANGER, value: '0x1' })
          await ask('pocketchain_tick', 500)
          return ask('eth_getBalance', STRANGER, 'latest')
        },
        expected: '0x1',
      },
      tier1: {
        value: 'shadow',
        observe: async ({ ask }) => ((await ask('pocketchain_info')) as { tier1: string }).tier1,
        expected: 'shadow',
      },
      autoImpersonate: {
        observe: async ({ ask }) => {
          await ask('anvil_setBalance', STRANGER, '0xde0b6b3a7640000')
          return typeof (await ask('eth_sendTransaction', { from: STRANGER, to: SECOND, value: '0x1' }))
        },
        expected: 'string',
      },
      accounts: {
        value: '3',
        observe: async ({ ask }) => ((await ask('eth_accounts')) as readonly string[]).length,
        expected: 3,
      },
      mnemonic: {
        value: OWN_WORDS,
        observe: async ({ ask }) => ((await ask('eth_accounts')) as readonly string[])[0],
        expected: '0x58a57ed9d8d624cbd12e2c467d34787555bb1b25',
      },
      noBundler: { observe: ({ ask }) => ask('eth_supportedEntryPoints'), expected: METHOD_NOT_FOUND },
      noSponsor: { observe: status('/sponsor'), expected: 404 },
      chainId: { value: '7', observe: ({ ask }) => ask('eth_chainId'), expected: '0x7' },
      blockTime: { value: '3', observe: ({ ask }) => ask('anvil_getIntervalMining'), expected: 3 },
      flashblockTime: { value: '500', observe: cadenceOf, expected: { kind: 'preconf', blockTimeMs: 3_000, flashblockMs: 500 } },
      timestamp: { value: '1600000000', observe: blockZero('timestamp'), expected: '0x5f5e1000' },
      seed: {
        value: 'another',
        observe: async ({ pending }) => (await pending()).mixHash,
        expected: '0xe4aa478083f7a6f6948b279303be149d0ac874b396545f383717a03411aec706',
      },
      gasLimit: { value: '30000000', observe: async ({ pending }) => (await pending()).gasLimit, expected: '0x1c9c380' },
      baseFee: { value: '7', observe: blockZero('baseFeePerGas'), expected: '0x7' },
      minBaseFee: {
        value: '77',
        observe: async ({ pending }) => Number(`0x${(await pending()).extraData.slice(-16)}`),
        expected: 77,
      },
      gasPrice: {
        value: '3000000000',
        observe: async ({ ask }) => Number(await ask('eth_gasPrice')) >= 3_000_000_000,
        expected: true,
      },
      l1BaseFee: { value: '0x1234567', observe: ({ pending }) => holdsInput(pending, '1234567'), expected: true },
      l1BlobBaseFee: { value: '0x7654321', observe: ({ pending }) => holdsInput(pending, '7654321'), expected: true },
    },
  },
  {
    title: 'under manual',
    flags: (folder) => ['--json', '--cadence', 'manual', '--clock', 'manual', '--tls-folder', join(folder, 'plain')],
    options: {
      balance: { value: '5', observe: ({ ask }) => ask('eth_getBalance', SECOND, '0x0'), expected: '0x4563918244f40000' },
      ipc: { value: (folder) => join(folder, 'node.ipc'), observe: exists('node.ipc'), expected: true },
      fundAccounts: {
        value: `${STRANGER}:3,0x000000000000000000000000000000000000ef01`,
        observe: async ({ ask }) => [
          await ask('eth_getBalance', STRANGER, '0x0'),
          await ask('eth_getBalance', '0x000000000000000000000000000000000000ef01', '0x0'),
        ],
        expected: ['0x29a2241af62c0000', '0x4563918244f40000'], // with --balance 5
      },
      order: {
        value: 'fifo',
        observe: async ({ ask, pending }) => {
          const fees = { to: STRANGER, gas: '0x5208', maxFeePerGas: '0x77359400' }
          await ask('eth_sendTransaction', { from: ACCOUNT, maxPriorityFeePerGas: '0x1', ...fees })
          await ask('eth_sendTransaction', { from: SECOND, maxPriorityFeePerGas: '0x2', ...fees })
          return (await pending()).transactions.slice(1).map(({ from }) => from)
        },
        expected: [ACCOUNT, SECOND],
      },
      codeSizeLimit: {
        value: '100',
        observe: ({ ask }) => ask('eth_call', { from: ACCOUNT, data: SMALL_CODE }),
        expected: -32_000,
      },
      transactionGasCap: {
        value: '0',
        observe: async ({ ask }) => {
          const filled = (await ask('eth_fillTransaction', { from: ACCOUNT, to: SECOND, gas: '0x1c9c380' })) as {
            readonly tx: { readonly gas: string }
          }
          return filled.tx.gas
        },
        expected: '0x1c9c380',
      },
      disableCreate2: { observe: ({ ask }) => ask('eth_getCode', CREATE2_FACTORY), expected: '0x', note: 'CREATE2 factories' },
      withAccounts: {
        observe: async ({ ask }) => ((await ask('eth_getCode', SAFE_PROXY_FACTORY)) as string).length,
        expected: 2 + 2 * 3_054,
        note: 'smart account contracts',
      },
      stateHistory: {
        value: '5',
        observe: async ({ ask }) => {
          await ask('anvil_mine', 20)
          return ask('eth_getBalance', ACCOUNT, '0x1')
        },
        expected: 4_444,
      },
      noWallet: { observe: status('/wallet'), expected: 404 },
      noCors: { observe: header('access-control-allow-origin', 'http://localhost:3000'), expected: null },
      keys: {
        value: (folder) => {
          const path = join(folder, 'keys.json')
          writeFileSync(path, JSON.stringify({ keys: [] }))
          return path
        },
        observe: async ({ url }) =>
          (await fetch(`${url}/public`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: CHAIN_ID_REQUEST }))
            .status,
        expected: 401,
      },
      tlsFolder: {
        value: (folder) => join(folder, 'changed'),
        observe: async ({ url, folder }) => {
          await fetch(`${url}/ca.pem`)
          return readdirSync(folder).includes('changed')
        },
        expected: true,
      },
    },
  },
  {
    title: 'with a mnemonic from a seed',
    flags: (folder) => ['--json', '--cadence', 'manual', '--clock', 'manual', '--tls-folder', join(folder, 'plain')],
    options: {
      number: { value: '100', observe: ({ ask }) => ask('eth_blockNumber'), expected: '0x64' },
      mnemonicSeedUnsafe: {
        value: '1',
        observe: async ({ ask }) => ((await ask('eth_accounts')) as readonly string[])[0],
        expected: '0x95132632579b073d12a6673e18ab05777a6b86f8',
      },
    },
  },
  {
    title: 'as text',
    flags: () => ['--clock', 'manual'],
    options: {
      noMining: { observe: ({ ask }) => ask('eth_mining'), expected: false },
      mnemonicRandom: {
        value: '24',
        observe: ({ command }) => /Mnemonic\n +(?:[a-z]+ ){23}[a-z]+\n/.test(plainText(command)),
        expected: true,
      },
      disableCodeSizeLimit: {
        observe: async ({ ask }) => typeof (await ask('eth_call', { from: ACCOUNT, data: LARGE_CODE })),
        expected: 'string',
      },
      verbose: {
        observe: async ({ ask, command }) => {
          await ask('evm_mine')
          return /block +1 /.test(plainText(command))
        },
        expected: true,
      },
      noColor: { observe: ({ command }) => command.out().includes('\u001b'), expected: false },
      configOut: { value: (folder) => join(folder, 'config.json'), observe: exists('config.json'), expected: true },
      hardfork: {
        value: 'isthmus',
        observe: async ({ ask }) => ((await ask('anvil_nodeInfo')) as { readonly hardFork: string }).hardFork,
        expected: 'isthmus',
        note: 'hardfork',
      },
    },
  },
  {
    title: 'of an Ethereum chain, with another path of keys',
    flags: () => ['--json'],
    options: {
      chainType: { value: 'l1', observe: async ({ pending }) => (await pending()).transactions.length, expected: 0, note: 'chain type' },
      derivationPath: {
        value: "m/44'/60'/1'/0/",
        observe: async ({ ask }) => ((await ask('eth_accounts')) as readonly string[])[0],
        expected: '0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650',
      },
      clock: { value: 'manual', observe: async ({ ask }) => typeof (await ask('pocketchain_tick', 200)), expected: 'object' },
      port: { value: () => String(port), observe: ({ ready }) => ready?.['port'] === port, expected: true },
    },
  },
  { title: 'of JSON', options: { json: { observe: ({ ready }) => ready?.['event'], expected: 'ready' } } },
  {
    title: 'that prints nothing',
    flags: () => ['--json', '--cadence', 'instant', '--gas-price', '0'],
    options: {
      quiet: {
        observe: async ({ ask, command }) => {
          await ask('eth_sendTransaction', { from: ACCOUNT, to: SECOND, value: '0x1' })
          return command.out().split('\n').length - 1
        },
        expected: 1,
      },
    },
  },
  {
    title: 'of the wallet and of the storage',
    flags: () => ['--json', '--wallet-policy', 'approve'],
    env: { POCKETCHAIN_KEYSTORE_PASSWORD: 'correct horse' },
    options: {
      bundlerRules: { value: 'strict', observe: bundlerRule('rules'), expected: 'strict' },
      bundlerMinStake: { value: '7', observe: bundlerRule('minStake'), expected: '0x7' },
      bundlerUnstakeDelay: { value: '2', observe: bundlerRule('minUnstakeDelay'), expected: '0x2' },
      keystore: { value: () => join(files, 'key.json'), observe: (node) => walletAccounts(node, 'source', 'keystore'), expected: 1 },
      allowHttpLoopback: {
        observe: async ({ url }) => {
          const [from] = (await rpc(`${url}/wallet`, 'eth_requestAccounts')) as readonly string[]
          const capabilities = { paymasterService: { url: `${url}/nothing` } }
          const batch = { version: '2.0.0', from, chainId: '0x7a69', atomicRequired: true, calls: [{ to: from }], capabilities }
          return (await rpc(`${url}/wallet`, 'wallet_sendCalls', batch)) === 4_200
        },
        expected: false,
      },
      sponsorPolicies: {
        value: () => join(files, 'policies.json'),
        observe: async ({ ask }) =>
          ((await ask('pocketchain_sponsorStatus')) as { readonly policies?: readonly { readonly name: string }[] }).policies?.map(
            ({ name }) => name,
          ),
        expected: ['mine'],
      },
      cadence: { value: 'instant', observe: cadenceOf, expected: { kind: 'instant' } },
      data: { value: (folder) => join(folder, 'data'), observe: exists('data'), expected: true },
      dumpState: { value: (folder) => join(folder, 'dump.json'), observe: existsAfterStop('dump.json'), expected: true },
    },
  },
  {
    title: 'of the policy of the wallet and of a state file',
    flags: () => ['--json', '--wallet-policy', 'approve'],
    options: {
      walletPolicy: { value: 'reject', observe: ({ url }) => rpc(`${url}/wallet`, 'eth_requestAccounts'), expected: 4_001 },
      state: { value: (folder) => join(folder, 'state.json'), observe: existsAfterStop('state.json'), expected: true },
    },
  },
  {
    title: 'of the states in a state file',
    flags: (folder) => ['--json', '--cadence', 'manual', '--dump-state', join(folder, 'dump.json')],
    options: {
      preserveHistoricalStates: {
        observe: async ({ folder, stop }) => {
          await stop()
          return readFileSync(join(folder, 'dump.json'), 'utf8').includes('"pastStates":')
        },
        expected: true,
      },
    },
  },
  {
    title: 'of the password, without which the keystore is refused',
    flags: () => ['--json', '--keystore', join(files, 'key.json')],
    options: {
      keystorePasswordFile: { value: () => join(files, 'password'), observe: ({ ready }) => ready?.['event'], expected: 'ready' },
    },
  },
  {
    title: 'of stored state',
    flags: (folder) => ['--json', '--cadence', 'manual', '--data', join(folder, 'data')],
    options: {
      prune: {
        value: '70',
        observe: async ({ ask }) => {
          await ask('anvil_mine', 75)
          return ask('eth_getBalance', ACCOUNT, '0x1')
        },
        expected: 4_444,
      },
    },
  },
  {
    title: 'of a genesis file',
    flags: () => ['--json'],
    withGenesis: false,
    options: { genesis: { value: () => join(files, 'other.json'), observe: ({ ask }) => ask('eth_chainId'), expected: '0x63' } },
  },
  ...['', '-genesis'].flatMap((suffix): readonly Group[] => {
    const flags = () => [
      '--json',
      ...['--clock', 'manual', '--cadence', 'manual', '--timestamp', String(STANDING.timestamp)],
      ...(suffix === '' ? [] : ['--genesis', join(files, 'genesis.json')]),
    ]
    const observe = ({ ask }: Observed) => ask('eth_blockNumber')
    const group = { flags, withGenesis: false, title: `of a chain file${suffix}` }
    return [
      { ...group, options: { import: { value: () => join(files, `chain${suffix}.rlp`), observe, expected: '0x3' } } },
      { ...group, options: { loadState: { value: () => join(files, `state${suffix}.json`), observe, expected: '0x3' } } },
    ]
  }),
  {
    title: 'of the interval',
    flags: (folder) => ['--json', '--cadence', 'manual', '--dump-state', join(folder, 'dump.json'), '-s', '3600'],
    options: {
      stateInterval: {
        value: '0.05',
        observe: async (node) => {
          const { folder, command } = node
          const written = new Promise<boolean>((resolve) => watch(folder, () => exists('dump.json')(node) && resolve(true)))
          const isShort = argumentsOf.get(command)?.includes('0.05') === true
          return isShort ? written : exists('dump.json')(node)
        },
        expected: true,
      },
    },
  },
]

/** Observed in a separate process below, in test/conformance/console.test.ts, in test/fork/options.test.ts, and in test/fleet/command.test.ts. */
const OBSERVED_APART: readonly OptionName[] = [
  'workers',
  'abi',
  'printTraces',
  'disableConsoleLog',
  'fleet',
  'database',
  'role',
  ...FORK_OPTIONS,
]

test('every option of the table has an observation', () => {
  const observed = [...GROUPS.flatMap(({ options }) => Object.keys(options)), ...OBSERVED_APART]
  expect([...new Set(observed)].toSorted()).toEqual(Object.keys(OPTIONS).toSorted())
})

describe.each(GROUPS)('options $title', ({ flags = () => [], env = {}, withGenesis = true, options }) => {
  const effects = Object.entries(options)
  const argumentsIn = (folder: string) =>
    effects.flatMap(([name, { value }]) => {
      const flag = `--${longName(OPTIONS[name as OptionName].flag)}`
      return value === undefined ? [flag] : [flag, typeof value === 'string' ? value : value(folder)]
    })

  test.each(withGenesis ? [false, true] : [false])('with a genesis file: %s', async (hasGenesis) => {
    const genesis = hasGenesis ? ['--genesis', join(files, 'genesis.json')] : []
    const observeAll = async (withOptions: boolean) => {
      const folder = mkdtempSync(join(files, 'node-'))
      const argv = [...flags(folder), ...genesis, ...(withOptions ? argumentsIn(folder) : [])]
      const node = await started(argv, folder, env)
      const seen: Record<string, unknown> = {}
      for (const [name, { observe }] of effects) seen[name] = node === null ? 'not started' : await observe(node)
      await node?.stop()
      return { seen, err: node?.command.err() ?? '' }
    }
    const [without, changed] = [await observeAll(false), await observeAll(true)]
    for (const [name, { expected, note }] of effects) {
      const isDecidedByFile = hasGenesis && note !== undefined
      if (isDecidedByFile) expect([name, changed.err]).toEqual([name, expect.stringContaining(note)])
      else expect([name, changed.seen[name]]).toEqual([name, expected])
      if (!isDecidedByFile) expect([name, without.seen[name]]).not.toEqual([name, expected])
    }
    if (without.err !== '') expect(without.err).not.toContain('no effect')
  })
})

/** `npm test` builds the command before. The sources start no threads. */
describe.skipIf(!existsSync(COMMAND))('--workers', () => {
  test.each([
    ['1', true],
    ['0', false],
  ])('%s: a long call starts a thread: %s', async (workers, wanted) => {
    const reportThreads = "data:text/javascript,process.on('worker',()=>console.log('thread started'))"
    const argv = ['--import', reportThreads, COMMAND, '--port', '0', '--json', '--cadence', 'manual', '--workers', workers]
    const child = spawn(process.execPath, argv, { cwd: files, stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    const url = await new Promise<string>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString()
        const line = /^(\{.*\})\n/.exec(out)?.[1]
        if (line !== undefined) resolve((JSON.parse(line) as { readonly urls: { readonly http: string } }).urls.http)
      })
    })
    const ended = new Promise((resolve) => child.on('close', resolve))
    // Recovers signatures until 30,000 gas are left, which takes a fast machine seconds.
    await rpc(url, 'eth_call', { to: STRANGER, gas: '0x2faf080' }, 'latest', {
      [STRANGER]: { code: '0x601b602052600160405260016060525b5f5f60805f60015afa50620075305a11600f5700' },
    })
    child.kill('SIGINT')
    await ended
    expect(out.includes('thread started')).toBe(wanted)
  })
})

/** Of each command. */
const argumentsOf = new WeakMap<Started, readonly string[]>()

/** Returns null if the command ends instead. */
async function started(argv: readonly string[], folder: string, env: Readonly<Record<string, string>>): Promise<Observed | null> {
  const command = start(['--port', '0', ...argv], { coloured: true, env })
  argumentsOf.set(command, argv)
  const printed = await command.waitForOutput(/^\{.*\}\n|Listening on \S+\n/).catch(() => null)
  if (printed === null) return null
  const ready = printed.startsWith('{') ? (JSON.parse(printed) as Readonly<Record<string, unknown>>) : null
  const listening = ready === null ? /:(\d+)\n/.exec(printed)?.[1] : ready['port']
  const url = `http://127.0.0.1:${String(listening)}`
  const ask: Observed['ask'] = (method, ...params) => rpc(url, method, ...params)
  const pending = async () => (await ask('eth_getBlockByNumber', 'pending', true)) as Pending
  const stop = async () => {
    command.stop()
    await command.exit
  }
  return { url, folder, command, ready, ask, pending, stop }
}

/** Returns the result, or the code of the error. */
async function rpc(url: string, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', ...(url.endsWith('/wallet') ? { origin: 'http://localhost:3000' } : {}) }
  const response = await fetch(url, { method: 'POST', headers, body })
  const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: { readonly code: number } }
  return error?.code ?? result
}

async function walletAccounts({ url, ready }: Observed, field: string, value: string): Promise<number> {
  if (ready === null) throw new Error('the node printed no JSON')
  const { controlToken } = ready['wallet'] as { readonly controlToken: string }
  const response = await fetch(`${url}/wallet`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${controlToken}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'pocketchain_walletState', params: [] }),
  })
  const { result } = (await response.json()) as { readonly result: { readonly accounts: readonly Readonly<Record<string, unknown>>[] } }
  return result.accounts.filter((account) => account[field] === value).length
}

/** Status of a page's request under another host name, which fetch cannot send. */
function statusUnderHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { host, origin: `http://${host}`, 'content-type': 'application/json' }
    const asking = request(url, { method: 'POST', headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode))
    })
    asking.on('error', reject)
    asking.end('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')
  })
}

/** True if the L1 attributes of the pending block contain these hex digits. */
async function holdsInput(pending: Observed['pending'], digits: string): Promise<boolean> {
  return (await pending()).transactions[0]?.input.includes(digits) === true
}

/** The output without colours. */
function plainText(command: Started): string {
  // eslint-disable-next-line no-control-regex -- escape sequences begin with a control character
  return command.out().replaceAll(/\u001b\[\d+m/g, '')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: free } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return free
}
