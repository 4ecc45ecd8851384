import { describe, expect, it } from 'vitest'
import { Address, EMPTY_CODE_HASH, EMPTY_ROOT, Hash, Hex } from '../../eth/index.ts'
import { SLOTS_PER_REQUEST } from '../limits.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, PRECONF, testNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const WETH = '0x4200000000000000000000000000000000000006'
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern)

describe('state under pending', () => {
  it('balance, nonce, code and storage all come from the pre-confirmed state', async () => {
    const node = await testNode({ cadence: PRECONF })
    const wethSlot = async (block: string) => {
      const slots = (await node.ask(
        'eth_getStorageValues',
        { [WETH]: Array.from({ length: 8 }, (_, i) => Hex.fromQuantity(i)) },
        block,
      )) as object
      return JSON.stringify(slots)
    }
    const before = await wethSlot('pending')
    await node.send({ data: LOGGER_INIT_CODE })
    await node.send({ to: BOB, value: 7n, gas: 21_000n })
    await node.clock.advance(200)
    expect(await node.ask('eth_getBalance', BOB, 'pending')).toBe('0x7')
    expect(await node.ask('eth_getBalance', BOB, 'latest')).toBe('0x0')
    expect(await node.ask('eth_getCode', LOGGER, 'pending')).toBe(Hex.fromBytes(LOGGER_INIT_CODE.subarray(12)))
    expect(await node.ask('eth_getCode', LOGGER)).toBe('0x')
    expect(await node.ask('eth_getAccountInfo', LOGGER, 'pending')).toEqual({
      balance: '0x0',
      nonce: '0x1',
      code: Hex.fromBytes(LOGGER_INIT_CODE.subarray(12)),
    })
    expect(await node.ask('eth_getAccountInfo', LOGGER)).toEqual({ balance: '0x0', nonce: '0x0', code: '0x' })
    expect(await node.ask('eth_getAccount', BOB, 'pending')).toEqual({
      balance: '0x7',
      nonce: '0x0',
      codeHash: EMPTY_CODE_HASH,
      storageRoot: EMPTY_ROOT,
    })
    expect(await node.ask('eth_getAccount', BOB, 'latest')).toBeNull()
    expect(await node.ask('eth_getProof', BOB, [], 'pending')).toMatchObject({ balance: '0x7', storageHash: EMPTY_ROOT })
    expect(await node.ask('eth_getProof', BOB, [], 'latest')).toMatchObject({ balance: '0x0' })
    expect(await node.ask('eth_getTransactionCount', ALICE, 'latest')).toBe('0x0')
    expect(await node.ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x2')
    expect(await wethSlot('pending')).toBe(before)
    await node.chain.stop()
  })

  it('the nonce also counts consecutive transactions in the pool', async () => {
    const node = await testNode()
    await node.send({ to: BOB, gas: 21_000n })
    await node.send({ to: BOB, gas: 21_000n })
    await node.send({ to: BOB, gas: 21_000n, nonce: 9n })
    expect(await node.ask('eth_getTransactionCount', ALICE, 'pending')).toBe('0x2')
    expect(await node.ask('eth_getTransactionCount', ALICE, 'latest')).toBe('0x0')
    expect(await node.ask('txpool_status')).toEqual({ pending: '0x2', queued: '0x1' })
  })
})

describe('state of the past', () => {
  it('is returned by number, tag, hash and EIP-1898 object', async () => {
    const node = await testNode()
    await node.send({ to: BOB, value: 1n, gas: 21_000n })
    await node.chain.mine(1)
    await node.send({ to: BOB, value: 1n, gas: 21_000n })
    await node.chain.mine(1)
    const { hash } = node.chain.head.view.byNumber(1)!
    const balances = ['0x1', hash, { blockNumber: '0x1' }, { blockHash: hash, requireCanonical: true }, 'latest', undefined, 'earliest']
    const answers = await Promise.all(balances.map((block) => node.ask('eth_getBalance', BOB, block)))
    expect(answers).toEqual(['0x1', '0x1', '0x1', '0x1', '0x2', '0x2', '0x0'])
  })

  it('of an unknown block is an error that names the block', async () => {
    const node = await testNode()
    const unknown = Hash.fromBigint(1n)
    await expect(node.ask('eth_getBalance', BOB, '0x5')).rejects.toMatchObject({
      code: -32001,
      message: 'block not found: 0x5, the latest is 0x0',
    })
    await expect(node.ask('eth_getCode', BOB, unknown)).rejects.toMatchObject({ code: -32001, message: `block not found: ${unknown}` })
  })

  it('that is pruned returns 4444', async () => {
    const node = await testNode({ historyBlocks: 4 })
    await node.chain.mine(10)
    await expect(node.ask('eth_getBalance', BOB, '0x1')).rejects.toMatchObject({ code: 4444 })
    expect(await node.ask('eth_getBalance', BOB, '0x9')).toBe('0x0')
    expect(await node.ask('eth_getBlockByNumber', '0x1', false)).toMatchObject({ number: '0x1' })
    expect(await node.ask('eth_capabilities')).toMatchObject({
      head: { number: '0xa' },
      blocks: { oldestBlock: '0x0' },
      state: { oldestBlock: '0x6' },
    })
  })
})

describe('slots', () => {
  it('eth_getStorageAt returns 32 bytes for keys of any length', async () => {
    const node = await testNode()
    const name = await node.ask('eth_getStorageAt', WETH, '0x0', 'latest')
    expect(name).toMatch(/^0x[0-9a-f]{64}$/)
    for (const key of [Hash.zero, '0', '00', '0x', '0'.repeat(64)]) expect(await node.ask('eth_getStorageAt', WETH, key)).toBe(name)
    for (const key of ['', 'asdf', '0'.repeat(65)])
      await expect(node.ask('eth_getStorageAt', WETH, key)).rejects.toMatchObject({ code: -32602 })
    await expect(node.ask('eth_getStorageAt', WETH, '0xasdf')).rejects.toMatchObject({
      code: -32602,
      message: matching(/argument 1 \(slot\): invalid hex in storage key/),
    })
  })

  it('eth_getStorageValues rejects an empty request and one above the limit', async () => {
    const node = await testNode()
    const many = new Array<string>(SLOTS_PER_REQUEST).fill('0x0')
    await expect(node.ask('eth_getStorageValues', {})).rejects.toMatchObject({ code: -32602, message: matching(/empty request/) })
    await expect(node.ask('eth_getStorageValues', { [WETH]: [] })).rejects.toMatchObject({ code: -32602 })
    await expect(node.ask('eth_getStorageValues', { [WETH]: many, [BOB]: ['0x0'] })).rejects.toMatchObject({
      code: -32602,
      message: matching(/too many slots/),
    })
    expect(await node.ask('eth_getStorageValues', { [WETH]: many })).toHaveProperty(WETH)
  })

  it('eth_getProof returns keys in the format of the request: 32 bytes or a quantity', async () => {
    const node = await testNode()
    const whole = Hash.fromBigint(1n)
    const proof = await node.ask('eth_getProof', BOB, ['0x00', whole], 'latest')
    expect(proof).toMatchObject({
      address: BOB,
      balance: '0x0',
      nonce: '0x0',
      storageProof: [
        { key: '0x0', value: '0x0', proof: [] },
        { key: whole, value: '0x0', proof: [] },
      ],
    })
  })
})
