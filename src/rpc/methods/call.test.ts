import { describe, expect, it } from 'vitest'
import { testGenesis } from '../../chain/chain.fixture.ts'
import { Address, Authorization, Hex } from '../../eth/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { ALICE, MANUAL, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const BOB_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const NEW = Address.from('0x00000000000000000000000000000000c0ffee00')

/** Code that returns the value pushed by one opcode. */
function returns(opcode: string): string {
  return `0x${opcode}60005260206000f3`
}

/** Reverts with its call data. */
const REVERTS = '0x366000600037366000fd'
const INVALID = '0xfe'
const FOREVER = '0x5b600056'
const READS_SLOT_0 = '0x60005460005260206000f3'
/** Writes its first word to slot 0. */
const WRITES_SLOT_0 = '0x60003560005500'

const USER_ERROR =
  '0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72'

function word(value: bigint | number): string {
  return `0x${value.toString(16).padStart(64, '0')}`
}

function code(bytecode: string, more: object = {}) {
  return { [NEW]: { code: bytecode, ...more } }
}

async function outcomeOf(result: Promise<unknown>): Promise<unknown> {
  return result.catch(({ code: number, message, data }: RpcError) => ({ code: number, message, data }))
}

describe('eth_call', () => {
  it('returns the output of the code, and 0x for an account without code', async () => {
    const { ask } = await testNode()
    expect(await ask('eth_call', { to: NEW }, 'latest', code(returns('6007')))).toBe(word(7))
    expect(await ask('eth_call', { to: BOB }, 'latest')).toBe('0x')
  })

  it('uses latest for a missing block, and rejects it in the strict profile', async () => {
    const { ask } = await testNode()
    expect(await ask('eth_call', { to: BOB })).toBe('0x')
    const strict = await testNode({ compat: 'strict' })
    await expect(strict.ask('eth_call', { to: BOB })).rejects.toMatchObject({ code: -32_602 })
    await expect(strict.ask('eth_call', { data: '0x00' }, 'latest')).rejects.toMatchObject({ code: -32_602 })
  })

  it('has the same result with defaults and with explicit values', async () => {
    const { ask } = await testNode()
    const codes = [returns('3a'), returns('5a'), returns('48'), READS_SLOT_0, WRITES_SLOT_0, REVERTS, INVALID, FOREVER, '0x', '0x5b600b56']
    for (const bytecode of codes) {
      await ask('anvil_setCode', NEW, bytecode)
      for (const gas of [undefined, '0x5207', '0x5208', '0x5300', '0xffffffffff']) {
        const call = { to: NEW, data: USER_ERROR, ...(gas === undefined ? undefined : { gas }) }
        const same = [
          { input: USER_ERROR },
          { value: '0x0' },
          { gasPrice: '0x0' },
          { accessList: [], maxFeePerGas: '0x0' },
          { nonce: '0x5' },
        ]
        const outcome = await outcomeOf(ask('eth_call', call, 'latest'))
        for (const more of same) expect(await outcomeOf(ask('eth_call', { ...call, ...more }, 'latest'))).toEqual(outcome)
      }
    }
    await expect(ask('eth_call', { to: NEW, data: '0x', gas: '0x5207' }, 'latest')).rejects.toMatchObject({
      code: -32_000,
      message: 'err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)',
    })
  })

  it('applies the given price, value and lists to the call', async () => {
    const { ask } = await testNode()
    const coldSlot = '0x5a600054505a900360005260206000f3' // returns the gas of an SLOAD plus 7
    const accessList = [{ address: NEW, storageKeys: [word(0)] }]
    const authorization = Authorization.sign({ chainId: 31_337n, address: NEW, nonce: 0n }, Hex.toBytes(BOB_KEY))
    const authorizationList = [
      {
        chainId: '0x7a69',
        address: NEW,
        nonce: '0x0',
        yParity: Hex.fromQuantity(authorization.yParity),
        r: Hex.fromQuantity(authorization.r),
        s: Hex.fromQuantity(authorization.s),
      },
    ]
    const baseFee = word(1_000_000_000)
    const rows: [bytecode: string, to: string, more: object, plain: string, named: string][] = [
      [coldSlot, NEW, { accessList }, word(2_107), word(107)],
      [returns('3a'), NEW, { gasPrice: '0x77359400' }, word(0), word(2_000_000_000)],
      [returns('3a'), NEW, { maxFeePerGas: '0x77359400' }, word(0), baseFee],
      [returns('48'), NEW, { maxFeePerGas: '0x77359400' }, word(0), baseFee],
      [returns('3a'), NEW, { maxPriorityFeePerGas: '0x1' }, word(0), word(1_000_000_001)],
      [returns('34'), NEW, { value: '0x1' }, word(0), word(1)],
      [returns('30'), BOB, { authorizationList }, '0x', word(BigInt(BOB))],
    ]
    for (const [bytecode, to, more, plain, named] of rows) {
      await ask('anvil_setCode', NEW, bytecode)
      const call = { from: ALICE, to }
      expect(await ask('eth_call', call, 'latest')).toBe(plain)
      expect(await ask('eth_call', { ...call, ...more }, 'latest')).toBe(named)
    }
    await expect(ask('eth_call', { from: ALICE, to: NEW, blobVersionedHashes: [word(1)] }, 'latest')).rejects.toMatchObject({
      message: expect.stringContaining('transaction type not supported: 3'),
    })
  })

  it('runs data without a target as creation code and returns the deployed code', async () => {
    const { ask } = await testNode()
    // Deploys one byte, 0x2a.
    expect(await ask('eth_call', { data: '0x602a60005360016000f3' }, 'latest')).toBe('0x2a')
    await expect(ask('eth_call', {}, 'latest')).rejects.toMatchObject({ code: -32_602 })
  })

  it('reverts with -32000 and the data by default, 3 and the reason under compat geth', async () => {
    const { ask } = await testNode()
    const call = [{ to: NEW, data: USER_ERROR }, 'latest', code(REVERTS)] as const
    await expect(ask('eth_call', ...call)).rejects.toMatchObject({ code: -32_000, message: 'execution reverted', data: USER_ERROR })
    await expect(ask('eth_estimateGas', ...call)).rejects.toMatchObject({ code: -32_000, message: 'execution reverted', data: USER_ERROR })
    const geth = await testNode({ compat: 'geth' })
    await expect(geth.ask('eth_call', ...call)).rejects.toMatchObject({ code: 3, message: 'execution reverted: user error' })
  })

  it('returns the whole output and revert data of any length, with and without a price', async () => {
    const { ask } = await testNode()
    const data = `0x${'0123456789abcdef'.repeat(12_500)}`
    for (const price of [undefined, '0x0']) {
      const call = { to: NEW, data, ...(price === undefined ? undefined : { gasPrice: price }) }
      await ask('anvil_setCode', NEW, '0x365f5f37365ff3')
      expect(await ask('eth_call', call, 'latest')).toBe(data)
      await ask('anvil_setCode', NEW, REVERTS)
      await expect(ask('eth_call', call, 'latest')).rejects.toMatchObject({ message: 'execution reverted', data })
    }
  })

  it('does not report a halt as a revert, and has no data for it', async () => {
    const { ask } = await testNode()
    for (const bytecode of [INVALID, FOREVER]) {
      const error = await ask('eth_call', { to: NEW, gas: '0x186a0' }, 'latest', code(bytecode)).catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: -32_000, data: undefined })
      expect(String(error)).not.toMatch(/revert/i)
    }
  })

  it('is sent by the zero address with at most 50,000,000 gas, or that of a block if it is more', async () => {
    const genesis = testGenesis([ALICE])
    const { ask } = await testNode({ genesis: { ...genesis, config: { ...genesis.config, transactionGasCap: null } } })
    expect(await ask('eth_call', { to: NEW }, 'latest', code(returns('33')))).toBe(word(0))
    const gasLeft = async (call: object) => BigInt((await ask('eth_call', { to: NEW, ...call }, 'latest', code(returns('5a')))) as string)
    expect(await gasLeft({ gas: '0x5300' })).toBe(0x5300n - 21_000n - 2n)
    for (const [limit, most] of [
      ['0x1c9c380', 50_000_000n],
      ['0x5f5e100', 100_000_000n],
      ['0xfffffffffffffff', 10n ** 12n],
    ] as const) {
      await ask('evm_setBlockGasLimit', limit)
      await ask('evm_mine')
      const plain = [{}, { gas: '0xffffffffffffff' }]
      for (const call of [...plain, { gas: '0xffffffffffffff', value: '0x0', gasPrice: '0x0' }])
        expect(await gasLeft(call)).toBe(most - 21_000n - 2n)
    }
    // Reverts with less than 90,000,000 gas.
    const greedy = { [NEW]: { code: '0x5a63055d4a8010600d575f5ffd5b00' } }
    expect(Number(await ask('eth_estimateGas', { to: NEW }, 'latest', greedy))).toBeGreaterThan(90_000_000)
  })

  it('reads BASEFEE as 0 without a price, as the base fee with one, and as overridden', async () => {
    const { ask, chain } = await testNode()
    const baseFee = async (call: object, env: object = {}) => ask('eth_call', { to: NEW, ...call }, 'latest', code(returns('48')), env)
    expect(await baseFee({})).toBe(word(0))
    expect(await baseFee({ from: ALICE, gasPrice: '0x77359400' })).toBe(word(chain.head.view.head.header.baseFeePerGas ?? 0n))
    expect(await baseFee({}, { baseFeePerGas: '0x7' })).toBe(word(7))
  })

  it('refuses block overrides that a call outside of a block cannot follow', async () => {
    const { ask } = await testNode()
    for (const override of [{ beaconRoot: word(1) }, { withdrawals: [] }]) {
      const message = `block override "${Object.keys(override)[0]}" is not supported for this method`
      await expect(ask('eth_call', { to: NEW }, 'latest', {}, override)).rejects.toMatchObject({ code: -32_602, message })
    }
  })

  it('takes block overrides by the names of geth, alloy and erigon', async () => {
    const { ask } = await testNode()
    const read = async (opcode: string, env: object) => ask('eth_call', { to: NEW }, 'latest', code(returns(opcode)), env)
    for (const env of [{ feeRecipient: BOB }, { coinbase: BOB }]) expect(await read('41', env)).toBe(word(BigInt(BOB)))
    for (const env of [{ prevRandao: word(5) }, { random: word(5) }]) expect(await read('44', env)).toBe(word(5))
    for (const env of [{ baseFeePerGas: '0x7' }, { baseFee: '0x7' }]) expect(await read('48', env)).toBe(word(7))
    for (const env of [{ number: '0x7' }, { blockNumber: '0x7' }]) expect(await read('43', env)).toBe(word(7))
    for (const env of [{ time: '0x7fffffff' }, { timestamp: '0x7fffffff' }]) expect(await read('42', env)).toBe(word(0x7fffffff))
  })

  it('checks the balance only with a value or a price', async () => {
    const { ask } = await testNode()
    expect(await ask('eth_call', { from: NEW, to: BOB })).toBe('0x')
    const words = /insufficient funds for gas \* price \+ value: address 0x\w{40} have 0 want 1/
    await expect(ask('eth_call', { from: NEW, to: BOB, value: '0x1' })).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringMatching(words),
    })
    await expect(ask('eth_call', { from: NEW, to: BOB, gasPrice: '0x77359400' })).rejects.toThrow('insufficient funds')
    await expect(ask('eth_call', { from: ALICE, to: BOB, gasPrice: '0x1' })).rejects.toThrow('max fee per gas less than block base fee')
  })

  it('with a price below the base fee is rejected, and executed under compat anvil', async () => {
    const [node, anvil] = [await testNode(), await testNode({ compat: 'anvil' })]
    const free = { from: ALICE, to: NEW, data: '0x01' }
    const calls = [{ gasPrice: '0x1' }, { maxFeePerGas: '0x1' }].map((price) => ({ ...free, ...price }))
    for (const call of calls) {
      for (const name of ['eth_call', 'eth_estimateGas']) {
        await expect(node.ask(name, call)).rejects.toMatchObject({
          message: expect.stringMatching(/max fee per gas less than block base fee/),
        })
        expect(await anvil.ask(name, call)).toBe(await anvil.ask(name, free))
      }
    }
  })

  it('reads overridden accounts', async () => {
    const { ask } = await testNode()
    const balanceOf = `0x73${NEW.slice(2)}3160005260206000f3`
    expect(await ask('eth_call', { to: NEW }, 'latest', code(balanceOf, { balance: '0x5' }))).toBe(word(5))
    const slot = (value: number) => ({ [word(0)]: word(value) })
    expect(await ask('eth_call', { to: NEW }, 'latest', code(READS_SLOT_0, { stateDiff: slot(3) }))).toBe(word(3))
    expect(await ask('eth_call', { to: NEW }, 'latest', code(READS_SLOT_0, { state: slot(4) }))).toBe(word(4))
    const both = code(READS_SLOT_0, { state: slot(1), stateDiff: slot(2) })
    await expect(ask('eth_call', { to: NEW }, 'latest', both)).rejects.toThrow("has both 'state' and 'stateDiff'")
  })

  it('takes JSON numbers and decimal text in overrides under compat anvil', async () => {
    const [node, anvil] = [await testNode(), await testNode({ compat: 'anvil' })]
    const call = { to: NEW }
    const number = '0x435f5260205ff3' // NUMBER
    const balance = `0x73${BOB.slice(2)}315f5260205ff3` // BALANCE of BOB
    for (const seven of [7, '7']) {
      const accounts = { ...code(balance), [BOB]: { balance: seven, nonce: seven } }
      expect(await anvil.ask('eth_call', call, 'latest', accounts)).toBe(word(7))
      expect(await anvil.ask('eth_call', call, 'latest', code(number), { number: seven })).toBe(word(7))
      const traced = { stateOverrides: code(number), blockOverrides: { number: seven, time: seven } }
      expect(await anvil.ask('debug_traceCall', call, 'latest', traced)).toMatchObject({ returnValue: word(7) })
      const blockStateCalls = [{ stateOverrides: accounts, blockOverrides: { number: seven }, calls: [{ ...call, value: 0 }] }]
      const blocks = (await anvil.ask('eth_simulateV1', { blockStateCalls })) as { calls: unknown[] }[]
      expect(blocks.at(-1)?.calls).toMatchObject([{ returnData: word(7) }])
      const bundles = [{ transactions: [{ ...call, value: 0 }], blockOverride: { number: seven } }]
      expect(await anvil.ask('eth_callMany', bundles, {}, code(number))).toEqual([[{ value: word(7) }]])
      await expect(node.ask('eth_call', call, 'latest', accounts)).rejects.toMatchObject({ code: -32_602 })
    }
  })

  it('replaces the storage with `state` and leaves the rest of it with `stateDiff`', async () => {
    const { ask, send, chain } = await testNode()
    const weth = Address.from('0x4200000000000000000000000000000000000006')
    await send({ to: weth, value: 5n })
    await chain.mine(1)
    const balance = async (override: object) =>
      ask('eth_call', { to: weth, data: `0x70a08231${ALICE.slice(2).padStart(64, '0')}` }, 'latest', { [weth]: override })
    expect(await balance({})).toBe(word(5))
    expect(await balance({ stateDiff: { [word(99)]: word(1) } })).toBe(word(5))
    expect(await balance({ state: { [word(99)]: word(1) } })).toBe(word(0))
  })

  it('moves precompiles, and treats an overridden one as an ordinary account', async () => {
    const { ask } = await testNode()
    const identity = '0x0000000000000000000000000000000000000004'
    for (const key of ['movePrecompileToAddress', 'MovePrecompileToAddress']) {
      const moved = { [identity]: { [key]: NEW } }
      expect(await ask('eth_call', { to: NEW, data: '0x1234' }, 'latest', moved)).toBe('0x1234')
      expect(await ask('eth_call', { to: identity, data: '0x1234' }, 'latest', moved)).toBe('0x')
    }
    const mresult = { [identity]: { code: returns('6007') } }
    expect(await ask('eth_call', { to: identity, data: '0x1234' }, 'latest', mresult)).toBe(word(7))
    const nothing = { [NEW]: { movePrecompileToAddress: BOB } }
    await expect(ask('eth_call', { to: BOB }, 'latest', nothing)).rejects.toThrow('is not a precompile')
  })

  it('runs in the overridden block', async () => {
    const { ask } = await testNode()
    const env = { number: '0x10', time: '0x20', gasLimit: '0x30', feeRecipient: BOB, prevRandao: word(0x40), blobBaseFee: '0x50' }
    const read = async (opcode: string) => ask('eth_call', { to: NEW }, 'latest', code(returns(opcode)), env)
    expect(await read('43')).toBe(word(0x10))
    expect(await read('42')).toBe(word(0x20))
    expect(await read('45')).toBe(word(0x30))
    expect(await read('41')).toBe(word(BigInt(BOB)))
    expect(await read('44')).toBe(word(0x40))
    expect(await read('4a')).toBe(word(0x50))
  })

  it('runs in the pending block with its own number and time', async () => {
    const { ask, chain, clock, send } = await testNode({ cadence: PRECONF })
    const tx = { data: Hex.toBytes('0x602a60005360016000f3') }
    await send(tx)
    await clock.advance(200)
    const { pending } = chain.head.view
    expect(pending?.transactions).toHaveLength(2)
    const read = async (opcode: string, block: string) => ask('eth_call', { to: NEW }, block, code(returns(opcode)))
    expect(await read('43', 'pending')).toBe(word(pending?.header.number ?? 0))
    expect(await read('42', 'pending')).toBe(word(pending?.header.timestamp ?? 0))
    expect(await read('43', 'latest')).toBe(word(0))
    // The address of a creation follows from the sender's nonce, which is higher at pending.
    expect(await ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x1')
    await chain.stop()
  })

  it('accepts a block by number, hash and EIP-1898 object, and names a missing one', async () => {
    const { ask, chain } = await testNode()
    const [block] = await chain.mine(1)
    const number = async (ref: unknown) => ask('eth_call', { to: NEW }, ref, code(returns('43')))
    expect(await number('0x1')).toBe(word(1))
    expect(await number(block?.hash)).toBe(word(1))
    expect(await number({ blockHash: block?.hash, requireCanonical: true })).toBe(word(1))
    expect(await number({ blockNumber: '0x0' })).toBe(word(0))
    await expect(number('0x99')).rejects.toMatchObject({ code: -32_001 })
  })

  it('rejects another chain id and malformed overrides', async () => {
    const { ask } = await testNode()
    await expect(ask('eth_call', { to: BOB, chainId: '0x1' })).rejects.toMatchObject({ code: -32_602 })
    await expect(ask('eth_call', { to: BOB }, 'latest', { [NEW]: { balance: 5 } })).rejects.toMatchObject({ code: -32_602 })
  })
})

