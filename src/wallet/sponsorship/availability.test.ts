import { describe, expect, it } from 'vitest'
import { Address, Delegation } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { without } from '../batches/calls.fixture.ts'
import { answering } from '../batches/operations.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { ORIGIN, connected, openWallet, startNode } from '../wallet.fixture.ts'
import { assertSponsorshipEnabled, sponsorshipSupport } from './availability.ts'

const node = await startNode()
const older = await startNode({ chainId: 778, hardfork: 'holocene' })
const [alice, bob, carol] = node.accounts.map(({ address }) => address) as [Address, Address, Address, ...Address[]] // a node has ten
const chain = embeddedChain(node)
const NONE = { unsponsoredChains: [] }

describe('sponsorship of an account', () => {
  it('depends on the chain, the code of the account and the bundler', async () => {
    await node.request({ method: 'anvil_setCode', params: [bob, Delegation.text(DELEGATE.address)] })
    await node.request({ method: 'anvil_setCode', params: [carol, `0xef0100${'ab'.repeat(20)}`] })
    expect(await sponsorshipSupport(chain, alice, NONE)).toBe('supported')
    expect(await sponsorshipSupport(chain, bob, NONE)).toBe('supported')
    expect(await sponsorshipSupport(chain, carol, NONE)).toBe('foreign-delegate')
    expect(await sponsorshipSupport(chain, Address.from('0x4200000000000000000000000000000000000006'), NONE)).toBe('foreign-delegate')
    expect(await sponsorshipSupport(embeddedChain(older), alice, NONE)).toBe('no-eip-7702')
    expect(await sponsorshipSupport({ ...chain, rpc: without(node, 'eth_supportedEntryPoints') }, alice, NONE)).toBe('no-bundler')
    const codeless = answering(node, (method, [address]) => (method === 'eth_getCode' && address === DELEGATE.address ? '0x' : undefined))
    expect(await sponsorshipSupport({ ...chain, rpc: codeless }, alice, NONE)).toBe('no-delegate')
  })

  it('needs no request on an excluded chain', async () => {
    const mute = answering(node, () => Promise.reject(new RpcError(-32000, 'no request is expected')))
    expect(await sponsorshipSupport({ ...chain, rpc: mute }, alice, { unsponsoredChains: [31_337] })).toBe('chain-excluded')
  })

  it('throws if the chain does not respond', async () => {
    const down = answering(node, () => Promise.reject(new RpcError(-32000, 'down', { reason: 'unreachable' })))
    await expect(sponsorshipSupport({ ...chain, rpc: down }, alice, NONE)).rejects.toThrow('down')
  })
})

describe('the settings of sponsorship', () => {
  it('are on by default, without private addresses, and exclude chains by id', () => {
    const { settings } = openWallet(node).wallet
    expect(settings).toMatchObject({ sponsorship: true, unsponsoredChains: [], sponsor: null, allowHttpLoopback: false })
    for (const chainId of [0, -1, 1.5, Number.NaN, '0x1' as unknown as number])
      // a configuration file may have any value
      expect(() => openWallet(node, { unsponsoredChains: [1, chainId] }), String(chainId)).toThrow(RangeError)
  })
})

describe('a request for a sponsor', () => {
  const refusalOf = (wallet: ReturnType<typeof openWallet>['wallet'], origin = ORIGIN): RpcError | null => {
    try {
      assertSponsorshipEnabled(wallet, origin)
      return null
    } catch (error) {
      if (error instanceof RpcError) return error
      throw error
    }
  }

  it('is allowed unless it is switched off', async () => {
    const { wallet } = openWallet(node)
    await connected(wallet)
    expect(refusalOf(wallet)).toBeNull()
    wallet.sites.setSponsorship(false, ORIGIN)
    const off = { code: 4100, message: 'Paymaster service not supported' }
    expect(refusalOf(wallet)).toMatchObject({ ...off, data: { reason: 'sponsorship-off-for-site', capability: 'paymasterService' } })
    expect(refusalOf(wallet, 'https://other.example')).toBeNull()
    wallet.sites.setSponsorship(false, null)
    expect(refusalOf(wallet)).toMatchObject({ ...off, data: { reason: 'sponsorship-off' } })
    expect(refusalOf(wallet, 'https://other.example')).toMatchObject({ ...off, data: { reason: 'sponsorship-off' } })
  })

  it('is rejected in a wallet whose settings switch it off', () => {
    const { wallet } = openWallet(node, { sponsorship: false })
    expect(refusalOf(wallet)).toMatchObject({ code: 4100, data: { reason: 'sponsorship-off' } })
  })
})
