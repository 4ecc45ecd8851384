import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain } from '../../index.ts'

/** Runtime code that returns block number, then slot 0: `NUMBER 0 MSTORE 0 SLOAD 32 MSTORE 64 0 RETURN`. */
const CODE = '0x4360005260005460205260406000f3'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const SLOT = `0x${'0'.repeat(64)}`

/** Methods whose results at `latest`, without a block and at `pending` are compared after one transfer that is promised and not sealed. */
const STATE_READS: readonly { readonly method: string; readonly params: readonly unknown[] }[] = [
  { method: 'eth_getBalance', params: [BOB] },
  { method: 'eth_getTransactionCount', params: ['alice'] },
  { method: 'eth_getCode', params: ['created'] },
  { method: 'eth_getAccountInfo', params: ['alice'] },
  { method: 'eth_getStorageAt', params: ['created', '0x0'] },
  { method: 'eth_getStorageValues', params: [{ created: ['0x0'] }] },
  { method: 'eth_call', params: [{ to: 'created' }] },
  { method: 'eth_estimateGas', params: [{ to: 'created', from: 'alice' }] },
  { method: 'eth_createAccessList', params: [{ to: 'created', from: 'alice' }] },
  { method: 'debug_traceCall', params: [{ to: 'created', from: 'alice' }] },
]

describe.each(['sealed', 'promised'] as const)('with --latest %s', (latest) => {
  let node: Pocketchain
  let names: Readonly<Record<string, string>>
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const named = (params: readonly unknown[]): readonly unknown[] =>
    JSON.parse(JSON.stringify(params), (_, value: unknown) => {
      if (typeof value === 'string') return names[value] ?? value
      if (value === null || typeof value !== 'object' || !('created' in value)) return value
      return { [names['created']!]: value.created }
    }) as readonly unknown[]

  beforeAll(async () => {
    node = await createPocketchain({ clock: 'manual', latest })
    const alice = node.accounts[0]!.address
    await ask('pocketchain_tick', 2_000)
    // Init code that stores 7 in slot 0 and returns CODE.
    const init = `0x6007600055600f6011600039600f6000f3${CODE.slice(2)}`
    const hash = await ask('eth_sendTransaction', { from: alice, data: init })
    await ask('eth_sendTransaction', { from: alice, to: BOB, value: '0x1' })
    await ask('pocketchain_tick', 200)
    const { contractAddress } = (await ask('eth_getTransactionReceipt', hash)) as { readonly contractAddress: string }
    names = { alice, created: contractAddress }
  })
  afterAll(() => node.close())

  it.each(STATE_READS)('$method reads that state at latest and without a block', async ({ method, params }) => {
    const pending = await ask(method, ...named(params), 'pending')
    const sealed = await ask(method, ...named(params), await ask('eth_blockNumber'))
    expect(pending).not.toEqual(sealed)
    const expected = latest === 'promised' ? pending : sealed
    expect(await ask(method, ...named(params), 'latest')).toEqual(expected)
    // eth_estimateGas without a block estimates on the pending one in both.
    expect(await ask(method, ...named(params))).toEqual(method === 'eth_estimateGas' ? pending : expected)
  })

  it('eth_simulateV1 builds on that block', async () => {
    const blocks = async (...block: readonly unknown[]) =>
      ask('eth_simulateV1', { blockStateCalls: [{ calls: [{ to: names['created'] }] }] }, ...block)
    const [pending, sealed] = [await blocks('pending'), await blocks('0x1')]
    expect(pending).not.toEqual(sealed)
    expect(await blocks('latest')).toEqual(latest === 'promised' ? pending : sealed)
    expect(await blocks()).toEqual(latest === 'promised' ? pending : sealed)
  })

  it('blocks, logs, proofs and block numbers stay sealed', async () => {
    expect(await ask('eth_blockNumber')).toBe('0x1')
    expect(await ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ number: '0x1' })
    expect(await ask('eth_getProof', BOB, [SLOT], 'latest')).toEqual(await ask('eth_getProof', BOB, [SLOT], '0x1'))
    expect(await ask('eth_getBalance', BOB, '0x1')).toBe('0x21e19e0c9bab2400000')
  })

  it('automine is reported accordingly', async () => {
    expect(await ask('hardhat_getAutomine')).toBe(latest === 'promised')
  })

  it('a nonce of the sealed state is refused, with advice where that was read at latest', async () => {
    const request = { from: names['alice'], to: BOB, nonce: '0x1' }
    const before = await ask('eth_getBlockByNumber', 'pending', true)
    const advice = " (2 of them are promised, not sealed), tx nonce 1; read the nonce at 'pending', or start with --latest promised"
    await expect(ask('eth_sendTransaction', request)).rejects.toMatchObject({
      code: -32000,
      message: `nonce too low: next nonce 2${latest === 'promised' ? ', tx nonce 1' : advice}`,
    })
    expect(await ask('eth_getBlockByNumber', 'pending', true)).toEqual(before)
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('a nonce that was used before the last sealed block gets no advice', async () => {
    await ask('pocketchain_tick', 2_000)
    await expect(ask('eth_sendTransaction', { from: names['alice'], to: BOB, nonce: '0x0' })).rejects.toMatchObject({
      message: 'nonce too low: next nonce 2, tx nonce 0',
    })
  })
})
