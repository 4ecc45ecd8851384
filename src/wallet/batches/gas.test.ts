import { encodeFunctionData } from 'viem'
import { describe, expect, it } from 'vitest'
import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { contracts } from '../preview/contracts.fixture.ts'
import { DELEGATE } from '../delegate.ts'
import { estimateGas, intrinsicGas } from './gas.ts'
import { BURNER, creating, deploy, sender } from './sender.fixture.ts'
import { startNode } from '../wallet.fixture.ts'

const node = await startNode()
const chain = embeddedChain(node)
const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten
const { Coin, Taker } = contracts()
const coin = await deploy(node, `${Coin.bytecode}${words(0x60, 0xa0, 18)}${text('Coin')}${text('COIN')}`)
const taker = await deploy(node, Taker.bytecode)
const approve = encodeFunctionData({ abi: Coin.abi, functionName: 'approve', args: [taker, 5n] })
const take = encodeFunctionData({ abi: Taker.abi, functionName: 'take', args: [coin, 5n] })
const APPROVE_AND_TAKE = [
  { to: coin, data: approve },
  { to: taker, data: take },
]

describe('gas of a batch', () => {
  it.each([
    ['one after the other', false],
    ['as one', true],
  ])('suffices for calls that depend on each other, %s', async (_, atomicRequired) => {
    const { send, settled } = sender(node)
    const { status, receipts } = await settled(await send({ atomicRequired, calls: APPROVE_AND_TAKE }))
    expect(status).toBe(200)
    const signatures = (receipts ?? []).flatMap(({ logs }) => logs.map(({ topics }) => topics[0]))
    expect(signatures, 'an approval and a transfer').toHaveLength(2)
    await node.request({ method: 'anvil_setCode', params: [alice, '0x'] })
  })

  it('is the gasLimitOverride of a call plus intrinsic gas', async () => {
    const calls = [{ to: coin, value: 0n, data: Hex.toBytes(approve), gasLimitOverride: 77_777n }]
    const { limits } = await estimateGas(chain, alice, calls, { kind: 'single' })
    expect(limits).toEqual([77_777n + intrinsicGas(calls[0]!)])
  })

  it('of an atomic batch changes by the gasLimitOverride of one call', async () => {
    const calls = [approve, take].map((data, i) => ({ to: [coin, taker][i]!, value: 0n, data: Hex.toBytes(data), gasLimitOverride: null }))
    const execution = { kind: 'delegated', delegate: DELEGATE.address, upgrade: { before: null, deploys: false } } as const
    const total = async (gasLimitOverride: bigint | null) => {
      const { limits } = await estimateGas(chain, alice, [calls[0]!, { ...calls[1]!, gasLimitOverride }], execution)
      return limits[0] ?? 0n
    }
    const [found, much, more] = [await total(null), await total(500_000n), await total(563_000n)]
    expect(much).toBeGreaterThan(found)
    expect(more - much).toBe(64_000n)
  })

  it('includes the whole gasLimitOverride of a call that uses all its gas', async () => {
    const burner = await deploy(node, creating(BURNER))
    const { send, settled } = sender(node)
    const calls = [{ to: burner, capabilities: { gasLimitOverride: { value: '0x2710' } } }]
    const { status, receipts } = await settled(await send({ calls }))
    expect(status).toBe(500)
    expect(Number(receipts?.[0]?.gasUsed)).toBe(31_000)
  })

  it('of a call that burns all gas is at most the limit of a transaction', async () => {
    const burner = await deploy(node, creating('fe'))
    const { send, settled } = sender(node)
    const calls = [{ to: bob, value: '0x1' }, { to: burner }, { to: bob, value: '0x1' }]
    expect(await settled(await send({ atomicRequired: true, calls }))).toMatchObject({ status: 500, atomic: true })
  })

  it('is 21,000 for each plain transfer', async () => {
    const calls = [1n, 2n].map((value) => ({ to: bob, value, data: new Uint8Array(), gasLimitOverride: null }))
    expect(await estimateGas(chain, alice, calls, { kind: 'sequential' })).toEqual({ limits: [21_000n, 21_000n], used: 42_000n })
    expect(await estimateGas(chain, alice, calls.slice(1), { kind: 'single' })).toEqual({ limits: [21_000n], used: 21_000n })
  })

  it('is estimated call by call without eth_simulateV1', async () => {
    const rpc = {
      ...chain.rpc,
      request: async (request: { method: string; params?: readonly unknown[] }) =>
        chain.rpc.request(request.method === 'eth_simulateV1' ? { method: 'eth_notThere' } : request),
    }
    const calls = [approve, take].map((data, i) => ({ to: [coin, taker][i]!, value: 0n, data: Hex.toBytes(data), gasLimitOverride: null }))
    const { limits } = await estimateGas({ ...chain, rpc }, alice, calls, { kind: 'sequential' })
    expect(limits[0]).toBeGreaterThan(40_000n)
    expect(limits[1], 'the limit of unmeasurable calls').toBeGreaterThan(500_000n)
  })

  it('before the first opcode follows EIP-2028, EIP-3860 and EIP-7623', () => {
    const data = (size: number, byte: number) => new Uint8Array(size).fill(byte)
    expect(intrinsicGas({ to: bob, data: data(0, 0) })).toBe(21_000n)
    expect(intrinsicGas({ to: bob, data: data(10, 0) })).toBe(21_100n)
    expect(intrinsicGas({ to: bob, data: data(10, 1) })).toBe(21_400n)
    expect(intrinsicGas({ to: null, data: data(33, 0) })).toBe(53_136n)
  })
})

describe('an account', () => {
  it('that has the delegate needs no authorization', async () => {
    await node.request({ method: 'anvil_setCode', params: [bob, Delegation.text(DELEGATE.address)] })
    const calls = [1n, 2n].map((value) => ({ to: alice, value, data: new Uint8Array(), gasLimitOverride: null }))
    const plain = { kind: 'delegated', delegate: DELEGATE.address } as const
    const without = await estimateGas(chain, bob, calls, { ...plain, upgrade: null })
    const withOne = await estimateGas(chain, bob, calls, { ...plain, upgrade: { before: null, deploys: false } })
    expect((withOne.limits[0] ?? 0n) - (without.limits[0] ?? 0n)).toBe(25_000n)
  })
})

function words(...values: readonly number[]): string {
  return values.map((value) => value.toString(16).padStart(64, '0')).join('')
}

/** ABI encoding of a short string: its length and one word. */
function text(value: string): string {
  return words(value.length) + Buffer.from(value).toString('hex').padEnd(64, '0')
}
