import { describe, expect, it } from 'vitest'
import { Delegation } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { hasDelegation } from './execution.ts'
import { CAPABILITIES_WAIT_MS } from '../limits.ts'
import { without } from './calls.fixture.ts'
import { answering } from './operations.fixture.ts'
import { sender } from './sender.fixture.ts'
import { ORIGIN, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
const other = await startNode({ chainId: 777 })
const older = await startNode({ chainId: 778, hardfork: 'holocene' })
const [alice, bob, carol] = node.accounts.map(({ address }) => address) as [Address, Address, Address, ...Address[]] // a node has ten

function everyChain(isSponsored: boolean) {
  return {
    paymasterService: { supported: isSponsored },
    gasLimitOverride: { supported: true },
    auxiliaryFunds: { supported: false },
    flowControl: { supported: false },
  }
}

/** An account that supports EIP-7702 also supports sponsorship. */
function on(status: string, isSponsored = status !== 'unsupported') {
  return { atomic: { status, supported: status }, atomicBatch: { supported: status !== 'unsupported' }, ...everyChain(isSponsored) }
}

function open(further: readonly WalletChain[] = [embeddedChain(other), embeddedChain(older)]) {
  return sender(node, { further })
}

function unreachable(chainId: number, request: () => Promise<unknown>): WalletChain {
  return { ...embeddedChain(node), chainId, rpc: { request, subscribe: () => Promise.reject(new RpcError(-32601, 'none')) } }
}

describe('wallet_getCapabilities', () => {
  it('returns every chain, and under 0x0 what all chains support', async () => {
    expect(await open().ask('wallet_getCapabilities', alice)).toEqual({
      '0x0': everyChain(false),
      '0x7a69': on('ready'),
      '0x309': on('ready'),
      '0x30a': on('unsupported'),
    })
  })

  it('returns those of the selected account by default', async () => {
    const { ask } = open([])
    const expected = await ask('wallet_getCapabilities', alice)
    expect(await ask('wallet_getCapabilities')).toEqual(expected)
    expect(await ask('wallet_getCapabilities', undefined)).toEqual(expected)
  })

  it('returns the named chains, in any letter case, without unknown ones', async () => {
    const { ask } = open()
    expect(Object.keys(await ask<object>('wallet_getCapabilities', alice, ['0x7A69', '0x1', '0x030a']))).toEqual(['0x0', '0x7a69', '0x30a'])
    expect(await ask('wallet_getCapabilities', alice, [])).toEqual({ '0x0': everyChain(false) })
  })

  it('distinguishes the wallet’s delegate from an unknown one', async () => {
    const { ask } = open([])
    await node.request({ method: 'anvil_setCode', params: [bob, Delegation.text(DELEGATE.address)] })
    await node.request({ method: 'anvil_setCode', params: [carol, `0xef0100${'ab'.repeat(20)}`] })
    expect(await ask('wallet_getCapabilities', bob)).toMatchObject({ '0x7a69': on('supported') })
    expect(await ask('wallet_getCapabilities', carol)).toMatchObject({ '0x7a69': on('unsupported') })
  })

  it('is 4100 for an origin that is not connected, or not to that account', async () => {
    const { wallet, ask } = open()
    wallet.sites.connect(ORIGIN, [alice])
    expect(await refusal(ask('wallet_getCapabilities', bob))).toMatchObject({ code: 4100 })
    wallet.sites.disconnect(ORIGIN)
    expect(await refusal(ask('wallet_getCapabilities', alice))).toMatchObject({ code: 4100 })
    expect(await refusal(ask('wallet_getCapabilities'))).toMatchObject({ code: 4100 })
  })

  it.each([
    ['an invalid account', ['0x12']],
    ['chain ids that are no list', [alice, '0x7a69']],
    ['a chain id that is a number', [alice, [31_337]]],
  ])('with %s is -32602', async (_, params) => {
    expect(await refusal(open().ask('wallet_getCapabilities', ...params))).toMatchObject({ code: -32602 })
  })

  it('returns the other chains if one returns an error or never responds', { timeout: CAPABILITIES_WAIT_MS + 10_000 }, async () => {
    const down = unreachable(901, () => Promise.reject(new RpcError(-32000, 'down', { reason: 'unreachable' })))
    const mute = unreachable(902, () => new Promise(() => {}))
    const { ask, errors } = open([down, mute])
    expect(await ask('wallet_getCapabilities', alice)).toMatchObject({
      '0x7a69': on('ready'),
      '0x385': on('unsupported'),
      '0x386': on('unsupported'),
    })
    expect(errors).toEqual([])
  })
})

describe('paymasterService of wallet_getCapabilities', () => {
  const supported = async ({ ask }: Pick<ReturnType<typeof sender>, 'ask'>, account = alice) => {
    const answer = await ask<Record<string, { paymasterService: { supported: boolean } }>>('wallet_getCapabilities', account)
    return Object.fromEntries(Object.entries(answer).map(([chainId, { paymasterService }]) => [chainId, paymasterService.supported]))
  }

  it('is true under 0x0 if it is on every chain', async () => {
    expect(await supported(open([]))).toEqual({ '0x0': true, '0x7a69': true })
    expect(await supported(open([embeddedChain(other)]))).toEqual({ '0x0': true, '0x7a69': true, '0x309': true })
    expect(await supported(open())).toEqual({ '0x0': false, '0x7a69': true, '0x309': true, '0x30a': false })
  })

  it('is false on excluded chains only', async () => {
    const mine = sender(node, { further: [embeddedChain(other)], unsponsoredChains: [777] })
    expect(await supported(mine)).toEqual({ '0x0': false, '0x7a69': true, '0x309': false })
  })

  it('is false if it is switched off: by the settings, by the user, for a site', async () => {
    expect(await supported(sender(node, { sponsorship: false }))).toEqual({ '0x0': false, '0x7a69': false })
    const mine = open([])
    mine.wallet.sites.setSponsorship(false, null)
    expect(await supported(mine)).toEqual({ '0x0': false, '0x7a69': false })
    mine.wallet.sites.setSponsorship(true, null)
    mine.wallet.sites.setSponsorship(false, ORIGIN)
    expect(await supported(mine)).toEqual({ '0x0': false, '0x7a69': false })
    expect(await supported(sender(node, {}, 'https://other.example'))).toEqual({ '0x0': true, '0x7a69': true })
  })

  it('is false without a bundler, without one for EntryPoint 0.8, and without the delegate', async () => {
    const has = (entryPoints: unknown) => {
      const rpc = answering(other, (method) => (method === 'eth_supportedEntryPoints' ? entryPoints : undefined))
      return { ...embeddedChain(other), rpc }
    }
    const bare = { ...embeddedChain(other), rpc: without(other, 'eth_supportedEntryPoints') }
    for (const chain of [bare, has([]), has(['0x0000000071727De22E5E9d8BAf0edAc6f37da032']), has(null), has('all')])
      expect(await supported(open([chain]))).toEqual({ '0x0': false, '0x7a69': true, '0x309': false })
    // An operation cannot deploy the delegate that its account needs.
    const rpc = answering(other, (method, [address]) => (method === 'eth_getCode' && address === DELEGATE.address ? '0x' : undefined))
    expect(await open([{ ...embeddedChain(other), rpc }]).ask('wallet_getCapabilities', alice)).toMatchObject({
      '0x309': on('ready', false),
    })
  })

  it('is the only one that is false if the bundler does not respond', { timeout: CAPABILITIES_WAIT_MS + 10_000 }, async () => {
    const mute = answering(other, (method) => (method === 'eth_supportedEntryPoints' ? new Promise(() => {}) : undefined))
    const answer = await open([{ ...embeddedChain(other), rpc: mute }]).ask('wallet_getCapabilities', alice)
    expect(answer).toMatchObject({ '0x7a69': on('ready'), '0x309': on('ready', false) })
  })
})

describe('the EIP-7702 probe of a chain', () => {
  it('runs once, and again if the chain could not be reached', async () => {
    let sent = 0
    let isDown = true
    const rpc = {
      subscribe: node.subscribe,
      request: async (request: { method: string; params?: readonly unknown[] }) => {
        if (request.method === 'eth_call') sent++
        if (isDown) throw new RpcError(-32000, 'down', { reason: 'unreachable' })
        return node.request(request)
      },
    }
    const chain = { ...embeddedChain(node), rpc }
    await expect(hasDelegation(chain)).rejects.toThrow('down')
    isDown = false
    expect(await Promise.all([hasDelegation(chain), hasDelegation(chain)])).toEqual([true, true])
    expect(await hasDelegation(chain)).toBe(true)
    expect(sent).toBe(2)
    expect(await hasDelegation(embeddedChain(older))).toBe(false)
  })
})
