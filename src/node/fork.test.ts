import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createPocketchain } from './index.ts'
import type { Pocketchain, PocketchainOptions } from './index.ts'

const open: Pocketchain[] = []

afterEach(async () => {
  for (const node of open.splice(0).reverse()) await node.close()
})

async function start(options: PocketchainOptions): Promise<Pocketchain> {
  const node = await createPocketchain({ sponsor: false, wallet: false, bundler: false, ...options })
  open.push(node)
  return node
}

async function upstreamAt(options: PocketchainOptions = {}): Promise<{ node: Pocketchain; url: string }> {
  const node = await start({ cadence: 'instant', ...options })
  const { url } = await node.listen()
  return { node, url }
}

const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
/** Increments slot 0. */
const COUNTER = '0x600a600c600039600a6000f360005460010160005500'

async function send(node: Pocketchain, tx: Record<string, unknown>): Promise<Record<string, unknown>> {
  const hash = await node.request({ method: 'eth_sendTransaction', params: [{ from: ALICE, ...tx }] })
  return (await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as Record<string, unknown>
}

describe.each(['op', 'l1'] as const)('a fork of an %s chain', (chainType) => {
  it('reads upstream state, and changes only its own', async () => {
    const { node: upstream, url } = await upstreamAt({ chainType })
    const created = await send(upstream, { data: COUNTER })
    const counter = created['contractAddress'] as string
    await send(upstream, { to: counter })
    await send(upstream, { to: counter })
    const head = await upstream.request({ method: 'eth_blockNumber' })

    const fork = await start({ cadence: 'instant', fork: { url, blockNumber: Number(head), storageCaching: false } })
    expect(await fork.request({ method: 'eth_blockNumber' })).toBe(head)
    const slot = (node: Pocketchain) => node.request({ method: 'eth_getStorageAt', params: [counter, '0x0', 'latest'] })
    expect(Number(await slot(fork))).toBe(2)
    expect(await fork.request({ method: 'eth_getCode', params: [counter, 'latest'] })).toBe('0x60005460010160005500')
    await send(upstream, { to: counter })
    const receipt = await send(fork, { to: counter })
    expect(receipt).toMatchObject({ status: '0x1', blockNumber: `0x${(Number(head) + 1).toString(16)}` })
    await send(fork, { to: counter })
    expect([Number(await slot(fork)), Number(await slot(upstream))]).toEqual([4, 3])
    expect(await fork.request({ method: 'eth_getTransactionCount', params: [ALICE, 'latest'] })).toBe('0x5')
    expect(await fork.request({ method: 'eth_getBalance', params: [BOB, 'latest'] })).toBe('0x21e19e0c9bab2400000')
  })
})

it('a fork of OP Mainnet runs with the rules of Karst from its time on', async () => {
  const clz = { data: '0x60011e60005260206000f3' }
  const answers = []
  for (const timestamp of [1_783_526_400, 1_783_526_401]) {
    // The header under Karst has the same fields as that under Jovian.
    const { node, url } = await upstreamAt({
      chainId: 10,
      hardfork: 'jovian',
      timestamp: 1_783_526_000,
      cadence: 'manual',
      clock: 'manual',
    })
    await node.request({ method: 'evm_mine', params: [timestamp] })
    const fork = await start({ cadence: 'manual', clock: 'manual', fork: { url, blockNumber: 1, storageCaching: false } })
    const info = (await fork.request({ method: 'anvil_nodeInfo' })) as { readonly hardFork: string }
    answers.push([
      info.hardFork,
      await fork.request({ method: 'eth_call', params: [clz, 'latest'] }).catch((error: Error) => error.message),
    ])
  }
  expect(answers).toEqual([
    ['jovian', expect.stringContaining('invalid opcode')],
    ['karst', `0x${'0'.repeat(62)}ff`],
  ])
})

describe('an upstream that does not answer', () => {
  it.each(['anvil_reset', 'anvil_setRpcUrl'])('does not delay the end of a node whose %s waits for it', async (method) => {
    const silent = createServer(() => {})
    const asked = once(silent, 'request')
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const { url } = await upstreamAt()
    const fork = await start({ cadence: 'instant', fork: { url } })
    const { url: forkUrl } = await fork.listen()
    const params = method === 'anvil_reset' ? [{ forking: { jsonRpcUrl: silentUrl } }] : [silentUrl]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = fetch(forkUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then((reply) => reply.json())
    await asked
    await fork.close()
    expect(await answer).toMatchObject({ error: { message: expect.stringContaining('the node is closed') as unknown } })
    silent.closeAllConnections()
    silent.close()
  })
})

it('a fork of a chain on this computer reads its state again at each start, because a dev method changes it at the same block hash', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fork-cache-'))
  vi.stubEnv('XDG_CACHE_HOME', folder)
  try {
    const { node: upstream, url } = await upstreamAt()
    const address = `0x${'b0'.repeat(20)}`
    await upstream.request({ method: 'anvil_mine', params: ['0x2'] })
    const balances = []
    for (const balance of ['0x1', '0x2']) {
      await upstream.request({ method: 'anvil_setBalance', params: [address, balance] })
      const fork = await start({ cadence: 'instant', fork: { url, blockNumber: 2 } })
      balances.push(await fork.request({ method: 'eth_getBalance', params: [address, 'latest'] }))
      await fork.close()
    }
    expect(balances).toEqual(['0x1', '0x2'])
    expect(await readdir(folder)).toEqual([])
  } finally {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  }
})
