import { describe, expect, it } from 'vitest'
import { Address } from '../eth/index.ts'
import { JsonRecords, RpcError, memoryRecords } from '../jsonrpc/index.ts'
import type { Records, Rpc } from '../jsonrpc/index.ts'
import type { WalletChain } from './chains/chain.ts'
import { Chains } from './chains/chains.ts'
import { SITES } from './limits.ts'
import { Sites, permittedAccount } from './sites.ts'
import type { SiteChange } from './sites.ts'

const APP = 'https://app.example'
const ALICE = Address.from(`0x${'a1'.repeat(20)}`)
const BOB = Address.from(`0x${'b2'.repeat(20)}`)

const nowhere: Rpc = {
  request: () => Promise.reject(new RpcError(-32000, 'unreachable')),
  subscribe: () => Promise.reject(new RpcError(-32000, 'unreachable')),
}

function chain(chainId: number): WalletChain {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
  const urls = { rpcUrls: [], blockExplorerUrls: [], iconUrls: [] }
  return { chainId, name: `Chain ${chainId}`, nativeCurrency, ...urls, rpc: nowhere, isEmbedded: true }
}

function sitesOf(records: Records, isOurs?: (address: Address) => boolean, chains = [chain(1), chain(2)]) {
  const errors: unknown[] = []
  const sites = new Sites(records, new Chains(records, chains, () => nowhere), (error) => errors.push(error), isOurs)
  return { sites, errors }
}

describe('sites', () => {
  it('an unknown origin has no accounts and is on the default chain', () => {
    const { sites } = sitesOf(memoryRecords())
    expect(sites.get(APP)).toEqual({ origin: APP, accounts: [], chainId: 1, connectedAt: null, sponsorship: true })
    expect(sites.list()).toEqual([])
  })

  it('keep accounts in the order of the choice, each once, and survive a restart', () => {
    const records = memoryRecords()
    const { sites } = sitesOf(records)
    sites.connect(APP, [BOB, ALICE, BOB])
    sites.selectChain(APP, 2)
    const site = sitesOf(records).sites.get(APP)
    expect(site).toMatchObject({ origin: APP, accounts: [BOB, ALICE], chainId: 2 })
    expect(site.connectedAt).toBeGreaterThan(1_600_000_000_000)
  })

  it('do not mix origins that look alike', () => {
    const { sites } = sitesOf(memoryRecords())
    sites.connect('https://app.example', [ALICE])
    for (const other of ['http://app.example', 'https://app.example:8443', 'https://app.example.evil.example', 'https://APP.example']) {
      expect(sites.get(other).accounts, other).toEqual([])
    }
  })

  it('a disconnected origin keeps its chain and no permission', () => {
    const records = memoryRecords()
    const { sites } = sitesOf(records)
    sites.connect(APP, [ALICE])
    sites.selectChain(APP, 2)
    sites.disconnect(APP)
    expect(sitesOf(records).sites.get(APP)).toEqual({ origin: APP, accounts: [], chainId: 2, connectedAt: null, sponsorship: true })
    sites.selectChain(APP, 1)
    expect([...records.entries('wallet/site/')]).toEqual([])
  })

  it('refuse a chain that the wallet does not have, and a connection to no account', () => {
    const { sites } = sitesOf(memoryRecords())
    expect(() => sites.selectChain(APP, 3)).toThrow(RangeError)
    expect(() => sites.connect(APP, [])).toThrow(RangeError)
    expect(sites.get(APP).chainId).toBe(1)
  })

  it('whose chain is gone after a restart are on the default chain', () => {
    const records = memoryRecords()
    sitesOf(records).sites.selectChain(APP, 2)
    expect(sitesOf(records, undefined, [chain(1)]).sites.get(APP).chainId).toBe(1)
    expect(sitesOf(records).sites.get(APP).chainId).toBe(2)
  })

  it('permissions for accounts that the wallet has no more sleep until it has them again', () => {
    const records = memoryRecords()
    sitesOf(records).sites.connect(APP, [ALICE, BOB])
    expect(sitesOf(records, (address) => address === BOB).sites.get(APP).accounts).toEqual([BOB])
    expect(sitesOf(records, () => false).sites.list()).toEqual([])
    expect(sitesOf(records).sites.get(APP).accounts).toEqual([ALICE, BOB])
  })

  it('a record that is no site is reported and left out', () => {
    const records = memoryRecords()
    sitesOf(records).sites.connect(APP, [ALICE])
    JsonRecords.put(records, 'wallet/site/https://broken.example', { accounts: ['0x12'], chainId: 1, connectedAt: 0 })
    const { sites, errors } = sitesOf(records)
    expect(errors).toMatchObject([{ message: expect.stringContaining('https://broken.example') as string }])
    expect(sites.list().map(({ origin }) => origin)).toEqual([APP])
  })

  it('report a change after it is stored; a listener that throws does not affect others', () => {
    const { sites, errors } = sitesOf(memoryRecords())
    const received: SiteChange[] = []
    sites.subscribe(() => {
      throw new Error('mine')
    })
    const end = sites.subscribe((change) => received.push(change))
    sites.connect(APP, [ALICE])
    expect(received).toMatchObject([{ site: { accounts: [ALICE] }, before: { accounts: [] } }])
    expect(errors).toMatchObject([{ message: 'mine' }])
    end()
    sites.disconnect(APP)
    expect(received).toHaveLength(1)
  })

  it('refuse one more than there may be, and one that is connected may still change its accounts', () => {
    const { sites } = sitesOf(memoryRecords())
    for (let i = 0; i < SITES; i++) sites.connect(`https://${i}.example`, [ALICE])
    expect(() => sites.connect(APP, [ALICE])).toThrow(expect.objectContaining({ code: -32005 }))
    sites.connect('https://0.example', [BOB])
    sites.disconnect('https://1.example')
    sites.connect(APP, [ALICE])
    expect(sites.list()).toHaveLength(SITES)
  })

  it('remember the chain of only so many origins that are not connected: the oldest are forgotten', () => {
    const records = memoryRecords()
    const { sites } = sitesOf(records)
    for (let i = 0; i <= SITES; i++) sites.selectChain(`https://${i}.example`, 2)
    expect(sites.get('https://0.example').chainId).toBe(1)
    expect(sites.get('https://1.example').chainId).toBe(2)
    expect([...records.entries('wallet/site/')]).toHaveLength(SITES)
  })
})

