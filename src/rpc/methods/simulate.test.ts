import { describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../../eth/index.ts'
import { ALICE, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const NEW = Address.from('0x00000000000000000000000000000000c0ffee00')
const BLOCKHASH_OF_DATA = '0x6000354060005260206000f3'
const REVERTS = '0x60006000fd'
/** Emits one log without topics. */
const LOGS = '0x60006000a000'

interface Simulated {
  readonly number: string
  readonly timestamp: string
  readonly hash: string
  readonly parentHash: string
  readonly gasUsed: string
  readonly transactions: readonly unknown[]
  readonly calls: readonly {
    readonly status: string
    readonly returnData: string
    readonly gasUsed: string
    readonly logs: readonly { readonly address: string; readonly logIndex: string; readonly blockHash: string }[]
    readonly error?: { readonly code: number; readonly message: string; readonly data?: string }
  }[]
}

function simulate({ ask }: TestNode, blocks: readonly object[], more: object = {}, block = 'latest'): Promise<readonly Simulated[]> {
  return ask('eth_simulateV1', { blockStateCalls: blocks, ...more }, block) as Promise<readonly Simulated[]>
}

function withdrawal(amount: string) {
  return { index: '0x0', validatorIndex: '0x0', address: BOB, amount }
}

/** Overrides of `count` accounts. */
function balances(count: number) {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [Address.fromBigint(0x10000n + BigInt(i)), { balance: '0x1' }]))
}

