import { describe, expect, test } from 'vitest'
import { Address, Block, EMPTY_ROOT, Hash, Header } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import { ALICE, GENESIS_SECONDS, testChain, testGenesis } from '../chain.fixture.ts'
import { DEFAULT_FEE_PARAMETERS, configOf, defaultGenesis, opConfig } from './defaultgenesis.ts'
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

/** The fields that most genesis files of OP chains share. */
const OP_FILE = {
  config: null,
  nonce: '0x0',
  extraData: '0x424544524f434b',
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  coinbase: '0x4200000000000000000000000000000000000011',
  baseFeePerGas: '0x3b9aca00',
  excessBlobGas: '0x0',
  blobGasUsed: '0x0',
}
const MAINNET_FORKS = {
  chainId: 1,
  homesteadBlock: 1_150_000,
  eip150Block: 2_463_000,
  eip155Block: 2_675_000,
  eip158Block: 2_675_000,
  byzantiumBlock: 4_370_000,
  constantinopleBlock: 7_280_000,
  petersburgBlock: 7_280_000,
  istanbulBlock: 9_069_000,
  muirGlacierBlock: 9_200_000,
  berlinBlock: 12_244_000,
  londonBlock: 12_965_000,
  arrowGlacierBlock: 13_773_000,
  grayGlacierBlock: 15_050_000,
  terminalTotalDifficulty: '58750000000000000000000',
  shanghaiTime: 1_681_338_455,
  cancunTime: 1_710_338_135,
}
const FORKS_FROM_0 = {
  homesteadBlock: 0,
  eip150Block: 0,
  eip155Block: 0,
  eip158Block: 0,
  byzantiumBlock: 0,
  constantinopleBlock: 0,
  petersburgBlock: 0,
  istanbulBlock: 0,
  berlinBlock: 0,
  londonBlock: 0,
}
const MAINNET_HEADER = {
  nonce: '0x42',
  extraData: '0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa',
  gasLimit: '0x1388',
  difficulty: '0x400000000',
}

