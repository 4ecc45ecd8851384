import { afterEach, beforeAll, expect, it } from 'vitest'
import { Hex } from '../eth/index.ts'
import { ALICE, DEDICATED, PUBLIC, testNode } from './node.fixture.ts'
import type { TestNode, TestNodeOptions } from './node.fixture.ts'
import { buildThreads, threads } from './workers/threads.fixture.ts'

const HERE = '0x00000000000000000000000000000000c0ffee00'
/** Passes its call data to the console address. */
const FORWARDS = '365f5f375f5f365f73000000000000000000636f6e736f6c652e6c6f675afa50'
const REVERTS = '5f5ffd'
/** Burns all gas but 30,000, behind FORWARDS. */
const LONG = '5b620075305a11602057'

const nodes: TestNode[] = []
beforeAll(() => buildThreads(), 120_000)
afterEach(async () => {
  for (const node of nodes.splice(0)) {
    await node.workers?.close()
    await node.chain.stop()
    expect(node.bugs).toEqual([])
  }
})

/** A node whose observed events are collected. */
async function observed(options: TestNodeOptions = {}) {
  const events: unknown[] = []
  const node = await testNode({
    ...options,
    observer: {
      onRequest: (method) => events.push(['request', method]),
      onConsole: (method, { inputs }) => events.push(['console', method, inputs.map(Hex.fromBytes)]),
      onFailure: (method, _, { code }) => events.push(['failure', method, code]),
    },
  })
  nodes.push(node)
  const post = async (method: string, params: readonly unknown[], caller = DEDICATED) => {
    await node.rpc.handle(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), caller)
    return events.splice(0)
  }
  return { node, events, post }
}

const call = { from: ALICE, to: HERE, data: '0x0102' }
const withCode = (code: string) => ({ [HERE]: { code: `0x${code}` } })

it('reports the console calls of a call and of an estimate once', async () => {
  const { post } = await observed()
  for (const method of ['eth_call', 'eth_estimateGas']) {
    expect(await post(method, [call, 'latest', withCode(`${FORWARDS}00`)])).toEqual([
      ['request', method],
      ['console', method, ['0x0102']],
    ])
    expect(await post(method, [call, 'latest', withCode(`${FORWARDS}${REVERTS}`)])).toEqual([
      ['request', method],
      ['console', method, ['0x0102']],
      ['failure', method, -32_000],
    ])
  }
})

it('reports them once when the call moves to a worker thread', async () => {
  const own = threads()
  const { post } = await observed({ workers: { start: own.start, maxThreads: 1, mainThreadMs: 0 } })
  for (const code of [`${FORWARDS}${LONG}00`, `${FORWARDS}${LONG}${REVERTS}`]) {
    const reported = await post('eth_call', [{ ...call, gas: '0x2faf080' }, 'latest', withCode(code)])
    expect(reported).toContainEqual(['console', 'eth_call', ['0x0102']])
    expect(reported.filter((event) => String(event).startsWith('console'))).toHaveLength(1)
  }
  expect(own.tasks()).toBe(2)
}, 20_000)

it('reports refused requests, also of the public tier and in a batch', async () => {
  const { node, events, post } = await observed()
  expect(await post('nope', [])).toEqual([
    ['request', 'nope'],
    ['failure', 'nope', -32_601],
  ])
  expect(await post('anvil_mine', [], PUBLIC)).toEqual([
    ['request', 'anvil_mine'],
    ['failure', 'anvil_mine', -32_601],
  ])
  await node.rpc.handle('[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_getBalance"}]', DEDICATED)
  expect(events).toEqual([
    ['request', 'eth_chainId'],
    ['request', 'eth_getBalance'],
    ['failure', 'eth_getBalance', -32_602],
  ])
})

it('reports no requests in process', async () => {
  const { node, events } = await observed()
  await node.ask('eth_call', call, 'latest', withCode(`${FORWARDS}00`))
  await expect(node.ask('nope')).rejects.toThrow('nope')
  expect(events).toEqual([])
})
