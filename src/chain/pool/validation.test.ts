import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { Address, Authorization, Hash, Transaction } from '../../eth/index.ts'
import type { TransactionFields } from '../../eth/index.ts'
import { World, rulesAt } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { ALICE, BOB, ETHER, GENESIS_SECONDS, GWEI, KEYS, RECIPIENT, hashesOf, signed, testChain, testGenesis } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import { TRANSACTION_BYTES } from '../limits.ts'
import { PoolError } from './mempool.ts'
import { StateHistory } from '../state/history.ts'
import { assertAdmissible, blobGasLimit, isImpersonated } from './validation.ts'
import type { AdmissionContext } from './validation.ts'

let parts: TestChain
let history: StateHistory

beforeAll(async () => {
  parts = testChain('manual')
  history = new StateHistory(testGenesis().state)
  const world = new World(history.at(0))
  world.setCode(BOB, new Uint8Array([0x00]))
  world.setBalance(RECIPIENT, ETHER)
  history.apply(world.writes())
})

function entrance(changes: Partial<AdmissionContext> = {}, config: ChainConfig = parts.chain.config): AdmissionContext {
  return {
    config,
    rules: rulesAt(config, 1, GENESIS_SECONDS + 1),
    state: history.at(1),
    gasLimit: 60_000_000n,
    blobGasLimit: 60_000_000n,
    minGasPrice: 0n,
    ...changes,
  }
}

function l1Chain(): ChainConfig {
  return { ...parts.chain.config, op: null }
}

function message(tx: Transaction, where: AdmissionContext = entrance()): string {
  try {
    assertAdmissible(tx, where)
  } catch (error) {
    if (error instanceof PoolError) return error.message
    throw error
  }
  return 'enters'
}

const blob: TransactionFields = { type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [Hash.from(`0x01${'00'.repeat(31)}`)] }
const authorization = Authorization.sign({ chainId: 0n, address: RECIPIENT, nonce: 0n }, KEYS[2]!)

describe('admissible transactions', () => {
  test.each<[string, TransactionFields]>([
    ['a transfer', {}],
    ['legacy', { type: 0 }],
    ['legacy without replay protection', { type: 0, chainId: null }],
    ['an access list', { type: 1 }],
    ['a delegation', { type: 4, gas: 100_000n, authorizationList: [authorization] }],
    ['a creation at the size limit', { to: null, data: new Uint8Array(49_152), gas: 1_000_000n }],
    ['all that the gas cap allows', { gas: 16_777_216n }],
    ['a nonce to come', { nonce: 7n }],
    ['less than the base fee', { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }],
  ])('%s', (_, fields) => {
    expect(message(signed(fields))).toBe('enters')
  })

  test('blobs on an L1 chain', () => {
    expect(message(signed(blob), entrance({}, l1Chain()))).toBe('enters')
  })

  test('an impersonated contract', () => {
    const tx = Transaction.unsigned({ chainId: 31_337, gas: 21_000n, to: RECIPIENT, maxFeePerGas: GWEI }, BOB)
    expect(isImpersonated(tx)).toBe(true)
    expect(message(tx)).toBe('enters')
  })

  test('an account with a delegation (EIP-7702)', () => {
    const world = new World(history.at(1))
    world.setCode(ALICE, new Uint8Array([0xef, 0x01, 0x00, ...Address.toBytes(BOB)]))
    expect(message(signed(), entrance({ state: world }))).toBe('enters')
  })
})

