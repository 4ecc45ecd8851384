import { describe, expect, it } from 'vitest'
import { Address, Delegation } from '../../eth/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { refusal, startNode } from '../wallet.fixture.ts'
import { sender } from './sender.fixture.ts'
import type { Sender } from './sender.fixture.ts'

const node = await startNode()
const real = await startNode({ chainId: 8453 })

const downgrade = ({ wallet }: Sender, ...params: unknown[]): Promise<unknown> =>
  wallet.control.request({ method: 'pocketchain_downgradeAccount', params })

const codeOf = (address: Address): Promise<unknown> => node.request({ method: 'eth_getCode', params: [address, 'pending'] })

async function upgraded(): Promise<Sender> {
  const mine = sender(node, { further: [{ ...embeddedChain(real), isEmbedded: false }] })
  const calls = [{ to: mine.bob, value: '0x1' }, { to: mine.bob }]
  expect(await mine.settled(await mine.send({ atomicRequired: true, calls }))).toMatchObject({ status: 200, atomic: true })
  expect(Delegation.of(Buffer.from(String(await codeOf(mine.alice)).slice(2), 'hex'))).toBe(DELEGATE.address)
  return mine
}

describe('pocketchain_downgradeAccount', () => {
  it('removes the code of an upgraded account, which may be upgraded again', async () => {
    const mine = await upgraded()
    const hash = await downgrade(mine, mine.alice)
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1', type: '0x4' })
    expect(await codeOf(mine.alice)).toBe('0x')
    const capabilities = await mine.ask('wallet_getCapabilities', mine.alice, ['0x7a69'])
    expect(capabilities).toMatchObject({ '0x7a69': { atomic: { status: 'ready' } } })
    expect(mine.errors).toEqual([])
  })

  it('signs for the requested chain only', async () => {
    const mine = await upgraded()
    const hash = await downgrade(mine, mine.alice, '0x7a69')
    const { authorizationList } = (await node.request({ method: 'eth_getTransactionByHash', params: [hash] })) as Record<string, unknown> // it was just sent
    expect(authorizationList).toMatchObject([{ chainId: '0x7a69', address: Address.zero }])
  })

  it.each([
    ['an account without code', -32602, 'not-upgraded', (mine: Sender) => [mine.bob]],
    ['an account that the wallet lacks', 4100, 'unknown-account', () => [`0x${'12'.repeat(20)}`]],
    ['a dev account on a real chain', 4100, 'dev-account-on-real-chain', (mine: Sender) => [mine.alice, '0x2105']],
    ['a chain that the wallet does not have', -32602, 'unknown-chain', (mine: Sender) => [mine.alice, '0x5']],
  ])('rejects %s with %d, and sends nothing', async (_, code, reason, params) => {
    const mine = sender(node, { further: [{ ...embeddedChain(real), isEmbedded: false }] })
    const before = await node.request({ method: 'eth_getTransactionCount', params: [mine.alice, 'pending'] })
    expect(await refusal(downgrade(mine, ...params(mine)))).toMatchObject({ code, data: { reason } })
    expect(await node.request({ method: 'eth_getTransactionCount', params: [mine.alice, 'pending'] })).toBe(before)
  })

  it('is not available to apps', async () => {
    const mine = sender(node)
    expect(await refusal(mine.ask('pocketchain_downgradeAccount', mine.alice))).toMatchObject({ code: 4200 })
  })
})
