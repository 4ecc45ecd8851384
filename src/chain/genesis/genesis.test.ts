import { describe, expect, test } from 'vitest'
import { Address, Block, Hash } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import { ALICE, GENESIS_SECONDS, testChain, testGenesis } from '../chain.fixture.ts'
import { DEFAULT_FEE_PARAMETERS, defaultGenesis, opConfig } from './defaultgenesis.ts'
import { genesisBlock } from './genesis.ts'
import type { Genesis } from './genesis.ts'
import { GenesisError, parseGenesis } from './gethgenesis.ts'
import { StateHistory } from '../state/history.ts'
import { hasVectors, text } from '../vectors.fixture.ts'

const LIMITS = { codeSizeLimit: 24_576, transactionGasCap: null }

function blockOf(genesis: Genesis): Block {
  return genesisBlock(genesis, new StateHistory(genesis.state))
}

function parse(file: unknown): Genesis {
  return parseGenesis(JSON.stringify(file), (timestamp) => opConfig(1, 'azul', timestamp + 1, LIMITS))
}

describe.skipIf(!hasVectors)('published genesis files', () => {
  test('Base mainnet’s 2,064 accounts give its genesis hash', () => {
    const genesis = parseGenesis(text('genesis/mainnet-base.json.br'), (timestamp) => opConfig(8453, 'azul', timestamp + 1, LIMITS))
    expect(genesis.state.accounts.size).toBe(2_064)
    expect(blockOf(genesis).hash).toBe('0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd')
  })

  test('the genesis of execution-apis gives its hash', () => {
    const genesis = parse(JSON.parse(text('rpc-compat/genesis.json')))
    expect(blockOf(genesis).hash).toBe('0x44fd89d504659cd58f48f4796b77a7e7012cf296a2409afa2f6c3cb99b5b3d99')
    expect(rulesAt(genesis.config, 0, 0).has('paris')).toBe(false)
  })
})

const FILE = {
  config: { chainId: 77, londonBlock: 0, terminalTotalDifficulty: 0, shanghaiTime: 0, cancunTime: 10 },
  gasLimit: '0x1c9c380',
  alloc: {
    f39fd6e51aad88f6f4ce6ab8827279cfffb92266: {
      balance: '0xde0b6b3a7640000',
      storage: { '0x1': '0x0', '0x2': '0x5', ['3'.padStart(64, '0')]: '10'.padStart(64, '0') },
      code: '0x6001',
    },
  },
}