/** Published hashes of genesis files; instead of `alloc`, megabytes in most of them, there is its state root, which gave the published hash too. */
test.each<[string, Record<string, unknown>, stateRoot: string, hash: string]>([
  [
    'Ink, without config',
    { ...OP_FILE, timestamp: '0x6753162b', extraData: '0x' },
    '0xade3966d0c8786ea34248899b5f3d9e6b7209083290e67d9372e41d4ebc994da',
    '0x23a2658170ba70d014ba0d0d2709f8fbfe2fa660cd868c5f282f991eecbe38ee',
  ],
  [
    'World Chain, without config',
    { ...OP_FILE, timestamp: '0x667afad7', gasLimit: '0x5f5e100' },
    '0xf52039b756cebe8f83712e49ee012e8e2b2eb6b63fecb9c1b2dff8128ed40725',
    '0x70d316d2e0973b62332ba2e9768dd7854298d7ffe77f0409ffdb8d859f2d3fa3',
  ],
  [
    'HashKey Chain, without config',
    { ...OP_FILE, timestamp: '0x6760097f', baseFeePerGas: '0x48c27395000' },
    '0x21ebf68da8773c53dff200d431d74834878c1f36e35c0e98edea14f918b00a81',
    '0xa96aea946b763641b616ce0c69f37e61d9cd0abd709ef13a6b833e67b76de208',
  ],
  [
    'Mode, without config and older than blob gas',
    { ...OP_FILE, timestamp: '0x65567f9f', excessBlobGas: null, blobGasUsed: null },
    '0xfd2126a4d437be91f138a61970b1f6554335f6abcaca5fec95bc9994e44bb6c2',
    '0xb0f682e12fc555fd5ce8fce51a59a67d66a5b46be28611a168260a549dac8a9b',
  ],
  [
    'Ethereum',
    { ...MAINNET_HEADER, config: MAINNET_FORKS },
    '0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544',
    '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3',
  ],
  [
    'Ethereum, with terminalTotalDifficultyPassed',
    { ...MAINNET_HEADER, config: { ...MAINNET_FORKS, terminalTotalDifficultyPassed: true } },
    '0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544',
    '0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3',
  ],
  [
    'Sepolia, merged later',
    {
      config: {
        ...FORKS_FROM_0,
        terminalTotalDifficulty: 17_000_000_000_000_000,
        mergeNetsplitBlock: 1_735_371,
        shanghaiTime: 1_677_557_088,
      },
      timestamp: '0x6159af19',
      extraData: '0x5365706f6c69612c20417468656e732c204174746963612c2047726565636521',
      gasLimit: '0x1c9c380',
      difficulty: '0x20000',
    },
    '0x5eb6e371a698b8d68f665192350ffcecbbbf322916f4b51bd79bb6887da3f494',
    '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9',
  ],
  [
    'Holesky, merged at block 0',
    {
      config: { ...FORKS_FROM_0, terminalTotalDifficulty: 0, shanghaiTime: 1_696_000_704 },
      nonce: '0x1234',
      timestamp: '0x65156994',
      gasLimit: '0x17d7840',
      difficulty: '0x1',
    },
    '0x69d8c9d72f6fa4ad42d4702b433707212f90db395eb54dc20bc85de253788783',
    '0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4',
  ],
  [
    'Hoodi, under Cancun',
    {
      config: {
        ...FORKS_FROM_0,
        terminalTotalDifficulty: 0,
        mergeNetsplitBlock: 0,
        shanghaiTime: 0,
        cancunTime: 0,
        pragueTime: 1_742_999_832,
      },
      nonce: '0x1234',
      timestamp: '0x67d80ec0',
      gasLimit: '0x2255100',
      difficulty: '0x1',
    },
    '0xda87d7f5f91c51508791bbcbd4aa5baf04917830b86985eeb9ad3d5bfb657576',
    '0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b',
  ],
])('block 0 of %s has the published hash', (_, fields, stateRoot, hash) => {
  const { header } = blockOf(parse({ ...fields, alloc: {} }))
  expect(Header.hash({ ...header, stateRoot: Hash.from(stateRoot) })).toBe(hash)
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
    ['stateHash', { ...FILE, alloc: {}, stateHash: `0x${'12'.repeat(32)}` }],
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

  test.each<[string, object, merged: readonly number[]]>([
    ['never mined', { terminalTotalDifficulty: 0, londonBlock: 0 }, [0, 4, 5]],
    ['never mined, and names no earlier fork', { terminalTotalDifficulty: 0 }, [0, 4, 5]],
    ['never mined, and London comes later', { terminalTotalDifficulty: 0, londonBlock: 5 }, [5]],
    ['merged, says an earlier geth', { terminalTotalDifficulty: 7, terminalTotalDifficultyPassed: true, londonBlock: 0 }, [0, 4, 5]],
    ['merged by now, but not at block 0', { terminalTotalDifficulty: 7, terminalTotalDifficultyPassed: true, londonBlock: 4 }, []],
    ['merged before Shanghai', { londonBlock: 0, shanghaiTime: 900 }, [0, 4, 5]],
    ['merged before Shanghai, but not at block 0', { homesteadBlock: 1, londonBlock: 4, shanghaiTime: 900 }, []],
    ['merged at a named block', { mergeNetsplitBlock: 5, londonBlock: 0, shanghaiTime: 900 }, [5]],
    ['merged at a named block before London', { mergeNetsplitBlock: 0, londonBlock: 5 }, [5]],
  ])('of a chain that is %s starts Paris at the right block', (_, config, merged) => {
    const rules = parse({ ...FILE, config }).config
    expect([0, 4, 5].filter((number) => rulesAt(rules, number, 0).has('paris'))).toEqual(merged)
    expect(rulesAt(rules, 4, 900).has('paris')).toBe(merged.includes(4) || 'shanghaiTime' in config)
  })

  test('that is not JSON is rejected with that reason', () => {
    expect(() => parseGenesis('{"alloc": ', () => opConfig(1, 'azul', 0, LIMITS))).toThrow(/^genesis file is not JSON: /)
  })

  test('without rules follows the given ones from block 1 on', () => {
    const genesis = parse({ ...FILE, config: undefined, timestamp: 50 })
    expect(rulesAt(genesis.config, 0, 50).op).toBe('bedrock')
    expect(rulesAt(genesis.config, 1, 51).op).toBe('azul')
  })

  test.each(['excessBlobGas', 'blobGasUsed'])('without rules but with %s starts under Cancun', (field) => {
    const genesis = parse({ ...FILE, config: undefined, timestamp: 50, [field]: '0x0' })
    expect(rulesAt(genesis.config, 0, 50)).toMatchObject({ l1: 'cancun', op: 'holocene' })
    expect(rulesAt(genesis.config, 1, 51).op).toBe('azul')
    expect(blockOf(genesis).header).toMatchObject({
      withdrawalsRoot: EMPTY_ROOT,
      parentBeaconBlockRoot: Hash.zero,
      excessBlobGas: 0n,
      blobGasUsed: 0n,
      requestsHash: null,
    })
  })

  test('without rules but with blob gas is refused if the chain is to follow rules without it', () => {
    const file = JSON.stringify({ ...FILE, config: undefined, excessBlobGas: '0x0' })
    expect(() => parseGenesis(file, (timestamp) => configOf(1, 'shanghai', timestamp + 1, LIMITS))).toThrow(
      'genesis excessBlobGas is a field of Cancun and later; set the hardfork to cancun or later, or remove the field',
    )
    const { config } = parseGenesis(file, (timestamp) => configOf(1, 'osaka', timestamp + 1, LIMITS))
    expect([rulesAt(config, 0, 0).l1, rulesAt(config, 1, 1).l1]).toEqual(['cancun', 'osaka'])
  })

  test('with rules older than blob gas is hashed without it, as in geth', () => {
    const { header } = blockOf(parse({ ...FILE, excessBlobGas: '0x5' }))
    expect([header.excessBlobGas, header.parentBeaconBlockRoot, header.withdrawalsRoot]).toEqual([null, null, EMPTY_ROOT])
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
