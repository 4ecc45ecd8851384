import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ManualClock } from './chain/index.ts'
import { createPocketchain } from './index.ts'
import type { PocketchainOptions } from './index.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const TRANSFER = { from: ALICE, to: BOB, value: '0x1' }

describe('createPocketchain', () => {
  test('is an EIP-1193 provider without a port', async () => {
    await using node = await createPocketchain({ cadence: 'instant' })
    expect(await node.request({ method: 'eth_chainId' })).toBe('0x7a69')
    expect(await node.request({ method: 'eth_accounts' })).toEqual(node.accounts.map(({ address }) => address))
    const hash = await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1', blockNumber: '0x1' })
    await expect(node.request({ method: 'eth_nothing' })).rejects.toMatchObject({ code: -32601 })
  })

  test('delivers subscriptions', async () => {
    await using node = await createPocketchain({ cadence: 'instant' })
    const heads: unknown[] = []
    const leave = await node.subscribe(['newHeads'], (head) => heads.push(head))
    await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    await leave()
    await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect(heads).toEqual([expect.objectContaining({ number: '0x1' })])
  })

  test('pre-confirms with a clock that is moved by hand', async () => {
    const clock = new ManualClock(1_700_000_000_000)
    await using node = await createPocketchain({ clock, timestamp: 1_700_000_000 })
    const hash = await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toBeNull()
    await clock.advance(400)
    const promised = await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    expect(promised).toMatchObject({ status: '0x1', blockHash: `0x${'0'.repeat(64)}` })
    await clock.advance(4_000)
    const sealed = await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    expect(sealed).toEqual({ ...(promised as object), blockHash: expect.not.stringMatching(/^0x0+$/) })
  })

  test('with one seed, one timestamp and a manual clock two runs give equal hashes', async () => {
    const hashes = await Promise.all([hashesOf({}), hashesOf({}), hashesOf({ seed: 'another' })])
    expect(hashes[0]).toHaveLength(4)
    expect(hashes[1]).toEqual(hashes[0])
    expect(hashes[2]).not.toEqual(hashes[0])
  })

  test.each([
    ['chainId', { chainId: 8_453 }, 'eth_chainId', '0x2105'],
    ['accounts', { accounts: 0 }, 'eth_accounts', []],
    ['timestamp', { timestamp: 1_700_000_000 }, 'eth_getBlockByNumber', expect.objectContaining({ timestamp: '0x6553f100' })],
    ['baseFee', { baseFee: 7n }, 'eth_getBlockByNumber', expect.objectContaining({ baseFeePerGas: '0x7' })],
    ['gasLimit', { gasLimit: 30_000_000n }, 'eth_getBlockByNumber', expect.objectContaining({ gasLimit: '0x1c9c380' })],
  ] as const)('%s shows', async (_, options, method, wanted) => {
    await using node = await createPocketchain({ cadence: 'manual', ...options })
    expect(await node.request({ method, params: method === 'eth_getBlockByNumber' ? ['0x0', false] : [] })).toEqual(wanted)
  })

  test.each(['fjord', 'jovian', 'azul', 'karst', 'prague', 'osaka'])('runs under %s', async (hardfork) => {
    await using node = await createPocketchain({ cadence: 'instant', hardfork })
    const hash = await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1' })
  })

  test('rejects unsupported calls with an error that names them', async () => {
    await expect(createPocketchain({ hardfork: 'bedrock' })).rejects.toThrow('hardfork must be one of fjord')
    await expect(createPocketchain({ mnemonic: 'two words' })).rejects.toThrow('mnemonic')
    await expect(createPocketchain({ genesis: '{' })).rejects.toMatchObject({ name: 'GenesisError' })
    await expect(createPocketchain({ importedChain: new Uint8Array([1, 2]) })).rejects.toMatchObject({ name: 'DecodeError' })
  })

  test('opens ports on request and closes all of them', async () => {
    const node = await createPocketchain({ cadence: 'manual' })
    const servers = [await node.listen(), await node.listen()]
    expect(new Set(servers.map(({ port }) => port)).size).toBe(2)
    for (const { url } of servers) expect((await fetch(`${url}/livez`)).status).toBe(200)
    await node.close()
    for (const { url } of servers) await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed')
  })
})

describe('the wallet beside the chain', () => {
  const APP = 'http://localhost:3000'
  const connect = { method: 'eth_requestAccounts' }

  test('acts on the chain with its dev accounts, without a port', async () => {
    await using node = await createPocketchain({ cadence: 'instant', wallet: { policy: 'approve' } })
    const provider = node.wallet.provider(APP)
    expect(await provider.request(connect)).toEqual(node.accounts.map(({ address }) => address))
    const hash = await provider.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ from: ALICE, status: '0x1' })
  })

  test('has keys and chains beyond those of the node', async () => {
    const key = new Uint8Array(32).fill(7)
    await using other = await createPocketchain({ chainId: 5, cadence: 'manual' })
    const there = other.wallet.chains.default
    await using node = await createPocketchain({ accounts: 1, wallet: { policy: 'approve', keys: { memory: [key] }, chains: [there] } })
    expect(node.wallet.keyring.accounts.map(({ source }) => source)).toEqual(['dev', 'memory'])
    expect(node.wallet.chains.list().map(({ chainId }) => chainId)).toEqual([31_337, 5])
    const provider = node.wallet.provider(APP)
    await provider.request(connect)
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: '0x5' }] })
    expect(await provider.request({ method: 'eth_chainId' })).toBe('0x5')
  })

  test('names the ports that are open as where its chain is reached', async () => {
    await using node = await createPocketchain({ cadence: 'manual' })
    const { chains } = node.wallet
    expect(chains.default.rpcUrls).toEqual([])
    const first = await node.listen()
    const second = await node.listen()
    expect(chains.default.rpcUrls).toEqual([first.url, second.url])
    await first.close()
    expect(chains.default.rpcUrls).toEqual([second.url])
  })

  test('remembers under --data what was permitted', async () => {
    const data = mkdtempSync(join(tmpdir(), 'pocketchain-root-'))
    try {
      const accounts = { method: 'eth_accounts' }
      const first = await createPocketchain({ data, wallet: { policy: 'approve' } })
      const permitted = await first.wallet.provider(APP).request(connect)
      await first.close()
      await using second = await createPocketchain({ data })
      expect(await second.wallet.provider(APP).request(accounts)).toEqual(permitted)
      expect(await second.wallet.provider('http://localhost:4000').request(accounts)).toEqual([])
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  })

  test('rejects pending requests when the node is closed', async () => {
    const node = await createPocketchain({ cadence: 'manual' })
    const outcome = node.wallet
      .provider(APP)
      .request(connect)
      .then(
        () => null,
        (error: unknown) => error,
      )
    await node.wallet.approvals.next()
    await node.close()
    expect(await outcome).toMatchObject({ code: expect.any(Number) })
  })
})

async function hashesOf(options: PocketchainOptions): Promise<readonly string[]> {
  const clock = new ManualClock(1_700_000_000_000)
  await using node = await createPocketchain({ clock, timestamp: 1_700_000_000, seed: 'one', ...options })
  const hashes: string[] = []
  node.chain.head.subscribe((event) => {
    if (event.kind === 'block' && event.sealed && hashes.length < 4) hashes.push(event.block.hash)
  })
  for (let i = 0; i < 10; i++) {
    await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    await clock.advance(1_000)
  }
  return hashes
}