describe('a genesis file', () => {
  test('accepts addresses and words with and without 0x, and hex, decimal and number quantities; slots of value zero are dropped', () => {
    const genesis = parse({ ...FILE, timestamp: 5, alloc: { ...FILE.alloc, [ALICE]: { balance: '1000', nonce: 3 } } })
    expect(genesis).toMatchObject({ timestamp: 5, gasLimit: 30_000_000n, config: { chainId: 77, op: null } })
    expect(genesis.state.accounts.get(ALICE)).toMatchObject({ balance: 1_000n, nonce: 3n })
    const owner = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
    expect([...genesis.state.storage.get(owner)!]).toEqual([
      [Hash.fromBigint(2n), 5n],
      [Hash.fromBigint(3n), 16n],
    ])
    expect([rulesAt(genesis.config, 1, 9).l1, rulesAt(genesis.config, 1, 10).l1]).toEqual(['shanghai', 'cancun'])
  })

  test.each<[string, unknown]>([
    ['file', []],
    ['config', { ...FILE, config: 'mainnet' }],
    ['config.chainId', { ...FILE, config: { chainId: 'one' } }],
    ['config.londonBlock', { ...FILE, config: { ...FILE.config, londonBlock: -1 } }],
    ['config.cancunTime', { ...FILE, config: { ...FILE.config, cancunTime: '0x1ffffffffffffffff' } }],
    ['config.optimism', { ...FILE, config: { ...FILE.config, optimism: 6 } }],
    ['config.optimism.eip1559Elasticity', { ...FILE, config: { ...FILE.config, optimism: { eip1559Elasticity: {} } } }],
    ['config.blobSchedule.cancun', { ...FILE, config: { ...FILE.config, blobSchedule: { cancun: 3 } } }],
    ['config.blobSchedule.cancun.max', { ...FILE, config: { ...FILE.config, blobSchedule: { cancun: { target: 3 } } } }],
    ['config.depositContractAddress', { ...FILE, config: { ...FILE.config, depositContractAddress: '0x12' } }],
    ['config.terminalTotalDifficulty', { ...FILE, config: { ...FILE.config, terminalTotalDifficulty: 'none' } }],
    ['gasLimit', { ...FILE, gasLimit: undefined }],
    ['gasLimit', { ...FILE, gasLimit: '0xzz' }],
    ['timestamp', { ...FILE, timestamp: 'now' }],
    ['extraData', { ...FILE, extraData: '0x1' }],
    ['mixHash', { ...FILE, mixHash: '0x00' }],
    ['coinbase', { ...FILE, coinbase: 7 }],
    ['nonce', { ...FILE, nonce: '0x1ffffffffffffffff' }],
    ['baseFeePerGas', { ...FILE, baseFeePerGas: true }],
    ['alloc', { ...FILE, alloc: undefined }],
    ['alloc.0x12', { ...FILE, alloc: { '0x12': {} } }],
    [`alloc.${ALICE}`, { ...FILE, alloc: { [ALICE]: 5 } }],
    [`alloc.${ALICE}.balance`, { ...FILE, alloc: { [ALICE]: { balance: 'much' } } }],
    [`alloc.${ALICE}.balance`, { ...FILE, alloc: { [ALICE]: { balance: `0x1${'0'.repeat(64)}` } } }],
    [`alloc.${ALICE}.nonce`, { ...FILE, alloc: { [ALICE]: { nonce: -1 } } }],
    [`alloc.${ALICE}.code`, { ...FILE, alloc: { [ALICE]: { code: 'revert' } } }],
    [`alloc.${ALICE}.storage`, { ...FILE, alloc: { [ALICE]: { storage: [] } } }],
    [`alloc.${ALICE}.storage.0x1`, { ...FILE, alloc: { [ALICE]: { storage: { '0x1': '0x' } } } }],
    [`alloc.${ALICE}.storage.0x1`, { ...FILE, alloc: { [ALICE]: { storage: { '0x1': `0x1${'0'.repeat(64)}` } } } }],
  ])('with an invalid field throws an error that names it: %s', (field, file) => {
    expect(() => parse(file)).toThrow(GenesisError)
    expect(() => parse(file)).toThrow(expect.objectContaining({ field, message: expect.stringContaining(`genesis ${field} `) }))
  })

  test('of geth’s mainnet has a terminal difficulty beyond exact numbers, and starts before the merge', () => {
    const text = JSON.stringify({ ...FILE, config: { chainId: 1, londonBlock: 5 } }).replace(
      '"chainId":1',
      '"chainId":1,"terminalTotalDifficulty":58750000000000000000000',
    )
    expect(rulesAt(parseGenesis(text, () => opConfig(1, 'azul', 0, LIMITS)).config, 5, 0).l1).toBe('london')
  })

  test('has Karst from `karstTime` on', () => {
    const config = { ...FILE.config, optimism: {}, jovianTime: 0, karstTime: 20 }
    const { config: parsed } = parse({ ...FILE, config })
    expect([19, 20].map((time) => [rulesAt(parsed, 1, time).op, rulesAt(parsed, 1, time).l1])).toEqual([
      ['jovian', 'prague'],
      ['karst', 'osaka'],
    ])
  })

  test.each<[string, object, readonly string[]]>([
    [
      'that are unknown are reported together',
      { bogotaTime: 0, lagoonTime: 1_800_000_000, ubtTime: '0x5' },
      ['bogotaTime', 'lagoonTime', 'ubtTime'],
    ],
    ['are not if a fork is known, also one of the other kind of chain', { osakaTime: 0, bpo2Time: 1, karstTime: 2, deltaTime: 3 }, []],
    ['are not if no time is set', { amsterdamTime: null, lagoonTime: 2 ** 64, note: 'lunchTime', lunchTime: 'noon' }, []],
    ['are not if they do not concern the execution', { pectraBlobScheduleTime: 0 }, []],
  ])('whose fork times %s', (_, config, ignored) => {
    const reported: string[] = []
    parseGenesis(
      JSON.stringify({ ...FILE, config: { ...FILE.config, ...config } }),
      () => opConfig(1, 'azul', 0, LIMITS),
      (keys) => reported.push(...keys),
    )
    expect(reported).toEqual(ignored)
  })

  test('that is not JSON is rejected with that reason', () => {
    expect(() => parseGenesis('{"alloc": ', () => opConfig(1, 'azul', 0, LIMITS))).toThrow(/^genesis file is not JSON: /)
  })

  test('without rules follows the given ones from block 1 on', () => {
    const genesis = parse({ ...FILE, config: undefined, timestamp: 50 })
    expect(rulesAt(genesis.config, 0, 50).op).toBe('bedrock')
    expect(rulesAt(genesis.config, 1, 51).op).toBe('azul')
  })
})

