import { createWalletClient, custom, parseEther } from 'viem'
import { foundry } from 'viem/chains'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import { createRemoteRpc } from '../../src/rpc/index.ts'
import { Keyring, createWallet } from '../../src/wallet/index.ts'
import type { CallsStatus, Wallet, WalletChain } from '../../src/wallet/index.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'

// Batches against external nodes, and batches of viem.

const { accounts } = await createPocketchain({ cadence: 'manual' })
const [alice, bob] = accounts.map(({ address }) => address)
const MINE = '0xdeaddeaddeaddeaddeaddeaddeaddeaddeaddead'

function walletOn(chain: WalletChain): Wallet {
  const wallet = createWallet({
    chains: [chain],
    keyring: Keyring.of({ dev: accounts.map(({ privateKey }) => privateKey) }),
    policy: 'approve',
    onError: (error) => expect.unreachable(String(error)),
  })
  onTestFinished(() => wallet.close())
  return wallet
}

async function anvil(...args: readonly string[]) {
  const running = await startAnvil(...args)
  onTestFinished(() => running.stop())
  const chain: WalletChain = {
    chainId: 31_337,
    name: 'Anvil',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: [running.url],
    blockExplorerUrls: [],
    iconUrls: [],
    rpc: createRemoteRpc(running.url),
    isEmbedded: false,
  }
  return { running, wallet: walletOn(chain) }
}

async function connected(wallet: Wallet) {
  const provider = wallet.provider('https://app.example')
  await provider.request({ method: 'eth_requestAccounts' })
  const send = async (request: object): Promise<string> => {
    const params = [{ version: '2.0.0', chainId: '0x7a69', atomicRequired: false, ...request }]
    return ((await provider.request({ method: 'wallet_sendCalls', params })) as { id: string }).id // EIP-5792
  }
  const status = async (id: string) => (await provider.request({ method: 'wallet_getCallsStatus', params: [id] })) as CallsStatus
  return { provider, send, status }
}

const two = [
  { to: bob, value: '0x1' },
  { to: bob, value: '0x2' },
]

describe.skipIf(ANVIL === null)('on anvil', () => {
  it('upgrades an account, after it has deployed the delegate, and sends its batches through it', async () => {
    const { running, wallet } = await anvil()
    const { provider, send, status } = await connected(wallet)
    await running.ask('anvil_setCoinbase', MINE)
    const ready = { atomic: { status: 'ready', supported: 'ready' } }
    expect(await provider.request({ method: 'wallet_getCapabilities', params: [alice] })).toMatchObject({ '0x7a69': ready })
    const first = await status(await send({ atomicRequired: true, calls: [...two, { to: `0x${'0'.repeat(40)}`, value: '0x5' }] }))
    expect(first).toMatchObject({ status: 200, atomic: true, receipts: [{ status: '0x1', logs: [] }] })
    expect(await running.ask('eth_getBalance', `0x${'0'.repeat(40)}`, 'latest'), 'burned ether').toBe('0x5')
    expect(await running.ask<string>('eth_getCode', alice, 'latest')).toMatch(/^0xef0100/)
    expect(await running.ask('eth_getTransactionCount', alice, 'latest'), 'deployment, batch and authorization').toBe('0x3')
    const supported = { atomic: { status: 'supported' } }
    expect(await provider.request({ method: 'wallet_getCapabilities', params: [alice] })).toMatchObject({ '0x7a69': supported })
    expect(await status(await send({ calls: two }))).toMatchObject({ status: 200, atomic: true })
  })

  it('sends the calls of a plain account as transactions, and a single call as one', async () => {
    const { wallet } = await anvil()
    const { send, status } = await connected(wallet)
    const both = await status(await send({ calls: two }))
    expect(both).toMatchObject({ status: 200, atomic: false, capabilities: { status: { confirmation: 'sealed' } } })
    expect(both.receipts).toHaveLength(2)
    expect(await status(await send({ calls: two.slice(1) }))).toMatchObject({ status: 200 })
  })

  it('rejects an atomic batch with 5710 before Prague', async () => {
    const { wallet } = await anvil('--hardfork', 'cancun')
    const { provider, send, status } = await connected(wallet)
    const sent = send({ atomicRequired: true, calls: two })
    await expect(sent).rejects.toMatchObject({ code: 5710, message: 'EIP-7702 not supported on the specified chain ID' })
    const unsupported = { atomic: { status: 'unsupported' } }
    expect(await provider.request({ method: 'wallet_getCapabilities', params: [alice] })).toMatchObject({ '0x7a69': unsupported })
    expect(await status(await send({ calls: two }))).toMatchObject({ status: 200, atomic: false })
  })

  it('reports a pending batch after its block, with a call that reverts', async () => {
    const { running, wallet } = await anvil('--no-mining')
    const { send } = await connected(wallet)
    await running.ask('anvil_setCode', MINE, '0x60006000fd')
    const id = await send({ calls: [...two, { to: MINE }] })
    const query = { origin: 'https://app.example', waitMs: 0 }
    expect(await wallet.batches.status(id, query)).toMatchObject({ status: 100 })
    const waiting = wallet.batches.status(id, { ...query, waitMs: 10_000 })
    await running.ask('evm_mine')
    expect(await waiting).toMatchObject({ status: 600, capabilities: { status: { reason: 'partly' } } })
  })

  it('submits a transaction again, once, that the node has dropped', async () => {
    const { running, wallet } = await anvil('--no-mining')
    const { send } = await connected(wallet)
    const id = await send({ calls: two.slice(1) })
    await running.ask('anvil_dropAllTransactions')
    // One url may have several nodes, so this takes UNKNOWN_MS.
    await expect.poll(() => running.ask('txpool_status')).toMatchObject({ pending: '0x1' })
    await running.ask('evm_mine')
    expect(await wallet.batches.status(id, { origin: 'https://app.example', waitMs: 5_000 })).toMatchObject({ status: 200 })
  })
})