// Covers cases that the execution-apis files in test/conformance/rpc-compat.test.ts lack.
describe('eth_simulateV1', () => {
  it('carries state from block to block and changes nothing', async () => {
    const node = await testNode()
    const before = node.chain.head.view.head.hash
    const blocks = await simulate(node, [
      { stateOverrides: { [NEW]: { balance: '0xa' } }, calls: [{ from: NEW, to: BOB, value: '0x6' }] },
      { calls: [{ from: BOB, to: NEW, value: '0x2' }] },
    ])
    expect(blocks.map(({ calls }) => calls[0]?.status)).toEqual(['0x1', '0x1'])
    await expect(simulate(node, [{ calls: [{ from: NEW, to: BOB, value: '0x1' }] }])).rejects.toMatchObject({ code: -38_014 })
    expect(node.chain.head.view.head.hash).toBe(before)
    expect(node.bugs).toEqual([])
  })

  it('builds blocks with the hashes of real ones, each on its parent', async () => {
    const node = await testNode()
    const [head] = await node.chain.mine(1)
    const [first, second] = await simulate(node, [{}, {}])
    expect(first?.parentHash).toBe(head?.hash)
    expect(second?.parentHash).toBe(first?.hash)
    expect([first?.number, second?.number]).toEqual(['0x2', '0x3'])
    expect(BigInt(second?.timestamp ?? 0) - BigInt(first?.timestamp ?? 0)).toBe(2n)
  })

  it('fills gaps between block numbers, whose hashes BLOCKHASH returns', async () => {
    const node = await testNode()
    const blocks = await simulate(node, [
      {
        blockOverrides: { number: '0x4' },
        stateOverrides: { [NEW]: { code: BLOCKHASH_OF_DATA } },
        calls: [{ to: NEW, data: Hash.fromBigint(2n) }],
      },
    ])
    expect(blocks.map(({ number }) => number)).toEqual(['0x1', '0x2', '0x3', '0x4'])
    expect(blocks[3]?.calls[0]?.returnData).toBe(blocks[1]?.hash)
  })

  it('returns the error of a failed call and continues', async () => {
    const node = await testNode()
    const [block] = await simulate(node, [
      {
        stateOverrides: { [NEW]: { code: REVERTS }, [BOB]: { code: '0xfe' } },
        calls: [{ to: NEW, gas: '0xffff' }, { to: BOB, gas: '0xffff' }, { to: ALICE }],
      },
    ])
    expect(block?.calls.map(({ status, error }) => [status, error?.code])).toEqual([
      ['0x0', 3],
      ['0x0', -32_015],
      ['0x1', undefined],
    ])
    expect(block?.calls[0]).toMatchObject({ returnData: '0x', error: { message: 'execution reverted', data: '0x' } })
  })

  it('numbers logs across the block and includes ether transfers on request', async () => {
    const node = await testNode()
    const blocks = [
      { stateOverrides: { [NEW]: { code: LOGS }, [BOB]: { balance: '0x5' } }, calls: [{ from: BOB, to: NEW, value: '0x1' }, { to: NEW }] },
    ]
    const [plain] = await simulate(node, blocks)
    expect(plain?.calls.map(({ logs }) => logs.map(({ logIndex }) => logIndex))).toEqual([['0x0'], ['0x1']])
    const [traced] = await simulate(node, blocks, { traceTransfers: true })
    expect(traced?.calls.map(({ logs }) => logs.map(({ logIndex }) => logIndex))).toEqual([['0x0', '0x1'], ['0x2']])
    expect(traced?.calls[0]?.logs[0]).toMatchObject({ address: '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee', blockHash: traced?.hash })
    // Logs of ether transfers are not part of the block.
    expect(traced?.hash).toBe(plain?.hash)
  })

  it('checks nonces, fees and senders under validation only', async () => {
    const node = await testNode()
    const call = { from: ALICE, to: BOB, maxFeePerGas: '0x77359400' }
    const validation = { validation: true }
    expect((await simulate(node, [{ calls: [call, call] }], validation))[0]?.calls).toHaveLength(2)
    await expect(simulate(node, [{ calls: [{ ...call, nonce: '0x7' }] }], validation)).rejects.toMatchObject({ code: -38_011 })
    await expect(simulate(node, [{ calls: [call, { ...call, nonce: '0x0' }] }], validation)).rejects.toMatchObject({ code: -38_010 })
    await expect(simulate(node, [{ calls: [{ from: ALICE, to: BOB }] }], validation)).rejects.toMatchObject({ code: -38_012 })
    expect((await simulate(node, [{ calls: [{ ...call, nonce: '0x7' }] }]))[0]?.calls[0]?.status).toBe('0x1')
    // EIP-3607 is never checked.
    const contract = { stateOverrides: { [NEW]: { code: LOGS, balance: Hex.fromQuantity(10n ** 18n) } }, calls: [{ ...call, from: NEW }] }
    expect((await simulate(node, [contract], validation))[0]?.calls[0]?.status).toBe('0x1')
  })

  it('rejects calls that do not fit a block', async () => {
    const node = await testNode()
    await expect(simulate(node, [{ calls: [{ gas: '0x5208' }], blockOverrides: { gasLimit: '0x5207' } }])).rejects.toMatchObject({
      code: -38_015,
    })
    await expect(simulate(node, [{ calls: [{ to: BOB, gas: '0x5207' }] }])).rejects.toMatchObject({ code: -38_013 })
    await expect(simulate(node, [{ calls: [{ data: `0x${'00'.repeat(49_153)}` }] }])).rejects.toMatchObject({ code: -38_025 })
  })

  it('rejects blocks out of order and too many blocks', async () => {
    const node = await testNode()
    await expect(simulate(node, [])).rejects.toMatchObject({ code: -32_602 })
    await expect(simulate(node, [{ blockOverrides: { number: '0x0' } }])).rejects.toMatchObject({ code: -38_020 })
    await expect(simulate(node, [{ blockOverrides: { time: '0x1' } }])).rejects.toMatchObject({ code: -38_021 })
    await expect(simulate(node, [{ blockOverrides: { number: '0x101' } }])).rejects.toMatchObject({ code: -38_026 })
    await expect(
      simulate(
        node,
        Array.from({ length: 257 }, () => ({})),
      ),
    ).rejects.toMatchObject({ code: -38_026 })
    await expect(simulate(node, [{ calls: Array.from({ length: 5_001 }, () => ({})) }])).rejects.toMatchObject({ code: -38_026 })
  })

  it('runs on the pending state', async () => {
    const node = await testNode({ cadence: PRECONF })
    await node.send({ to: NEW, value: 3n })
    await node.clock.advance(200)
    const spend = [{ calls: [{ from: NEW, to: BOB, value: '0x3' }] }]
    expect((await simulate(node, spend, {}, 'pending'))[0]).toMatchObject({ number: '0x2', calls: [{ status: '0x1' }] })
    await expect(simulate(node, spend)).rejects.toMatchObject({ code: -38_014 })
    await node.chain.stop()
  })

  it.each<[string, number, readonly object[]]>([
    ['a block behind the last timestamp that can be counted', -38_021, [{ blockOverrides: { time: '0x1fffffffffffff' } }, {}]],
    ['a nonce of more than 64 bits', -32_602, [{ stateOverrides: { [BOB]: { nonce: `0x1${'0'.repeat(16)}` } } }]],
    ['a withdrawal of more than 64 bits', -32_602, [{ blockOverrides: { withdrawals: [withdrawal(`0x1${'0'.repeat(16)}`)] } }]],
    ['a call for another chain', -32_602, [{ calls: [{ to: BOB, chainId: '0x1' }] }]],
    ['many overrides carried through many blocks', -38_026, [{ stateOverrides: balances(2_000) }, { blockOverrides: { number: '0x100' } }]],
  ])('rejects %s', async (_, code, blocks) => {
    const node = await testNode()
    await expect(simulate(node, blocks)).rejects.toMatchObject({ code })
    expect(node.bugs).toEqual([])
  })

  it.each([
    ['default', -32_001, -32_602],
    ['geth', -32_000, -32_603],
  ] as const)(
    'has the codes of the profile %s for an unknown block and a nonce that cannot rise',
    async (compat, unknownBlock, nonceMax) => {
      const node = await testNode({ compat })
      await expect(simulate(node, [{}], {}, '0x99')).rejects.toMatchObject({
        code: unknownBlock,
        message: expect.stringContaining('block not found: 0x99'),
      })
      const last = [{ stateOverrides: { [BOB]: { nonce: `0x${'f'.repeat(16)}` } }, calls: [{ from: BOB, to: NEW }] }]
      await expect(simulate(node, last, { validation: true })).rejects.toMatchObject({
        code: nonceMax,
        message: expect.stringContaining('nonce has max value'),
      })
      // As in geth, invalid parameters under every profile.
      const tip = [{ calls: [{ from: ALICE, to: NEW, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }] }]
      await expect(simulate(node, tip)).rejects.toMatchObject({ code: -32_602 })
    },
  )

  it('accepts many overrides in one block, and the largest withdrawal to the account with the largest balance', async () => {
    const node = await testNode()
    expect(await simulate(node, [{ stateOverrides: balances(2_000) }])).toHaveLength(1)
    const rich = { stateOverrides: { [BOB]: { balance: `0x${'f'.repeat(64)}` } } }
    const block = { ...rich, blockOverrides: { withdrawals: [withdrawal(`0x${'f'.repeat(16)}`)] } }
    expect(await simulate(node, [block])).toHaveLength(1)
  })

  it('returns full transactions with their senders', async () => {
    const node = await testNode()
    const [block] = await simulate(node, [{ calls: [{ from: BOB, to: NEW }] }], { returnFullTransactions: true })
    expect(block?.transactions[0]).toMatchObject({ from: BOB, to: NEW, type: '0x2', blockHash: block?.hash, r: '0x0', s: '0x0' })
  })
})
