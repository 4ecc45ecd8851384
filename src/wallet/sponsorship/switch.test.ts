import { describe, expect, it } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import { ORIGIN, connected, openWallet, startNode } from '../wallet.fixture.ts'
import { assertSponsorshipEnabled } from './availability.ts'

const node = await startNode()

describe('the settings of sponsorship', () => {
  it('are on unless said, reach no private address, and take out chains by their ids', () => {
    const { settings } = openWallet(node).wallet
    expect(settings).toMatchObject({ sponsorship: true, unsponsoredChains: [], sponsor: null, allowHttpLoopback: false })
    for (const chainId of [0, -1, 1.5, Number.NaN, '0x1' as unknown as number])
      // what a config file may hold
      expect(() => openWallet(node, { unsponsoredChains: [1, chainId] }), String(chainId)).toThrow(RangeError)
  })
})

describe('a site that asks for a sponsor', () => {
  const refusalOf = (wallet: ReturnType<typeof openWallet>['wallet'], origin = ORIGIN): RpcError | null => {
    try {
      assertSponsorshipEnabled(wallet, origin)
      return null
    } catch (error) {
      if (error instanceof RpcError) return error
      throw error
    }
  }

  it('is heard unless somebody has switched that off', async () => {
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

  it('is never heard in a wallet that was started without', () => {
    const { wallet } = openWallet(node, { sponsorship: false })
    expect(refusalOf(wallet)).toMatchObject({ code: 4100, data: { reason: 'sponsorship-off' } })
  })
})
