import { describe, expect, test } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { ALICE, BOB, COINBASE, contextOf, CONTRACT, ETHER, Memory, message, opConfig, slot } from './evm.fixture.ts'
import { executeTransaction } from './execute.ts'
import type { OpFork } from './forks.ts'
import type { Executed, Message } from './message.ts'
import { BASE_FEE_VAULT, L1_BLOCK, L1_FEE_VAULT, operatorFee, OPERATOR_FEE_VAULT } from './rollup.ts'
import { World } from './world.ts'

const REVERTS = '0x60006000fd'
const HALTS = '0xfe'
/** stores 42 in slot 0 */
const STORES = '0x602a600055'

function deposit(mint: bigint, changes: Partial<Message> = {}, isSystemTx = false): Message {
  return message({
    type: 0x7e,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    deposit: { sourceHash: Hash.zero, mint, isSystemTx },
    raw: Uint8Array.of(0x7e),
    ...changes,
  })
}

function run(request: Message, accounts: ConstructorParameters<typeof Memory>[0], fork: OpFork = 'holocene') {
  const world = new World(new Memory(accounts))
  const executed: Executed = executeTransaction(request, contextOf(opConfig(fork)), world)
  return { world, executed }
}

describe('deposits', () => {
  test('mint, transfer value and pay no fees', () => {
    const { world, executed } = run(deposit(10n, { value: 4n }), { [ALICE]: { nonce: 3n } })
    expect(executed).toMatchObject({
      outcome: { kind: 'success' },
      gasUsed: 21_000n,
      depositNonce: 3n,
      effectiveGasPrice: 0n,
      blobGasUsed: null,
    })
    expect(world.account(ALICE)).toMatchObject({ nonce: 4n, balance: 6n })
    expect(world.balance(BOB)).toBe(4n)
    for (const vault of [COINBASE, BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT]) expect(world.account(vault)).toBeNull()
  })

  test.each(['azul', 'karst'] as const)('may have more gas than the cap of a transaction under %s', (fork) => {
    const gas = 16_777_217n
    expect(run(deposit(0n, { gas }), {}, fork).executed.outcome.kind).toBe('success')
    expect(() => run(message({ gas }), { [ALICE]: { balance: ETHER } }, fork)).toThrow(
      'transaction gas limit too high (cap: 16777216, tx: 16777217)',
    )
  })

  test('need no existing account, no nonce and no sender without code', () => {
    const { world, executed } = run(deposit(1n, { nonce: 99n }), { [ALICE]: { code: HALTS } })
    expect(executed.outcome.kind).toBe('success')
    expect(world.account(ALICE)).toMatchObject({ nonce: 1n, balance: 1n })
  })

  test.each([
    ['reverts', REVERTS, { kind: 'revert' }, 21_006n],
    ['halts', HALTS, { kind: 'halt', reason: 'invalid opcode: INVALID' }, 100_000n],
  ] as const)('a deposit that %s keeps the mint and the nonce but not the value', (_, code, outcome, gasUsed) => {
    const { world, executed } = run(deposit(10n, { to: CONTRACT, value: 4n }), { [CONTRACT]: { code } })
    expect(executed).toMatchObject({ outcome, gasUsed })
    expect(world.account(ALICE)).toMatchObject({ nonce: 1n, balance: 10n })
    expect(world.balance(CONTRACT)).toBe(0n)
  })

  test.each([
    ['value above balance and mint', { value: 11n }, false, 'insufficient funds for transfer'],
    ['too little gas', { gas: 20_000n }, false, 'intrinsic gas too low'],
    ['a system transaction', {}, true, 'system tx not supported'],
  ] as const)('%s fails, uses all gas and keeps the mint', (_, changes, isSystemTx, expectedMessage) => {
    const { world, executed } = run(deposit(10n, changes, isSystemTx), {})
    expect(executed.outcome).toMatchObject({ kind: 'halt', reason: expect.stringMatching(`^failed deposit: ${expectedMessage}`) as string })
    expect(executed.gasUsed).toBe('gas' in changes ? changes.gas : 100_000n)
    expect(world.account(ALICE)).toMatchObject({ nonce: 1n, balance: 10n })
    expect(world.account(BOB)).toBeNull()
  })

  test('create contracts at the nonce before', () => {
    const initCode = Hex.toBytes('0x60fe60005360016000f3')
    const { world, executed } = run(deposit(0n, { to: null, data: initCode }), { [ALICE]: { nonce: 7n } })
    expect(executed.contractAddress).toBe(Address.create(ALICE, 7n))
    expect(world.codeAt(Address.create(ALICE, 7n))).toEqual(Uint8Array.of(0xfe))
  })

  test('receive gas refunds, and have no footprint under Jovian', () => {
    const { executed } = run(deposit(0n, { to: CONTRACT }), { [CONTRACT]: { code: '0x600060005500', storage: { 0: 1n } } }, 'jovian')
    expect(executed.gasUsed).toBe(executed.gasUsedBeforeRefund - 4_800n)
    expect(executed.blobGasUsed).toBe(0n)
    expect(executed.l1).toMatchObject({ fee: 0n, gasUsed: 0n })
  })
})

