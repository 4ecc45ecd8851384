import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import { ALICE, PRECONF, testNode } from '../node.fixture.ts'

const STRANGER = Address.from('0x00000000000000000000000000000000000a11ce')

describe('dropTransaction', () => {
  it.each([
    ['anvil_dropTransaction', (hash: string) => hash, null],
    ['ganache_dropTransaction', (hash: string) => hash, null],
    ['hardhat_dropTransaction', () => true, false],
  ])('%s returns whether the transaction was in the pool', async (name, dropped, absent) => {
    const { ask, send } = await testNode()
    const hash = await send({ to: STRANGER })
    expect(await ask(name, hash)).toBe(dropped(hash))
    expect(await ask(name, hash)).toBe(absent)
    expect(await ask('eth_getTransactionByHash', hash)).toBeNull()
  })

  it('cannot drop pre-confirmed and sealed transactions', async () => {
    const { ask, send, clock } = await testNode({ cadence: PRECONF })
    const hash = await send({ to: STRANGER })
    await clock.advance(200)
    for (const isSealed of [false, true]) {
      if (isSealed) await ask('evm_mine')
      expect(await ask('anvil_dropTransaction', hash)).toBeNull()
      await expect(ask('hardhat_dropTransaction', hash)).rejects.toMatchObject({
        code: -32_602,
        message: `Transaction ${hash} cannot be dropped because it's already mined`,
      })
      expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    }
  })
})

describe('a removal during a seal of several transactions', () => {
  it.each([
    ['anvil_dropTransaction', (hash: string) => [hash], null],
    ['ganache_dropTransaction', (hash: string) => [hash], null],
    ['hardhat_dropTransaction', (hash: string) => [hash], expect.objectContaining({ code: -32_602 })],
    ['anvil_dropAllTransactions', () => [], null],
    ['debug_clearTxpool', () => [], null],
    ['anvil_removePoolTransactions', () => [ALICE], null],
  ] as const)('%s follows the seal, which keeps its transactions', async (method, params, answer) => {
    const { ask, send, chain } = await testNode()
    const hash = await send({ to: STRANGER })
    const removals: Promise<unknown>[] = []
    chain.head.subscribe(() => {
      if (removals.length === 0) removals.push(ask(method, ...params(hash)).catch((error: unknown) => error))
      // Longer than a time slice, after which the change lets requests run.
      const endMs = performance.now() + 11
      while (performance.now() < endMs);
    })
    await ask('evm_mine')
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    expect(chain.ledger.totals.dropped).toBe(0)
    expect(await Promise.all(removals)).toEqual([answer])
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  })
})

describe('emptying the pool', () => {
  it.each([
    ['anvil', null],
    ['hardhat', true],
  ])('%s_dropAllTransactions', async (family, answer) => {
    const { ask, send } = await testNode()
    await send({ to: STRANGER })
    await send({ to: STRANGER })
    expect(await ask(`${family}_dropAllTransactions`)).toBe(answer)
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('removePoolTransactions removes the transactions of one sender only', async () => {
    const { ask, send, chain } = await testNode()
    await ask('anvil_setBalance', STRANGER, '0xde0b6b3a7640000')
    await ask('anvil_autoImpersonateAccount', true)
    const kept = await ask('eth_sendTransaction', { from: STRANGER, to: ALICE })
    await send({ to: STRANGER })
    await send({ to: STRANGER })
    await ask('anvil_removePoolTransactions', ALICE)
    expect(chain.pool.all().map((tx) => tx.hash)).toEqual([kept])
  })
})

describe('with --compat anvil', () => {
  it('the addresses of the pool are in lower case, and the least gas price is refused on a chain with EIP-1559', async () => {
    const node = await testNode({ compat: 'anvil' })
    await node.send({ to: ALICE, gas: 21_000n })
    for (const method of ['txpool_content', 'txpool_inspect']) {
      expect(Object.keys(((await node.ask(method)) as { pending: object }).pending)).toEqual([ALICE])
    }
    const { pending } = (await node.ask('txpool_inspect')) as { pending: Record<string, Record<string, string>> }
    expect(pending[ALICE]?.['0']).toMatch(new RegExp(`^${ALICE}: `))
    await expect(node.ask('anvil_setMinGasPrice', 5)).rejects.toMatchObject({
      code: -32602,
      message: 'anvil_setMinGasPrice is not supported when EIP-1559 is active',
    })
    expect(node.chain.minGasPrice).toBe(0n)
  })
})
