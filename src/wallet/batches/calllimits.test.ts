import { describe, expect, it, onTestFinished } from 'vitest'
import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import { DELEGATE } from '../delegate.ts'
import { BURNER, creating, deploy, questionKinds, sender, visibleState } from './sender.fixture.ts'
import { ORIGIN, refusal, startNode } from '../wallet.fixture.ts'

// gasLimitOverride is the gas that the callee of a call has, in every path.

const node = await startNode()
/** Logs its gas: `GAS PUSH0 MSTORE PUSH1 32 PUSH0 LOG0 STOP`. */
const GAS_LOGGER = await deploy(node, creating('5a5f5260205fa000'))
const burner = await deploy(node, creating(BURNER))
/** The opcode GAS takes 2 itself. */
const READ = 2n
const LIMITS = [60_000n, 123_456n] as const

const limited = (to: Address, limit: bigint, more: object = {}) => ({
  to,
  ...more,
  capabilities: { gasLimitOverride: { value: Hex.fromQuantity(limit) } },
})

interface Status {
  readonly status: number
  readonly receipts?: readonly { readonly logs: readonly { readonly address: Address; readonly data: Hex }[] }[]
}

/** The gas that the callees logged. */
function gasOf({ receipts = [] }: Status): readonly bigint[] {
  return receipts.flatMap(({ logs }) => logs.flatMap(({ address, data }) => (address === GAS_LOGGER ? [BigInt(data) + READ] : [])))
}

const calls = LIMITS.map((limit) => limited(GAS_LOGGER, limit))

describe('gasLimitOverride', () => {
  it('is the gas of a single call', async () => {
    const { send, settled } = sender(node)
    expect(gasOf(await settled(await send({ calls: calls.slice(0, 1) })))).toEqual([LIMITS[0]])
  })

  it('is the gas of each of several transactions', async () => {
    const { send, settled, bob } = sender(node)
    expect(gasOf(await settled(await send({ from: bob, calls })))).toEqual(LIMITS)
  })

  it('is the gas of each call of an atomic batch, with and without value', async () => {
    const { send, settled } = sender(node)
    const paying = [calls[0], limited(GAS_LOGGER, 50_000n, { value: '0x1' }), calls[1], { to: GAS_LOGGER }]
    const gas = gasOf(await settled(await send({ atomicRequired: true, calls: paying })))
    expect(gas.slice(0, 3)).toEqual([LIMITS[0], 50_000n, LIMITS[1]])
    expect(gas).toHaveLength(4)
  })

  it('is the gas of each call that a sponsor pays for', async () => {
    const own = await createPocketchain({ cadence: 'instant' })
    onTestFinished(() => own.close())
    const server = await own.listen({ tlsFolder: null })
    const { wallet } = own
    const [alice] = own.accounts.map(({ address }) => address) as [Address] // a node has ten
    wallet.approvals.setPolicy('approve')
    wallet.sites.connect(ORIGIN, [alice])
    const ask = (method: string, ...params: readonly unknown[]) => wallet.provider(ORIGIN).request({ method, params })
    await own.request({ method: 'anvil_setCode', params: [GAS_LOGGER, '0x5a5f5260205fa000'] })
    for (const some of [calls.slice(0, 1), calls]) {
      const batch = { version: '2.0.0', chainId: '0x7a69', atomicRequired: true, calls: some }
      const { id } = (await ask('wallet_sendCalls', { ...batch, capabilities: { paymasterService: { url: server.paymaster?.url } } })) as {
        id: string
      } // EIP-5792
      const status = (await ask('wallet_getCallsStatus', id)) as Status // EIP-5792
      expect(status.status).toBe(200)
      expect(gasOf(status)).toEqual(LIMITS.slice(0, some.length))
    }
  })

  it('ends a call that needs more: alone among separate transactions, with all calls of an atomic batch, which names it', async () => {
    const { wallet, send, settled, bob, alice } = sender(node)
    const carol = node.accounts[3]?.address
    const some = [{ to: bob, value: '0x1' }, limited(burner, 30_000n), { to: bob, value: '0x1' }]
    const apart = await settled(await send({ from: carol, calls: some }))
    expect(apart).toMatchObject({
      status: 600,
      capabilities: { status: { calls: [{ outcome: 'success' }, { outcome: 'reverted' }, { outcome: 'success' }] } },
    })
    const kept = wallet.approvals.subscribe((event) => {
      if (event.type === 'asked' && event.question.kind === 'batch')
        expect(event.question.preview).toMatchObject({ status: 'reverted', failedCall: 1 })
    })
    onTestFinished(kept)
    const { status, capabilities } = await settled(await send({ from: alice, atomicRequired: true, calls: some }))
    expect(status).toBe(500)
    expect(capabilities.status.message).toMatch(/^call 2 failed, so that none had an effect: /)
    expect(capabilities.status.calls[1]).toMatchObject({ outcome: 'reverted', failure: { data: '0x' } })
  })

  it('does not take gas from the calls after it', async () => {
    const { send, settled } = sender(node)
    const greedy = limited(GAS_LOGGER, 40_000n)
    const gas = gasOf(await settled(await send({ atomicRequired: true, calls: [greedy, calls[1], greedy, calls[0]] })))
    expect(gas).toEqual([40_000n, LIMITS[1], 40_000n, LIMITS[0]])
  })
})

describe('an account whose code cannot limit the gas of a call', () => {
  /** The delegate of earlier versions. Its code is not in the genesis any more; in the mode without limits it equals the code of the present one. */
  const EARLIER = '0xb405a0288c0ad64b48365bd23f6480f55cb68d1f' as Address // 20 bytes

  it('does not report the capability and is refused with 5700; nothing changes', async () => {
    const mine = sender(node)
    const account = node.accounts[5]?.address as Address // a node has ten
    const code = await node.request({ method: 'eth_getCode', params: [DELEGATE.address, 'latest'] })
    await node.request({ method: 'anvil_setCode', params: [EARLIER, code] })
    await node.request({ method: 'anvil_setCode', params: [account, Delegation.text(EARLIER)] })
    const capabilities = await mine.ask<Record<string, unknown>>('wallet_getCapabilities', account)
    expect(capabilities).toMatchObject({
      '0x0': { gasLimitOverride: { supported: false } },
      '0x7a69': { gasLimitOverride: { supported: false }, atomic: { status: 'supported' } },
    })
    expect(await mine.ask('wallet_getCapabilities', mine.alice)).toMatchObject({ '0x7a69': { gasLimitOverride: { supported: true } } })
    const kinds = questionKinds(mine.wallet)
    const before = await visibleState(node, mine)
    for (const some of [calls, calls.slice(0, 1)]) {
      expect(await refusal(mine.send({ from: account, atomicRequired: true, calls: some }))).toMatchObject({
        code: 5700,
        message: expect.stringMatching(/^The code of the account cannot limit the gas of one call/),
        data: { capability: 'gasLimitOverride' },
      })
    }
    expect(kinds).toEqual([])
    expect(await visibleState(node, mine)).toEqual(before)
    const optional = calls.map(({ capabilities: { gasLimitOverride }, ...call }) => ({
      ...call,
      capabilities: { gasLimitOverride: { ...gasLimitOverride, optional: true } },
    }))
    expect((await mine.settled(await mine.send({ from: account, atomicRequired: true, calls: optional }))).status).toBe(200)
  })
})
