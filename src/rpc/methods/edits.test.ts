import { describe, expect, it } from 'vitest'
import type { HeadEvent } from '../../chain/index.ts'
import { Address, Hash } from '../../eth/index.ts'
import { ALICE, PRECONF, testNode } from '../node.fixture.ts'

const STRANGER = Address.from('0x00000000000000000000000000000000000a11ce')
const OTHER = '0x00000000000000000000000000000000000b0b00'
const MOST = `0x${'f'.repeat(64)}`
const WORD = `0x${'beef'.padStart(64, '0')}`

describe('balances', () => {
  it('accepts wei as quantity, number and decimal text', async () => {
    const { ask } = await testNode()
    for (const wei of ['0x2a', 42, '42']) {
      await ask('anvil_setBalance', STRANGER, '0x1')
      expect(await ask('anvil_setBalance', STRANGER, wei)).toBeNull()
      expect(await ask('eth_getBalance', STRANGER)).toBe('0x2a')
    }
  })

  it('adds, and saturates at 2^256 - 1', async () => {
    const { ask } = await testNode()
    await ask('anvil_setBalance', STRANGER, '0x5')
    await ask('anvil_addBalance', STRANGER, '0x5')
    expect(await ask('eth_getBalance', STRANGER)).toBe('0xa')
    await ask('anvil_addBalance', STRANGER, MOST)
    expect(await ask('eth_getBalance', STRANGER)).toBe(MOST)
  })

  it('does not stop blocks when the fee recipient has the largest balance', async () => {
    const { ask, chain, send } = await testNode()
    await ask('anvil_setBalance', chain.coinbase, MOST)
    const hash = await send({ to: STRANGER, gas: 21_000n })
    await ask('anvil_mine')
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    expect(await ask('eth_getBalance', chain.coinbase)).toBe(MOST)
  })

  it("accepts one or many accounts under tenderly's method names", async () => {
    const { ask } = await testNode()
    await ask('tenderly_setBalance', STRANGER, '0x5')
    await ask('tenderly_setBalance', [STRANGER, OTHER], '0x6')
    await ask('tenderly_addBalance', [STRANGER, OTHER, OTHER], '0x1')
    expect(await ask('eth_getBalance', STRANGER)).toBe('0x7')
    expect(await ask('eth_getBalance', OTHER)).toBe('0x8')
  })
})