describe('refused transactions, with the messages that clients match', () => {
  test.each<[string, TransactionFields]>([
    ['transaction type not supported', blob],
    [
      `oversized data: transaction size ${TRANSACTION_BYTES + 114}, limit ${TRANSACTION_BYTES}`,
      { data: new Uint8Array(TRANSACTION_BYTES), gas: 10_000_000n },
    ],
    ['invalid chain id for signer: have 1 want 31337', { chainId: 1 }],
    [`nonce has max value: address ${ALICE}, nonce: 18446744073709551615`, { nonce: 2n ** 64n - 1n }],
    ['exceeds block gas limit', { gas: 60_000_001n }],
    ['exceeds maximum per-transaction gas limit: transaction gas limit too high (cap: 16777216, tx: 16777217)', { gas: 16_777_217n }],
    ['max initcode size exceeded: code size 49153 limit 49152', { to: null, data: new Uint8Array(49_153), gas: 1_000_000n }],
    [
      `max priority fee per gas higher than max fee per gas: address ${ALICE}, maxPriorityFeePerGas: 2, maxFeePerGas: 1`,
      { maxFeePerGas: 1n, maxPriorityFeePerGas: 2n },
    ],
    ['EIP-7702 transaction cannot be used to create contract', { type: 4, to: null, gas: 100_000n, authorizationList: [authorization] }],
    ['EIP-7702 transaction with empty auth list', { type: 4, gas: 100_000n }],
    ['intrinsic gas too low: gas 20999, minimum needed 21000', { gas: 20_999n }],
    // 1,000 bytes of data cost 16 gas each to run and 40 as a floor
    ['insufficient gas for floor data gas cost: gas 37000, minimum needed 61000', { data: new Uint8Array(1_000).fill(1), gas: 37_000n }],
  ])('%s', (expected, fields) => {
    expect(message(signed(fields))).toBe(expected)
  })

  test('more gas than the engine can count, on a chain without a cap', () => {
    const config = { ...parts.chain.config, transactionGasCap: null }
    const where = entrance({ gasLimit: 2n ** 63n - 1n }, config)
    const withGas = (gas: bigint) => signed({ gas, maxFeePerGas: 1n, maxPriorityFeePerGas: 0n })
    expect(message(withGas(2n ** 53n - 1n), where)).toBe('enters')
    expect(message(withGas(2n ** 53n), where)).toBe(
      'exceeds maximum per-transaction gas limit: transaction gas limit too high (cap: 9007199254740991, tx: 9007199254740992)',
    )
  })

  test('more blobs than a block may have', () => {
    const config = l1Chain()
    const prague = { ...config, l1: config.l1.filter(({ fork }) => fork !== 'osaka') }
    const rules = rulesAt(prague, 1, GENESIS_SECONDS + 1)
    const where = entrance({ blobGasLimit: blobGasLimit(rules, 60_000_000n) }, prague)
    const withBlobs = (count: number) =>
      signed({ ...blob, blobVersionedHashes: Array.from({ length: count }, () => blob.blobVersionedHashes![0]!) })
    expect(message(withBlobs(9), where)).toBe('enters')
    expect(message(withBlobs(10), where)).toBe('exceeds block blob gas limit: blob gas 1310720, limit 1179648')
  })

  test('deposits, which only the block builder adds', () => {
    const deposit = Transaction.deposit({
      sourceHash: Hash.zero,
      from: ALICE,
      to: RECIPIENT,
      mint: 0n,
      value: 0n,
      gas: 21_000n,
      isSystemTx: false,
      data: new Uint8Array(),
    })
    expect(message(deposit)).toBe('transaction type not supported')
  })

  test('types of a later fork', () => {
    const london = { ...l1Chain(), l1: [{ fork: 'london', block: 0, timestamp: null }] } as const
    const istanbul = { ...l1Chain(), l1: [{ fork: 'istanbul', block: 0, timestamp: null }] } as const
    expect(message(signed({ type: 4, gas: 100_000n, authorizationList: [authorization] }), entrance({}, london))).toBe(
      'transaction type not supported',
    )
    expect(message(signed(), entrance({}, london))).toBe('enters')
    expect(message(signed(), entrance({}, istanbul))).toBe('transaction type not supported')
    expect(message(signed({ type: 1 }), entrance({}, istanbul))).toBe('transaction type not supported')
    expect(message(signed({ type: 0 }), entrance({}, istanbul))).toBe('enters')
  })

  test('maxFeePerGas below the minimum gas price', () => {
    const tx = signed({ maxFeePerGas: GWEI - 1n })
    expect(() => assertAdmissible(tx, entrance({ minGasPrice: GWEI }))).toThrow(
      expect.objectContaining({ code: 'underpriced', message: 'transaction underpriced' }),
    )
    expect(message(signed({ maxFeePerGas: GWEI }), entrance({ minGasPrice: GWEI }))).toBe('enters')
  })

  test('a contract as sender (EIP-3607)', () => {
    expect(message(signed({}, 1))).toBe(`sender not an eoa: address ${BOB}`)
  })

  test('a sender with too little balance for gas, value and data together', () => {
    const price = { gas: 21_000n, maxFeePerGas: GWEI }
    const have = 10_000n * ETHER
    const exact = signed({ ...price, value: have - 21_000n * GWEI })
    const l1Alone = entrance({}, l1Chain())
    expect(message(exact, l1Alone)).toBe('enters')
    const more = signed({ ...price, value: have - 21_000n * GWEI + 1n })
    expect(message(more, l1Alone)).toBe(`insufficient funds for gas * price + value: address ${ALICE} have ${have} want ${have + 1n}`)
  })

  test('the L1 fee counts once L1 fees are set', async () => {
    const { chain } = testChain('manual')
    await chain.start()
    await chain.mine(1)
    const have = 10_000n * ETHER
    const tx = signed({ gas: 21_000n, maxFeePerGas: 2n * GWEI, value: have - 42_000n * GWEI })
    await expect(chain.submit(tx)).rejects.toThrow(/^insufficient funds for gas \* price \+ value/)
    expect(chain.pool.size).toBe(0)
  })
})

describe('submission to the chain', () => {
  test('data of which no block can hold the footprint is refused', async () => {
    const { chain } = testChain('manual', { gasLimit: 30_000_000n })
    await chain.start()
    const tx = signed({ data: randomBytes(100_000), gas: 10_000_000n })
    await expect(chain.submit(tx)).rejects.toThrow(
      /^exceeds block data availability footprint limit: data availability footprint \d+, limit 30000000$/,
    )
    await chain.setGasLimit(60_000_000n)
    await chain.submit(tx)
    await chain.mine(1)
    expect(hashesOf(chain.sealed.head)).toEqual([tx.hash])
  })

  test('a refused transaction leaves the pool as it was', async () => {
    const { chain } = testChain('manual')
    const first = signed()
    await chain.submit(first)
    for (const bad of [signed({ chainId: 1 }), first, signed({ value: 2n })]) await expect(chain.submit(bad)).rejects.toThrow(PoolError)
    expect(chain.pool.all()).toEqual([first])
  })

  test('a mined transaction is rejected for its nonce before the sender’s balance is checked', async () => {
    const { chain } = testChain('manual')
    await chain.start()
    const tx = signed({ value: 9_999n * ETHER })
    await chain.submit(tx)
    await chain.mine(1)
    await expect(chain.submit(tx)).rejects.toThrow('nonce too low: next nonce 1, tx nonce 0')
  })
})
