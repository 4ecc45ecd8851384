import { describe, expect, it } from 'vitest'
import { Address, Delegation } from '../../eth/index.ts'
import { testNode } from '../../rpc/node.fixture.ts'
import type { TestNode } from '../../rpc/node.fixture.ts'
import { NodeView } from './nodeview.ts'

const ACCOUNT = Address.from(`0x${'5e'.repeat(20)}`)
const NOWHERE = Address.from(`0x${'0e'.repeat(20)}`)

/** Counts requests, and fails the first ones. */
function viewOf({ rpc }: TestNode, failures = 0) {
  const requested: string[] = []
  const request: typeof rpc.request = (message) => {
    requested.push(message.method)
    return requested.length > failures ? rpc.request(message) : Promise.reject(new Error('connection refused'))
  }
  return { requested, view: new NodeView({ request, subscribe: rpc.subscribe }) }
}

describe('a view of a node', () => {
  it('is of the block under construction', async () => {
    const node = await testNode()
    await node.ask('anvil_setCode', ACCOUNT, Delegation.text(NOWHERE))
    const { view } = viewOf(node)
    const { header } = node.chain.head.view.byTag('pending')
    expect(await view.now()).toEqual({
      baseFee: header.baseFeePerGas,
      gasLimit: header.gasLimit,
      number: BigInt(header.number),
      timestamp: header.timestamp,
    })
    expect(await view.delegate(ACCOUNT)).toBe(NOWHERE)
    expect(await view.delegate(NOWHERE)).toBeNull()
  })

  it('requests the chain id once, and again after an error', async () => {
    const { view, requested } = viewOf(await testNode(), 1)
    await expect(view.chainId()).rejects.toThrow('connection refused')
    const ids = await Promise.all([view.chainId(), view.chainId()])
    expect([...ids, await view.chainId()]).toEqual([31_337, 31_337, 31_337])
    expect(requested).toEqual(['eth_chainId', 'eth_chainId'])
  })

  it('returns no deposit if the EntryPoint is not deployed', async () => {
    const { view } = viewOf(await testNode())
    expect(await view.deposit(NOWHERE, ACCOUNT)).toBe(0n)
  })
})