describe('eth_estimateGas', () => {
  it('is exactly 21000 for a plain transfer', async () => {
    const { ask } = await testNode()
    expect(await ask('eth_estimateGas', { from: ALICE, to: BOB, value: '0x1' })).toBe('0x5208')
    expect(await ask('eth_estimateGas', { from: ALICE, to: BOB, value: '0x1', gasPrice: '0x77359400' }, 'pending')).toBe('0x5208')
  })

  it('of a transfer includes its access list and its authorizations', async () => {
    const accessList = [{ address: BOB, storageKeys: [word(0)] }]
    const authorizationList = [{ chainId: '0x7a69', address: NEW, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }]
    for (const compat of ['default', 'anvil'] as const) {
      const { ask } = await testNode({ compat })
      const estimate = async (more: object) => Number(await ask('eth_estimateGas', { from: ALICE, to: BOB, value: '0x1', ...more }))
      expect(await estimate({ accessList })).toBeGreaterThanOrEqual(21_000 + 2_400 + 1_900)
      expect(await estimate({ authorizationList })).toBeGreaterThanOrEqual(21_000 + 25_000)
      expect(await estimate({ accessList: [] })).toBe(21_000)
      await ask('eth_sendTransaction', { from: ALICE, to: BOB, value: '0x1', accessList })
    }
  })

  it('is sufficient and within 1.5 % of the minimum', async () => {
    const { ask } = await testNode()
    const call = { from: ALICE, to: NEW, data: word(1) }
    const estimate = BigInt((await ask('eth_estimateGas', call, 'latest', code(WRITES_SLOT_0))) as string)
    const works = async (gas: bigint) =>
      ask('eth_call', { ...call, gas: Hex.fromQuantity(gas) }, 'latest', code(WRITES_SLOT_0)).then(
        () => true,
        () => false,
      )
    expect(await works(estimate)).toBe(true)
    expect(await works((estimate * 985n) / 1_000n)).toBe(false)
  })

  it('includes the calldata floor of EIP-7623', async () => {
    const { ask } = await testNode()
    const estimate = BigInt((await ask('eth_estimateGas', { from: ALICE, to: BOB, data: `0x${'ff'.repeat(1_000)}` })) as string)
    expect(estimate).toBeGreaterThanOrEqual(21_000n + 40_000n)
    expect(estimate).toBeLessThan(62_000n)
  })

  it('names an insufficient gas limit', async () => {
    const { ask } = await testNode()
    const call = { from: ALICE, to: NEW, gas: '0x5300', data: word(1) }
    await expect(ask('eth_estimateGas', call, 'latest', code(WRITES_SLOT_0))).rejects.toMatchObject({
      code: -32_000,
      message: 'gas required exceeds allowance (21248)',
    })
    await expect(ask('eth_estimateGas', { from: ALICE, to: NEW, gas: '0xf4240' }, 'latest', code(FOREVER))).rejects.toThrow(
      'gas required exceeds allowance',
    )
  })

  it('is capped by the balance of the sender at the given price', async () => {
    const { ask } = await testNode()
    const poor = { balance: Hex.fromQuantity(25_000n * 2_000_000_000n) }
    const overrides = { ...code(WRITES_SLOT_0), [BOB]: poor }
    const call = { from: BOB, to: NEW, data: word(1), gasPrice: '0x77359400' }
    await expect(ask('eth_estimateGas', call, 'latest', overrides)).rejects.toThrow('gas required exceeds allowance (25000)')
    await expect(ask('eth_estimateGas', { from: NEW, to: BOB, value: '0x1' })).rejects.toThrow('insufficient funds')
  })

  it('includes the cost of an authorization', async () => {
    const { ask } = await testNode()
    const authorizationList = [{ chainId: '0x7a69', address: BOB, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }]
    const estimate = BigInt((await ask('eth_estimateGas', { from: ALICE, to: BOB, authorizationList })) as string)
    expect(estimate).toBeGreaterThanOrEqual(46_000n)
  })

  it('reads the pending state', async () => {
    const { ask, send, clock, chain } = await testNode({ cadence: PRECONF })
    await send({ to: NEW, value: 10n })
    await clock.advance(200)
    const call = { from: NEW, to: BOB, value: '0x5' }
    expect(await ask('eth_estimateGas', call, 'pending')).toBe('0x5208')
    expect(await ask('eth_estimateGas', call)).toBe('0x5208')
    await expect(ask('eth_estimateGas', call, 'latest')).rejects.toThrow('insufficient funds')
    await chain.stop()
  })
})

