import { describe, expect, it } from 'vitest'
import { Address, Delegation } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { without } from '../batches/calls.fixture.ts'
import { answering } from '../batches/operations.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { startNode } from '../wallet.fixture.ts'
import { sponsorshipSupport } from './availability.ts'

const node = await startNode()
const older = await startNode({ chainId: 778, hardfork: 'holocene' })
const [alice, bob, carol] = node.accounts.map(({ address }) => address) as [Address, Address, Address, ...Address[]] // a node has ten
const chain = embeddedChain(node)
const NONE = { unsponsoredChains: [] }

describe('whether others may pay for an account', () => {
  it('follows from the chain, the code of the account and the bundler', async () => {
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

  it('is not asked on a chain that the owner has taken out', async () => {
    const mute = answering(node, () => Promise.reject(new RpcError(-32000, 'nobody is asked')))
    expect(await sponsorshipSupport({ ...chain, rpc: mute }, alice, { unsponsoredChains: [31_337] })).toBe('chain-excluded')
  })

  it('is not known of a chain that does not answer', async () => {
    const down = answering(node, () => Promise.reject(new RpcError(-32000, 'down', { reason: 'unreachable' })))
    await expect(sponsorshipSupport({ ...chain, rpc: down }, alice, NONE)).rejects.toThrow('down')
  })
})