describe('whether others may pay', () => {
  it('is switched for every site, for one alone, and survives a restart and a site that goes and comes back', () => {
    const records = memoryRecords()
    const { sites } = sitesOf(records)
    sites.connect(APP, [ALICE])
    expect([sites.isSponsorshipOn, sites.get(APP).sponsorship, sites.get('https://new.example').sponsorship]).toEqual([true, true, true])
    sites.setSponsorship(false, null)
    sites.setSponsorship(false, APP)
    sites.disconnect(APP)
    const again = sitesOf(records).sites
    expect([again.isSponsorshipOn, again.get(APP).sponsorship]).toEqual([false, false])
    again.connect(APP, [BOB])
    again.setSponsorship(true, null)
    expect(again.get(APP)).toMatchObject({ accounts: [BOB], sponsorship: false })
    again.setSponsorship(true, APP)
    const last = sitesOf(records).sites
    expect([last.isSponsorshipOn, last.get(APP).sponsorship]).toEqual([true, true])
    expect([...records.entries('wallet/sponsorship')]).toEqual([])
  })

  it('is not evicted in favour of unknown origins', () => {
    const { sites } = sitesOf(memoryRecords())
    sites.connect(APP, [ALICE])
    sites.setSponsorship(false, APP)
    sites.disconnect(APP)
    for (let i = 0; i <= SITES; i++) sites.selectChain(`https://${i}.example`, 2)
    expect(sites.get(APP).sponsorship).toBe(false)
  })

  it('is yes for sites that were kept before there were sponsors', () => {
    const records = memoryRecords()
    JsonRecords.put(records, `wallet/site/${APP}`, { accounts: [ALICE], chainId: 1, connectedAt: 1 })
    expect(sitesOf(records).sites.get(APP).sponsorship).toBe(true)
  })
})

describe('the account that is meant', () => {
  const site = { origin: APP, accounts: [BOB, ALICE], chainId: 1, connectedAt: 0, sponsorship: true }

  it('is the selected one unless another permitted one is named', () => {
    expect(permittedAccount(site)).toBe(BOB)
    expect(permittedAccount(site, ALICE)).toBe(ALICE)
  })

  it('is rejected with 4100 when it is not permitted, or nothing is', () => {
    const stranger = Address.from(`0x${'c3'.repeat(20)}`)
    expect(() => permittedAccount(site, stranger)).toThrow(
      expect.objectContaining({ code: 4100, data: { reason: 'account-not-permitted', account: stranger } }),
    )
    expect(() => permittedAccount({ ...site, accounts: [] }, ALICE)).toThrow(
      expect.objectContaining({ code: 4100, data: { reason: 'not-connected', origin: APP } }),
    )
  })
})