describe('fees of an OP chain', () => {
  const raw = Hex.toBytes(`0x02${'ab'.repeat(120)}`)
  /** L1 base fee 1 gwei, scalars 1000 and 2000, blob base fee 5, operator 3,000,000 and 77, footprint 0 (default 400) */
  const l1Block = {
    code: STORES,
    storage: { 1: 1_000_000_000n, 3: (1_000n << 96n) | (2_000n << 64n), 7: 5n, 8: (3_000_000n << 64n) | 77n },
  } as const

  test.each(['fjord', 'isthmus', 'jovian'] as const)('%s: all fees reach their vaults', (fork) => {
    const world = new World(new Memory({ [ALICE]: { balance: ETHER }, [L1_BLOCK]: l1Block }))
    const context = contextOf(opConfig(fork))
    const request = message({ value: 5n, raw })
    const executed = executeTransaction(request, context, world)
    const fee = executed.l1?.fee ?? 0n
    const operator = executed.l1 === null ? 0n : operatorFee(21_000n, executed.l1, context.rules)
    expect(fee).toBe((100_000_000n * (16n * 1_000n * 1_000_000_000n + 2_000n * 5n)) / 10n ** 12n)
    expect(operator).toBe({ fjord: 0n, isthmus: 63_077n, jovian: 21_000n * 3_000_000n * 100n + 77n }[fork])
    expect(world.balance(COINBASE)).toBe(21_000n * 1_000_000_000n)
    expect(world.balance(BASE_FEE_VAULT)).toBe(21_000n * 1_000_000_000n)
    expect(world.balance(L1_FEE_VAULT)).toBe(fee)
    expect(world.balance(OPERATOR_FEE_VAULT)).toBe(operator)
    expect(world.balance(ALICE)).toBe(ETHER - 5n - 42_000n * 1_000_000_000n - fee - operator)
    expect(executed.blobGasUsed).toBe(fork === 'jovian' ? 40_000n : null)
  })

  test('the operator fee is prepaid for the gas limit and refunded for unused gas', () => {
    const { rules } = contextOf(opConfig('jovian'))
    const world = new World(new Memory({ [ALICE]: { balance: ETHER }, [L1_BLOCK]: l1Block }))
    const { l1 } = executeTransaction(message({ raw }), contextOf(opConfig('jovian')), world)
    if (l1 === null) throw new Error('an OP chain charges for data')
    const required = 100_000n * 3_000_000_000n + l1.fee + operatorFee(100_000n, l1, rules)
    const poor = new World(new Memory({ [ALICE]: { balance: required - 1n }, [L1_BLOCK]: l1Block }))
    const refused = () => executeTransaction(message({ raw }), contextOf(opConfig('jovian')), poor)
    expect(refused).toThrow(`have ${required - 1n} want ${required}`)
    const exact = new World(new Memory({ [ALICE]: { balance: required }, [L1_BLOCK]: l1Block }))
    executeTransaction(message({ raw }), contextOf(opConfig('jovian')), exact)
    expect(exact.balance(ALICE)).toBe(required - 42_000n * 1_000_000_000n - l1.fee - operatorFee(21_000n, l1, rules))
  })

  test('a call without encoded transaction pays neither data nor operator fee', () => {
    const world = new World(new Memory({ [ALICE]: { balance: ETHER }, [L1_BLOCK]: l1Block }))
    const { l1 } = executeTransaction(message(), contextOf(opConfig('jovian')), world)
    expect(l1).toBeNull()
    expect(world.balance(L1_FEE_VAULT)).toBe(0n)
  })

  test('parameters are read at execution, after the attributes deposit of the block', () => {
    const world = new World(new Memory({ [ALICE]: { balance: ETHER } }))
    const context = contextOf(opConfig('fjord'))
    expect(executeTransaction(message({ raw }), context, world).l1?.fee).toBe(0n)
    world.setStorage(L1_BLOCK, slot(1), 1_000_000_000n)
    world.setStorage(L1_BLOCK, slot(3), 1_000n << 96n)
    expect(executeTransaction(message({ raw, nonce: 1n }), context, world).l1?.fee).toBe(1_600_000_000n)
  })

  test('blocks before Fjord throw UnsupportedFork', () => {
    const run = () => executeTransaction(message(), contextOf(opConfig('ecotone')), new World(new Memory({})))
    expect(run).toThrow('before Fjord are not supported: this block is under ecotone')
  })
})