describe('accounts', () => {
  it.each([
    ['evm_setAccountBalance', ['0x2a'], 'eth_getBalance', [], '0x2a'],
    ['evm_setAccountNonce', ['0x2a'], 'eth_getTransactionCount', [], '0x2a'],
    ['evm_setAccountCode', ['0xc0de'], 'eth_getCode', [], '0xc0de'],
    ['evm_setAccountStorageAt', ['0x2a', WORD], 'eth_getStorageAt', ['0x2a'], WORD],
    ['hardhat_setBalance', ['0x2a'], 'eth_getBalance', [], '0x2a'],
    ['hardhat_setNonce', ['0x2a'], 'eth_getTransactionCount', [], '0x2a'],
    ['hardhat_setCode', ['0xc0de'], 'eth_getCode', [], '0xc0de'],
    ['hardhat_setStorageAt', ['0x2a', WORD], 'eth_getStorageAt', ['0x2a'], WORD],
    ['anvil_setStorageAt', [42, WORD], 'eth_getStorageAt', ['0x2a'], WORD],
  ])('%s answers true', async (name, values, getter, keys, expected) => {
    const { ask } = await testNode()
    expect(await ask(name, STRANGER, ...values)).toBe(true)
    expect(await ask(getter, STRANGER, ...keys, 'latest')).toBe(expected)
    expect(await ask(getter, STRANGER, ...keys, 'pending')).toBe(expected)
  })

  it('accept code and a storage word without 0x, as anvil does', async () => {
    const { ask } = await testNode()
    const word = '10'.padStart(64, '0')
    await ask('anvil_setCode', STRANGER, 'c0de')
    await ask('anvil_setStorageAt', STRANGER, '0x2a', word)
    expect(await ask('eth_getCode', STRANGER)).toBe('0xc0de')
    expect(await ask('eth_getStorageAt', STRANGER, '0x2a')).toBe(`0x${word}`)
  })

  it('a slot is cleared by 0x, as in Ganache', async () => {
    const { ask } = await testNode()
    await ask('evm_setAccountStorageAt', STRANGER, '0x5', WORD)
    expect(await ask('evm_setAccountStorageAt', STRANGER, '0x5', '0x')).toBe(true)
    expect(await ask('eth_getStorageAt', STRANGER, '0x5', 'latest')).toBe(Hash.zero)
  })

  it('an account set to zero is removed: the next block has the previous state root', async () => {
    const [plain, edited] = await Promise.all([testNode(), testNode()])
    await edited.ask('anvil_setBalance', STRANGER, '0x5')
    await edited.ask('anvil_setStorageAt', OTHER, '0x0', '0x1')
    await edited.ask('anvil_setStorageAt', OTHER, '0x0', '0x0')
    await edited.ask('anvil_setBalance', STRANGER, '0x0')
    await Promise.all([plain.ask('evm_mine'), edited.ask('evm_mine')])
    expect(edited.chain.head.view.head.header.stateRoot).toBe(plain.chain.head.view.head.header.stateRoot)
  })

  it('the state root includes an account that has only storage', async () => {
    const [plain, edited] = await Promise.all([testNode(), testNode()])
    await edited.ask('anvil_setStorageAt', OTHER, '0x0', WORD)
    await Promise.all([plain.ask('evm_mine'), edited.ask('evm_mine')])
    expect(await edited.ask('eth_getStorageAt', OTHER, '0x0')).toBe(WORD)
    expect(edited.chain.head.view.head.header.stateRoot).not.toBe(plain.chain.head.view.head.header.stateRoot)
  })

  it('an increased nonce removes transactions with lower nonces from the pool', async () => {
    const { ask, send, chain } = await testNode()
    await send({ to: STRANGER })
    const second = await send({ to: STRANGER })
    await ask('anvil_setNonce', ALICE, '0x1')
    expect(chain.pool.all().map((tx) => tx.hash)).toEqual([second])
  })
})

describe('an edit under preconf', () => {
  it('seals the pending block, is announced once, and opens a new one', async () => {
    const { ask, send, clock, chain } = await testNode({ cadence: PRECONF })
    const hash = await send({ to: STRANGER, value: 1n })
    await clock.advance(200)
    const kinds: string[] = []
    chain.head.subscribe((event) => kinds.push(nameOf(event)))
    await ask('anvil_setBalance', STRANGER, '0x2a')
    expect(kinds).toEqual(['sealed', 'edit', 'flashblock'])
    expect(chain.head.view.byNumber(1)?.transactions[1]?.hash).toBe(hash)
    expect(chain.head.view.pending?.header.number).toBe(2)
    expect(await ask('eth_getBalance', STRANGER, 'pending')).toBe('0x2a')
    await clock.advance(2_000)
    expect(await ask('eth_getBalance', STRANGER, 'latest')).toBe('0x2a')
  })

  it('retracts a block that holds deposits only', async () => {
    const { ask, chain } = await testNode({ cadence: PRECONF })
    const kinds: string[] = []
    chain.head.subscribe((event) => kinds.push(nameOf(event)))
    await ask('anvil_setBalance', STRANGER, '0x2a')
    expect(kinds).toEqual(['rewind', 'edit', 'flashblock'])
    expect(chain.head.view.head.header.number).toBe(0)
  })
})

function nameOf(event: HeadEvent): string {
  return event.kind !== 'block' ? event.kind : event.sealed ? 'sealed' : 'flashblock'
}