describe('blocks that the node removes', () => {
  it.each(['evm_revert', 'anvil_rollback', 'anvil_reset'])('change the outcome of what they contained: %s', async (method) => {
    await using node = await createPocketchain({ cadence: 'instant', wallet: { policy: 'approve' } })
    const { provider, send, status } = await connected(node.wallet)
    const messages: unknown[] = []
    provider.on('message', (message: unknown) => messages.push(message))
    const kept = await send({ id: 'kept', calls: two.slice(1) })
    const snapshot = await node.request({ method: 'evm_snapshot' })
    await send({ id: 'removed', atomicRequired: true, calls: two })
    await provider.request({ method: 'eth_sendTransaction', params: [{ to: bob, value: '0x1' }] })
    const states = () => node.wallet.activities.page({}).activities.flatMap(({ outcome }) => outcome?.state ?? [])
    await expect.poll(states).toEqual(['sealed', 'sealed', 'sealed', 'sealed']) // with the upgrade
    const params = { evm_revert: [snapshot], anvil_rollback: [2], anvil_reset: [] }[method] ?? []
    await node.request({ method, params })
    const first = method === 'anvil_reset' ? 'not-included' : 'sealed'
    await expect.poll(states).toEqual(['not-included', 'not-included', 'not-included', first])
    expect(messages).toContainEqual({ type: 'wallet_callsStatus', data: { id: 'removed', status: 400 } })
    expect(await status(kept)).toMatchObject({ status: method === 'anvil_reset' ? 400 : 200 })
  })

  it('change the outcome also below more blocks than a rewind names', async () => {
    await using node = await createPocketchain({ cadence: 'instant', wallet: { policy: 'approve' } })
    const { provider } = await connected(node.wallet)
    const snapshot = await node.request({ method: 'evm_snapshot' })
    await provider.request({ method: 'eth_sendTransaction', params: [{ to: bob, value: '0x1' }] })
    const states = () => node.wallet.activities.page({}).activities.flatMap(({ outcome }) => outcome?.state ?? [])
    await expect.poll(states).toEqual(['sealed'])
    await node.request({ method: 'anvil_mine', params: [9_000] })
    await node.request({ method: 'evm_revert', params: [snapshot] })
    await expect.poll(states).toEqual(['not-included'])
  })

  it('change the outcome of a transaction that is being read', async () => {
    await using node = await createPocketchain({ cadence: 'manual', wallet: { policy: 'approve' } })
    const { provider } = await connected(node.wallet)
    const states = () => node.wallet.activities.page({}).activities.flatMap(({ outcome }) => outcome?.state ?? [])
    for (let i = 1; i <= 5; i++) {
      const snapshot = await node.request({ method: 'evm_snapshot' })
      await provider.request({ method: 'eth_sendTransaction', params: [{ to: bob, value: '0x1' }] })
      await node.request({ method: 'evm_mine' })
      await node.request({ method: 'evm_revert', params: [snapshot] })
      await expect.poll(states).toEqual(Array.from({ length: i }, () => 'not-included'))
    }
  })

  it('keep the outcome of a transaction that the blocks in their place contain', async () => {
    await using node = await createPocketchain({ cadence: 'instant', wallet: { policy: 'approve' } })
    const { provider } = await connected(node.wallet)
    const hash = await provider.request({ method: 'eth_sendTransaction', params: [{ to: bob, value: '0x1' }] })
    const blocks = () =>
      node.wallet.activities.page({}).activities.flatMap(({ outcome }) => outcome?.transactions.map((each) => each.blockNumber) ?? [])
    await expect.poll(blocks).toEqual(['0x1'])
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    const raw = await node.request({ method: 'eth_getRawTransactionByHash', params: [hash] })
    await node.request({ method: 'anvil_reorg', params: [2, [[raw, 1]]] })
    await expect.poll(blocks).toEqual(['0x2'])
  })
})

describe('viem', () => {
  it('sends a batch and gets its receipts with one status request', async () => {
    await using node = await createPocketchain()
    const requests: string[] = []
    const wallet = walletOn({
      chainId: 31_337,
      name: 'Pocketchain',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: [],
      blockExplorerUrls: [],
      iconUrls: [],
      rpc: node,
      isEmbedded: true,
    })
    const { provider } = await connected(wallet)
    const transport = custom({
      request: (request: { method: string; params?: unknown }) => {
        requests.push(request.method)
        return provider.request(request)
      },
    })
    const client = createWalletClient({ account: alice!, chain: foundry, transport })
    for (const forceAtomic of [false, true]) {
      const { id } = await client.sendCalls({
        forceAtomic,
        calls: [
          { to: bob!, value: parseEther('1') },
          { to: bob!, data: '0x1234' },
        ],
      })
      const begun = performance.now()
      const result = await client.waitForCallsStatus({ id })
      console.log(`waitForCallsStatus, ${forceAtomic ? 'atomic' : 'sequential'}: ${Math.round(performance.now() - begun)} ms`)
      expect(result).toMatchObject({ status: 'success', statusCode: 200, atomic: forceAtomic, chainId: 31_337 })
      expect(result.receipts).toHaveLength(forceAtomic ? 1 : 2)
    }
    expect(requests.filter((method) => method === 'wallet_getCallsStatus')).toHaveLength(2)
    const capabilities = await client.getCapabilities({ account: alice!, chainId: 31_337 })
    expect(capabilities).toMatchObject({ atomic: { status: 'supported' }, gasLimitOverride: { supported: true } })
  })
})