describe('the default genesis', () => {
  test('is the same for the same options', async () => {
    const { chain } = testChain('manual')
    expect(chain.genesis.hash).toBe(blockOf(testGenesis()).hash)
    expect(chain.genesis.header).toMatchObject({
      number: 0,
      timestamp: GENESIS_SECONDS,
      withdrawalsRoot: chain.sealed.history.storageRoot(Address.from('0x4200000000000000000000000000000000000016')),
    })
    expect(Block.decode(Block.encode(chain.genesis)).hash).toBe(chain.genesis.hash)
  })

  test.each([31_337, 1_234])('can omit the factories on chain %i, and their published transactions then deploy them', async (chainId) => {
    const factories = ['0x4e59b44847b379578588920ca78fbf26c0b4956c', '0x3fab184622dc19b6109349b94811493bf2a45362'].map((a) =>
      Address.from(a),
    )
    const options = {
      chainId,
      timestamp: GENESIS_SECONDS,
      hardfork: 'azul' as const,
      gasLimit: 60_000_000n,
      baseFeePerGas: 1n,
      feeParameters: DEFAULT_FEE_PARAMETERS,
      accounts: [],
      ...LIMITS,
    }
    const whole = defaultGenesis(options)
    const bare = defaultGenesis({ ...options, factories: false })
    for (const address of factories) expect(whole.state.accounts.get(address)?.nonce).toBeGreaterThan(0n)
    for (const address of factories) expect(bare.state.accounts.has(address)).toBe(false)
    expect(whole.state.accounts.size - bare.state.accounts.size).toBe(6)
  })

  test('deploys contracts with the configured chain id at the same addresses', async () => {
    const options = {
      timestamp: GENESIS_SECONDS,
      hardfork: 'jovian' as const,
      gasLimit: 60_000_000n,
      baseFeePerGas: 1n,
      feeParameters: DEFAULT_FEE_PARAMETERS,
      accounts: [{ address: ALICE, balance: 7n }],
      ...LIMITS,
    }
    const ours = defaultGenesis({ ...options, chainId: 31_337 })
    const other = defaultGenesis({ ...options, chainId: 1_234 })
    expect([...other.state.accounts.keys()].sort()).toEqual([...ours.state.accounts.keys()].sort())
    expect(other.state.accounts.get(ALICE)?.balance).toBe(7n)
    const changed = [...ours.state.accounts].filter(
      ([address, account]) => other.state.accounts.get(address)?.codeHash !== account?.codeHash,
    )
    expect(changed.map(([address]) => address)).toContain('0x000000000022d473030f116ddee9f6b43ac78ba3')
    // a StateHistory rejects accounts whose code is missing
    expect(() => new StateHistory(other.state)).not.toThrow()
  })

  test.each(['paris', 'shanghai'] as const)('deploys them on a chain of %s, whose rules are older than the contracts', (hardfork) => {
    const options = {
      timestamp: GENESIS_SECONDS,
      gasLimit: 60_000_000n,
      baseFeePerGas: 1n,
      feeParameters: DEFAULT_FEE_PARAMETERS,
      accounts: [],
      ...LIMITS,
    }
    const old = defaultGenesis({ ...options, chainId: 1_234, hardfork })
    const newer = defaultGenesis({ ...options, chainId: 1_234, hardfork: 'cancun' })
    expect(old.state.accounts).toEqual(newer.state.accounts)
  })
})
