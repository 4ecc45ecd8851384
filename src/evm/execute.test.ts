import { describe, expect, test } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash, Hex } from '../eth/index.ts'
import type { Authorization } from '../eth/index.ts'
import { ALICE, BOB, COINBASE, contextOf, CONTRACT, ETHER, GWEI, l1Config, Memory, message, opConfig, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import type { BlockEnv, ExecuteOptions, Message } from './message.ts'
import { World } from './world.ts'

const PRAGUE = l1Config('prague')
const RICH = { balance: ETHER }
type Setups = ConstructorParameters<typeof Memory>[0]

function run(code: Hex, changes: Partial<Message> = {}, config = PRAGUE, more: Setups = {}, options: ExecuteOptions = {}) {
  const traced = options.accessList === true || options.transferLogs === true
  const world = new World(new Memory({ [ALICE]: RICH, [CONTRACT]: { nonce: 1n, code }, ...more }), { traced })
  const executed = executeTransaction(message({ to: CONTRACT, ...changes }), contextOf(config), world, options)
  return { world, executed }
}

/** `PUSH20 address` as hex */
const push = (address: Address): string => `73${address.slice(2)}`

test('a creation from the maximum nonce is rejected', () => {
  const last = { [ALICE]: { ...RICH, nonce: 2n ** 64n - 1n } }
  const options = { skipNonce: true, skipFees: true }
  expect(() => run('0x', { to: null }, PRAGUE, last, options)).toThrow('nonce has max value')
  expect(run('0x', {}, PRAGUE, last, options).executed.outcome).toEqual({ kind: 'success' })
})

describe('a transfer', () => {
  test('on L1 burns the base fee and pays the tip', () => {
    const { world, executed } = run('0x', { to: BOB, value: 5n })
    expect(executed).toMatchObject({
      gasUsed: 21_000n,
      gasUsedBeforeRefund: 21_000n,
      effectiveGasPrice: 2n * GWEI,
      l1: null,
      contractAddress: null,
    })
    expect(world.account(ALICE)).toEqual({ nonce: 1n, balance: ETHER - 5n - 42_000n * GWEI, codeHash: EMPTY_CODE_HASH })
    expect(world.balance(COINBASE)).toBe(21_000n * GWEI)
    expect(world.balance(BOB)).toBe(5n)
  })

  test('of zero to an absent account creates no account', () => {
    const { world } = run('0x', { to: BOB })
    expect(world.account(BOB)).toBeNull()
    expect(world.writes().accounts.has(BOB)).toBe(false)
  })

  test('to the sender costs only the gas', () => {
    const { world } = run('0x', { to: ALICE, value: 5n })
    expect(world.balance(ALICE)).toBe(ETHER - 42_000n * GWEI)
  })

  test('with blobs pays the blob base fee of the block', () => {
    const blobVersionedHashes = [Hash.from(`0x01${'00'.repeat(31)}`)]
    const { world, executed } = run('0x', { type: 3, to: BOB, blobVersionedHashes, maxFeePerBlobGas: 10n })
    expect(executed).toMatchObject({ blobGasUsed: 131_072n, blobGasPrice: 1n })
    expect(world.balance(ALICE)).toBe(ETHER - 42_000n * GWEI - 131_072n)
  })

  test('below the calldata floor pays the floor', () => {
    const { executed } = run('0x', { to: BOB, data: new Uint8Array(1_000).fill(1) })
    expect(executed).toMatchObject({ gasUsed: 61_000n, gasUsedBeforeRefund: 61_000n })
  })
})

describe("halt reasons are geth's", () => {
  test.each([
    ['0x5b600056', 'out of gas'],
    ['0xfe', 'invalid opcode: INVALID'],
    ['0x0c', 'invalid opcode: opcode 0xc not defined'],
    ['0x1e', 'invalid opcode: CLZ'],
    ['0x600156', 'invalid jump destination'],
    ['0x01', 'stack underflow (0 <=> 2)'],
    ['0x600182', 'stack underflow (1 <=> 3)'],
    ['0x600192', 'stack underflow (1 <=> 4)'],
    ['0x5b5f600056', 'stack limit reached 1024 (1023)'],
  ] as const)('%s: %s', (code, reason) => {
    const { world, executed } = run(code)
    expect(executed).toMatchObject({ outcome: { kind: 'halt', reason }, gasUsed: 100_000n, logs: [] })
    expect(world.nonce(ALICE)).toBe(1n)
  })

  test('a write in a static call', () => {
    // STATICCALL to Bob's code, which stores; then the result is returned.
    const code = `0x5f5f5f5f${push(BOB)}5afa5f5260205ff3` as const
    const { executed } = run(code, {}, PRAGUE, { [BOB]: { code: '0x60015f55' } })
    expect(executed.outcome.kind).toBe('success')
    expect(executed.output.at(-1)).toBe(0)
  })

  test.each([
    ['0x60ef5f5360015ff3', 'invalid code: must not begin with 0xef'],
    ['0x6160015ff3', 'max code size exceeded'],
    ['0x5b5f56', 'out of gas'],
  ] as const)('creation with %s: %s', (data, reason) => {
    const { executed } = run('0x', { to: null, gas: 10_000_000n, data: Hex.toBytes(data) })
    expect(executed.outcome).toMatchObject({ kind: 'halt', reason })
    expect(executed.contractAddress).toBe(Address.create(ALICE, 0n))
  })

  test('unpaid code storage', () => {
    const { executed } = run('0x', { to: null, gas: 60_000n, data: Hex.toBytes('0x6107d05ff3') })
    expect(executed.outcome).toEqual({ kind: 'halt', reason: 'contract creation code storage out of gas' })
  })

  test('a creation at an address with code', () => {
    const taken = Address.create(ALICE, 0n)
    const { executed } = run('0x', { to: null, data: Hex.toBytes('0x00') }, PRAGUE, { [taken]: { nonce: 1n } })
    expect(executed).toMatchObject({ outcome: { kind: 'halt', reason: 'contract address collision' }, gasUsed: 100_000n })
  })

  test('a creation at an address with storage (EIP-7610)', () => {
    const taken = Address.create(ALICE, 0n)
    const { executed } = run('0x', { to: null, data: Hex.toBytes('0x00') }, PRAGUE, { [taken]: { storage: { 0: 1n } } })
    expect(executed.outcome).toMatchObject({ reason: 'contract address collision' })
  })

  test('a revert returns its data and keeps the remaining gas', () => {
    const { executed } = run('0x60aa5f5260205ffd')
    expect(executed.outcome).toEqual({ kind: 'revert' })
    expect(executed.output.at(-1)).toBe(0xaa)
    expect(executed.gasUsed).toBeLessThan(22_000n)
  })
})

describe('code size', () => {
  const large = Hex.toBytes('0x620060015ff3')

  test('is limited by the config', () => {
    const options = { to: null, gas: 16_000_000n, data: large } as const
    expect(run('0x', options).executed.outcome).toMatchObject({ reason: 'max code size exceeded' })
    expect(run('0x', options, l1Config('prague', { codeSizeLimit: 30_000 })).executed.outcome.kind).toBe('success')
    expect(run('0x', options, l1Config('prague', { codeSizeLimit: null })).executed.outcome.kind).toBe('success')
  })

  test('without a code size limit init code is unlimited too', () => {
    const options = { to: null, gas: 16_000_000n, data: new Uint8Array(100_000) } as const
    const { executed } = run('0x', options, l1Config('prague', { codeSizeLimit: null }))
    expect(executed.outcome.kind).toBe('success')
  })
})

describe('SELFDESTRUCT', () => {
  const destroys = `0x${push(BOB)}ff` as const
  const account = { [CONTRACT]: { nonce: 1n, balance: 7n, code: destroys, storage: { 1: 1n } } }

  test('before Cancun removes the account and its storage', () => {
    const { world } = run(destroys, {}, l1Config('shanghai'), account)
    expect(world.account(CONTRACT)).toBeNull()
    expect(world.storage(CONTRACT, slot(1))).toBe(0n)
    expect(world.balance(BOB)).toBe(7n)
    expect(world.writes().storage.get(CONTRACT)).toEqual(new Map([[slot(1), 0n]]))
  })

  test('since Cancun only transfers the balance', () => {
    const { world } = run(destroys, {}, PRAGUE, account)
    expect(world.account(CONTRACT)).toMatchObject({ nonce: 1n, balance: 0n })
    expect(world.storage(CONTRACT, slot(1))).toBe(1n)
    expect(world.balance(BOB)).toBe(7n)
  })

  test('since Cancun removes accounts created in the same transaction', () => {
    const { world, executed } = run('0x', { to: null, value: 3n, data: Hex.toBytes(destroys) })
    expect(executed.outcome.kind).toBe('success')
    expect(world.account(Address.create(ALICE, 0n))).toBeNull()
    expect(world.balance(BOB)).toBe(3n)
  })
})

describe('the environment', () => {
  const words = (output: Uint8Array) => Hex.fromBytes(output.subarray(output.length - 32))

  test.each([
    ['CHAINID', '46', 1n],
    ['NUMBER', '43', 1_000n],
    ['TIMESTAMP', '42', 1_000_000n],
    ['PREVRANDAO', '44', 5n],
    ['BASEFEE', '48', GWEI],
    ['BLOBBASEFEE', '4a', 9n],
    ['GASPRICE', '3a', 2n * GWEI],
    ['COINBASE', '41', BigInt(COINBASE)],
    ['ORIGIN', '32', BigInt(ALICE)],
    ['GASLIMIT', '45', 30_000_000n],
    ['BLOCKHASH of the parent', '6103e740', 0xabn],
    ['BLOCKHASH of the block itself', '6103e840', 0n],
    ['BLOCKHASH out of the window', '600140', 0n],
  ] as const)('%s', (_, opcode, value) => {
    const request: number[] = []
    const env: Partial<BlockEnv> = {
      prevRandao: slot(5),
      blobBaseFee: 9n,
      blockHash: (number) => {
        request.push(number)
        return Hash.fromBigint(0xabn)
      },
    }
    const world = new World(new Memory({ [ALICE]: RICH, [CONTRACT]: { code: `0x${opcode}5f5260205ff3` } }))
    const { output } = executeTransaction(message({ to: CONTRACT }), contextOf(PRAGUE, env), world)
    expect(BigInt(words(output))).toBe(value)
    expect(request).toEqual(value === 0xabn ? [999] : [])
  })

  test('transient storage ends with the transaction', () => {
    // returns what slot 0 held, then stores 1 there
    const world = new World(new Memory({ [ALICE]: RICH, [CONTRACT]: { code: '0x5f5c5f5260015f5d60205ff3' } }))
    for (const nonce of [0n, 1n]) {
      const { output } = executeTransaction(message({ to: CONTRACT, nonce }), contextOf(PRAGUE), world)
      expect(BigInt(words(output))).toBe(0n)
    }
  })
})

describe('EIP-7702', () => {
  const authorization = (changes: Partial<Authorization>): Authorization => {
    return { chainId: 1n, address: CONTRACT, nonce: 0n, yParity: 0, r: 1n, s: 1n, authority: BOB, ...changes }
  }
  const designator = (target: Address) => Hex.toBytes(`0xef0100${target.slice(2)}`)

  test('delegates, effective in the same transaction', () => {
    const { world, executed } = run('0x602a5f55', { type: 4, to: BOB, authorizationList: [authorization({})] })
    expect(executed.outcome.kind).toBe('success')
    expect(world.codeAt(BOB)).toEqual(designator(CONTRACT))
    expect(world.nonce(BOB)).toBe(1n)
    expect(world.storage(BOB, slot(0))).toBe(42n)
  })

  test('persists when the call reverts', () => {
    const { world, executed } = run('0x5f5ffd', { type: 4, authorizationList: [authorization({})] })
    expect(executed.outcome.kind).toBe('revert')
    expect(world.codeAt(BOB)).toEqual(designator(CONTRACT))
  })

  test('refunds part of the cost for an existing authority', () => {
    const request = { type: 4, authorizationList: [authorization({})] } as const
    const fresh = run('0x', request)
    const existing = run('0x', request, PRAGUE, { [BOB]: { balance: 1n } })
    expect(fresh.executed.gasUsed).toBe(46_000n)
    expect(existing.executed.gasUsed).toBe(46_000n - 46_000n / 5n)
  })

  test.each([
    ['another chain', { chainId: 2n }, {}],
    ['another nonce', { nonce: 1n }, {}],
    ['the last nonce', { nonce: 2n ** 64n - 1n }, {}],
    ['no signer', { authority: null }, {}],
    ['an authority with code', {}, { [BOB]: { code: '0x00' } }],
  ] as const)('skips %s', (_, changes, more) => {
    const { world, executed } = run('0x', { type: 4, authorizationList: [authorization(changes)] }, PRAGUE, more)
    expect(executed.outcome.kind).toBe('success')
    expect(world.nonce(BOB)).toBe(0n)
    expect(world.codeAt(BOB).length).toBeLessThan(2)
  })

  test('to the zero address removes the delegation', () => {
    const more = { [BOB]: { nonce: 0n, code: `0xef0100${CONTRACT.slice(2)}` } } as const
    const { world } = run('0x', { type: 4, authorizationList: [authorization({ address: Address.zero })] }, PRAGUE, more)
    expect(world.account(BOB)).toMatchObject({ nonce: 1n, codeHash: EMPTY_CODE_HASH })
  })
})

describe('options of calls', () => {
  const call: ExecuteOptions = { skipNonce: true, skipFees: true, skipGasCap: true }

  test('accessList: touched keys without those that are warm anyway', () => {
    // SLOAD of slot 5 of the called contract; BALANCE of Bob, of the sender and of a precompile
    const code = `0x60055450${push(BOB)}3150${push(ALICE)}3150600131` as const
    const { executed } = run(code, {}, PRAGUE, {}, { ...call, accessList: true })
    expect(executed.accessList).toEqual([
      { address: CONTRACT, storageKeys: [slot(5)] },
      { address: BOB, storageKeys: [] },
    ])
    expect(run(code).executed.accessList).toBeNull()
  })

  test('accessList: includes the given list and reverted accesses', () => {
    const accessList = [{ address: COINBASE, storageKeys: [slot(9)] }]
    const { executed } = run('0x60055460065f5ffd', { accessList }, PRAGUE, {}, { ...call, accessList: true })
    expect(executed.outcome.kind).toBe('revert')
    expect(executed.accessList).toEqual([
      { address: COINBASE, storageKeys: [slot(9)] },
      { address: CONTRACT, storageKeys: [slot(5)] },
    ])
  })

  test('transferLogs: each movement of ether in log order', () => {
    // LOG0, send 2 to Bob, LOG0; Bob reverts nothing
    const code = `0x5f5fa05f5f5f5f6002${push(BOB)}5af15060015fa0` as const
    const { executed } = run(code, { value: 9n }, PRAGUE, {}, { ...call, transferLogs: true })
    const ether = Address.from(`0x${'ee'.repeat(20)}`)
    expect(executed.logs.map(({ address, data }) => [address, data.length])).toEqual([
      [ether, 32],
      [CONTRACT, 0],
      [ether, 32],
      [CONTRACT, 1],
    ])
    expect(executed.logs[2]?.topics.slice(1).map(BigInt)).toEqual([BigInt(CONTRACT), BigInt(BOB)])
    expect(executed.logs[2]?.data.at(-1)).toBe(2)
  })

  test('transferLogs: none for reverted frames, one for creations and SELFDESTRUCT', () => {
    const reverts = `0x5f5f5f5f6002${push(BOB)}5af1` as const
    const back = run(reverts, { value: 9n }, PRAGUE, { [BOB]: { code: '0x5f5ffd' } }, { ...call, transferLogs: true })
    expect(back.executed.logs).toHaveLength(1)
    const created = run('0x', { to: null, value: 4n, data: Hex.toBytes(`0x${push(BOB)}ff`) }, PRAGUE, {}, { ...call, transferLogs: true })
    expect(created.executed.logs.map(({ topics }) => topics.slice(1).map(BigInt))).toEqual([
      [BigInt(ALICE), BigInt(Address.create(ALICE, 0n))],
      [BigInt(Address.create(ALICE, 0n)), BigInt(BOB)],
    ])
  })

  test('moved and masked precompiles affect this call only', () => {
    const identity = Address.fromBigint(4n)
    const data = Uint8Array.of(1, 2, 3)
    const options = { ...call, movedPrecompiles: new Map([[BOB, identity]]) }
    expect(run('0x', { to: BOB, data }, PRAGUE, {}, options).executed.output).toEqual(data)
    expect(run('0x', { to: identity, data }, PRAGUE, {}, options).executed.output).toHaveLength(0)
    expect(run('0x', { to: identity, data }).executed.output).toEqual(data)
    const masked = { ...call, maskedPrecompiles: new Set([identity]) }
    const overridden = { [identity]: { code: '0x60015ff3' } } as const
    expect(run('0x', { to: identity, data }, PRAGUE, overridden, masked).executed.output).toHaveLength(1)
  })

  test('skipFees: no fees are charged or paid', () => {
    const { world } = run('0x', { to: BOB, value: 1n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }, opConfig('jovian'), {}, call)
    expect([...world.writes().accounts.keys()].toSorted()).toEqual([ALICE, BOB].toSorted())
    expect(world.balance(ALICE)).toBe(ETHER - 1n)
  })
})

test('interleaved executions on several worlds are isolated', () => {
  // adds the value to slot 0, calls Bob's code, which writes transient storage, and returns the slot
  const adds = `0x5f5434015f555f5f5f5f5f${push(BOB)}5af1505f545f5260205ff3` as const
  const accounts = { [ALICE]: RICH, [BOB]: { code: '0x60015c5060025f5d' }, [CONTRACT]: { code: adds } } as const
  const worlds = Array.from({ length: 12 }, () => new World(new Memory(accounts)))
  for (const nonce of [0n, 1n, 2n]) {
    for (const [index, world] of worlds.entries()) {
      const context = contextOf([PRAGUE, opConfig('jovian')][index % 2] ?? PRAGUE)
      const value = BigInt(index + 1)
      const { output } = executeTransaction(message({ to: CONTRACT, nonce, value }), context, world)
      expect(BigInt(Hex.fromBytes(output))).toBe(value * (nonce + 1n))
    }
  }
  expect(worlds.map((world) => world.balance(CONTRACT))).toEqual(worlds.map((_, index) => 3n * BigInt(index + 1)))
})

test('an exception of the state reader leaves the world unchanged and the next execution correct', () => {
  class Broken extends Memory {
    override storage(): bigint {
      throw new TypeError('disk on fire')
    }
  }
  const world = new World(new Broken({ [ALICE]: RICH, [CONTRACT]: { code: '0x5f54' } }))
  expect(() => executeTransaction(message({ to: CONTRACT }), contextOf(PRAGUE), world)).toThrow('disk on fire')
  expect(world.writes().accounts.size).toBe(0)
  expect(run('0x602a5f55').executed.outcome.kind).toBe('success')
})