describe('eth_createAccessList', () => {
  it('lists the slots of the target, and omits the sender, precompiles and a target without slots', async () => {
    const { ask } = await testNode()
    const list = await ask('eth_createAccessList', { from: ALICE, to: NEW, data: word(1) }, 'latest', code(WRITES_SLOT_0))
    expect(list).toMatchObject({ accessList: [{ address: NEW, storageKeys: [word(0)] }] })
    expect(await ask('eth_createAccessList', { from: ALICE, to: BOB, value: '0x1' })).toEqual({ accessList: [], gasUsed: '0x5208' })
  })

  it('returns the list and the error of a call that reverts', async () => {
    const { ask } = await testNode()
    // Reads slot 0, then reverts.
    const list = await ask('eth_createAccessList', { to: NEW }, 'latest', code('0x60005460006000fd'))
    expect(list).toMatchObject({ accessList: [{ address: NEW, storageKeys: [word(0)] }], error: 'execution reverted' })
  })

  it('rejects a call that touches one more slot with every list', async () => {
    const { ask } = await testNode()
    // Reads consecutive slots until the first cold one, which costs more than 1,000 gas.
    const chases = '0x5f5b5a8154505a90036103e8106016576001016001565b00'
    await expect(ask('eth_createAccessList', { to: NEW }, 'latest', code(chases))).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('still grew after'),
    })
  })

  it('does not increase the gas of the call', async () => {
    const node: TestNode = await testNode({ cadence: MANUAL })
    // Calls BOB, whose address is cold, and reads a slot.
    const caller = `0x600054506000600060006000600073${BOB.slice(2)}5af15000`
    const call = { from: ALICE, to: NEW }
    const { accessList, gasUsed } = (await node.ask('eth_createAccessList', call, 'latest', code(caller))) as {
      accessList: { address: string }[]
      gasUsed: string
    }
    expect(accessList.map(({ address }) => address).sort()).toEqual([BOB, NEW].sort())
    const simulated = (await node.ask('eth_simulateV1', {
      blockStateCalls: [{ stateOverrides: code(caller), calls: [{ ...call, accessList }] }],
    })) as { calls: { gasUsed: string }[] }[]
    expect(simulated[0]?.calls[0]?.gasUsed).toBe(gasUsed)
  })
})
