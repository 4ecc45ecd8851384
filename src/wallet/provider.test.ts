import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Secp256k1 } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { memoryRecords } from '../jsonrpc/index.ts'
import { createPocketchain } from '../index.ts'
import { embeddedChain } from './chains/chain.ts'
import { Keyring } from './keys/keyring.ts'
import { REQUEST_BATCH_ITEMS, SUBSCRIPTIONS_PER_PROVIDER, WAITING_QUESTIONS_PER_ORIGIN } from './limits.ts'
import type { Provider, ProviderEvent } from './provider.ts'
import { ORIGIN, connected, openWallet, refusal, startNode } from './wallet.fixture.ts'

const node = await startNode()
const other = await createPocketchain({ chainId: 777, cadence: 'instant' })
afterAll(() => other.close())
const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten

/** Both chains are the owner's, so that a test may switch without a question. */
function open(options: Parameters<typeof openWallet>[1] = {}) {
  return openWallet(node, { further: [embeddedChain(other, { name: 'Other' })], ...options })
}

function recordEvents(provider: Provider): (readonly [ProviderEvent, unknown])[] {
  const events: (readonly [ProviderEvent, unknown])[] = []
  for (const name of ['connect', 'disconnect', 'chainChanged', 'accountsChanged', 'message'] as const) {
    provider.on(name, (value: unknown) => events.push([name, value]))
  }
  return events
}

/** Resolves with the first such event. */
function next(provider: Provider, name: ProviderEvent): Promise<unknown> {
  return new Promise((resolve) => provider.on(name, resolve))
}

describe('a request', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'eth_chainId'],
    ['a list', [{ method: 'eth_chainId' }]],
    ['no method', {}],
    ['an empty method', { method: '' }],
    ['a method that is no text', { method: 1 }],
    ['params that are text', { method: 'personal_sign', params: '0x' }],
    ['params that are an object where a list is due', { method: 'personal_sign', params: { message: '0x' } }],
    ['too many params', { method: 'eth_signTypedData_v4', params: [alice, {}, 1] }],
    ['a missing param', { method: 'personal_sign', params: ['0x'] }],
    ['params of a method of the node that are an object', { method: 'eth_getBalance', params: { address: alice } }],
  ])('of %s is -32602', async (_, request) => {
    const { wallet, errors } = open()
    const pendingRequest = wallet.provider(ORIGIN).request(request as { method: string })
    expect(await refusal(pendingRequest)).toMatchObject({ code: -32602, data: { reason: 'invalid-request' } })
    expect(wallet.approvals.pending).toEqual([])
    expect(errors).toEqual([])
  })

  it('treats undefined params as absent', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    expect(await provider.request({ method: 'eth_chainId', params: undefined })).toBe('0x7a69')
    expect(await provider.request({ method: 'eth_getBalance', params: [alice, undefined] })).toBe('0x21e19e0c9bab2400000')
  })

  it('does not mind params of a method without any', async () => {
    const { wallet } = open()
    expect(await wallet.provider(ORIGIN).request({ method: 'eth_accounts', params: [{ eth_accounts: {} }] })).toEqual([])
  })

  it('for a method that is switched off is 4100, also for one of the node', async () => {
    const { wallet } = open({ disabledMethods: ['personal_sign', 'eth_getLogs', 'wallet_addEthereumChain'] })
    const provider = await connected(wallet)
    const disabled = { reason: 'method-disabled' }
    expect(await refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))).toMatchObject({
      code: 4100,
      data: disabled,
    })
    expect(await refusal(provider.request({ method: 'eth_getLogs', params: [{}] }))).toMatchObject({ code: 4100, data: disabled })
    const added = await refusal(provider.request({ method: 'wallet_addEthereumChain', params: [{}] }))
    expect(added).toMatchObject({ code: 4100, message: 'Requested method not supported', data: disabled })
  })

  it.each([
    'wallet_unheardOf',
    'eth_unheardOf',
    'eth_sign',
    'eth_signTransaction',
    'eth_signTypedData',
    'eth_sendUnsignedTransaction',
    'eth_sendTransactionSync',
    'eth_resend',
    'anvil_setBalance',
    'evm_revert',
    'debug_traceCall',
    'pocketchain_approve',
    'constructor',
  ])('for %s is 4200', async (method) => {
    const { wallet, errors } = open()
    const pendingRequest = wallet.provider(ORIGIN).request({ method, params: [] })
    expect(await refusal(pendingRequest)).toMatchObject({ code: 4200, data: { reason: 'unsupported-method', method } })
    expect(errors).toEqual([])
  })

  it('for wallet_sendTransaction is -32601, so that viem shows the error of eth_sendTransaction', async () => {
    const sent = open()
      .wallet.provider(ORIGIN)
      .request({ method: 'wallet_sendTransaction', params: [{}] })
    expect(await refusal(sent)).toMatchObject({ code: -32601, data: { reason: 'unsupported-method' } })
  })

  it('that only reads is answered by the node of the selected chain, connected or not', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    expect(await provider.request({ method: 'eth_blockNumber' })).toBe(await node.request({ method: 'eth_blockNumber', params: [] }))
    expect(await provider.request({ method: 'web3_clientVersion' })).toMatch(/^anvil\/v1\.7\.1\/pocketchain\//)
    await other.request({ method: 'anvil_setBalance', params: [alice, '0x2a'] })
    wallet.sites.selectChain(ORIGIN, 777)
    expect(await provider.request({ method: 'eth_getBalance', params: [alice, 'latest'] })).toBe('0x2a')
    expect(await provider.request({ method: 'eth_chainId' })).toBe('0x309')
    expect(await provider.request({ method: 'net_version' })).toBe('777')
  })

  it('that the node rejects fails with its code and data', async () => {
    const { wallet } = open()
    const call = { to: alice, data: '0x', value: '0xffffffffffffffffffffffffffffff', from: bob }
    const [direct, through] = await Promise.all([
      refusal(node.request({ method: 'eth_call', params: [call, 'latest'] })),
      refusal(wallet.provider(ORIGIN).request({ method: 'eth_call', params: [call, 'latest'] })),
    ])
    expect(through).toEqual(direct)
  })

  it("that causes a bug returns -32603 without the bug's message, which onError receives", async () => {
    const { wallet, errors } = open({
      further: [
        {
          ...embeddedChain(other),
          rpc: { request: () => Promise.reject(new Error('secret')), subscribe: () => Promise.reject(new Error('secret')) },
        },
      ],
    })
    wallet.sites.selectChain(ORIGIN, 777)
    const { code, message } = await refusal(wallet.provider(ORIGIN).request({ method: 'eth_blockNumber' }))
    expect({ code, message }).toEqual({ code: -32603, message: expect.not.stringContaining('secret') as string })
    expect(errors).toEqual([new Error('secret')])
  })
})

describe('a provider wrapped by a library', () => {
  it('works behind a Proxy that calls its methods on itself', async () => {
    const { wallet } = open()
    const provider = new Proxy(wallet.provider(ORIGIN), {})
    const connect = next(provider, 'connect')
    expect(await provider.request({ method: 'eth_chainId' })).toBe('0x7a69')
    expect(await connect).toEqual({ chainId: '0x7a69' })
    const events: unknown[] = []
    const listener = (chainId: string): unknown => events.push(chainId)
    provider.on('chainChanged', listener)
    wallet.sites.selectChain(ORIGIN, 777)
    provider.removeListener('chainChanged', listener)
    wallet.sites.selectChain(ORIGIN, 31_337)
    expect(events).toEqual(['0x309'])
    provider.close()
    expect(await refusal(provider.request({ method: 'eth_chainId' }))).toMatchObject({ code: 4900 })
  })

  it('works by methods that were taken off it', async () => {
    const { wallet } = open()
    const { request, on, removeListener, close } = wallet.provider(ORIGIN)
    const events: unknown[] = []
    const listener = (chainId: string): unknown => events.push(chainId)
    on('chainChanged', listener)
    expect(await request({ method: 'eth_chainId' })).toBe('0x7a69')
    wallet.sites.selectChain(ORIGIN, 777)
    removeListener('chainChanged', listener)
    wallet.sites.selectChain(ORIGIN, 31_337)
    expect(events).toEqual(['0x309'])
    close()
    expect(await refusal(request({ method: 'eth_chainId' }))).toMatchObject({ code: 4900 })
  })
})

describe('connecting', () => {
  it('creates a question with all accounts and balances, and returns the selected ones', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([])
    expect(await provider.request({ method: 'eth_coinbase' })).toBeNull()
    const pendingRequest = provider.request({ method: 'eth_requestAccounts' })
    const { question, approve } = await wallet.approvals.next()
    expect(question).toMatchObject({ kind: 'connect', origin: ORIGIN, method: 'eth_requestAccounts', chain: { chainId: '0x7a69' } })
    if (question.kind !== 'connect') throw new Error(question.kind)
    expect(question.accounts.map(({ address }) => address)).toEqual(node.accounts.map(({ address }) => address))
    expect(question.accounts[1]).toMatchObject({ name: 'Account 2', balance: '0x21e19e0c9bab2400000' })
    approve({ accounts: [bob] })
    expect(await pendingRequest).toEqual([bob])
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([bob])
    expect(await provider.request({ method: 'eth_coinbase' })).toBe(bob)
  })

  it('creates no question for a connected origin', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    expect(await provider.request({ method: 'eth_requestAccounts' })).toHaveLength(10)
    expect(wallet.approvals.pending).toEqual([])
  })

  it('that is rejected fails with 4001 and permits nothing', async () => {
    const records = memoryRecords()
    const { wallet } = open({ records })
    const provider = wallet.provider(ORIGIN)
    const pendingRequest = refusal(provider.request({ method: 'eth_requestAccounts' }))
    ;(await wallet.approvals.next()).reject()
    expect(await pendingRequest).toMatchObject({ code: 4001, message: 'User rejected the request', data: { reason: 'rejected' } })
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([])
    expect([...records.entries('wallet/')]).toEqual([])
  })

  it('permissions of one origin do not apply to another', async () => {
    const { wallet } = open()
    await connected(wallet)
    const stranger = wallet.provider('https://other.example')
    expect(await stranger.request({ method: 'eth_accounts' })).toEqual([])
    expect(await stranger.request({ method: 'wallet_getPermissions' })).toEqual([])
    expect(await refusal(stranger.request({ method: 'personal_sign', params: ['0x', alice] }))).toMatchObject({ code: 4100 })
  })

  it('shows null for the balances of a chain that does not respond', async () => {
    const silent = { request: () => new Promise<never>(() => undefined), subscribe: () => new Promise<never>(() => undefined) }
    const { wallet } = open({ chains: [{ ...embeddedChain(node), rpc: silent }] })
    void wallet
      .provider(ORIGIN)
      .request({ method: 'eth_requestAccounts' })
      .catch(() => undefined)
    const { question } = await wallet.approvals.next()
    expect(question).toMatchObject({ kind: 'connect', accounts: Array.from({ length: 10 }, () => ({ balance: null })) })
  })

  it('to a wallet without accounts is 4100 without a question', async () => {
    const { wallet } = open({ keyring: Keyring.of({}) })
    const pendingRequest = wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' })
    expect(await refusal(pendingRequest)).toMatchObject({ code: 4100, data: { reason: 'no-accounts' } })
  })

  it('hands out lists that an app may change without changing what it is permitted', async () => {
    const { wallet } = open()
    const provider = await connected(wallet, ORIGIN, { accounts: [bob] })
    for (const method of ['eth_accounts', 'eth_requestAccounts']) ((await provider.request({ method })) as Address[]).push(alice)
    provider.on('accountsChanged', (accounts) => (accounts as Address[]).push(alice))
    wallet.sites.disconnect(ORIGIN)
    wallet.sites.connect(ORIGIN, [bob])
    expect(wallet.sites.get(ORIGIN).accounts).toEqual([bob])
  })

  it('survives a restart', async () => {
    const records = memoryRecords()
    const first = open({ records })
    await connected(first.wallet, ORIGIN, { accounts: [bob] })
    await first.wallet.close()
    const { wallet } = open({ records })
    expect(await wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' })).toEqual([bob])
  })

  it('is withdrawn when the app disconnects', async () => {
    const { wallet } = open()
    const gone = new AbortController()
    const pendingRequest = refusal(wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' }, { signal: gone.signal }))
    await wallet.approvals.next()
    gone.abort()
    expect(await pendingRequest).toMatchObject({ code: 4001, data: { reason: 'withdrawn' } })
    expect(wallet.approvals.pending).toEqual([])
  })
})

describe('requests', () => {
  it('may wait together without a warning of the runtime, and are all refused when the provider ends', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    const warnings: Error[] = []
    const hear = (warning: Error): unknown => warnings.push(warning)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    const sign = { method: 'personal_sign', params: ['0x00', alice] }
    const pendingRequest = Array.from({ length: WAITING_QUESTIONS_PER_ORIGIN }, () => refusal(provider.request(sign)))
    for (const _ of pendingRequest) await wallet.approvals.next()
    await new Promise((resolve) => setImmediate(resolve))
    provider.close()
    for (const each of await Promise.all(pendingRequest)) expect(each).toMatchObject({ code: 4001, data: { reason: 'withdrawn' } })
    expect(warnings).toEqual([])
  })
})

describe('events', () => {
  it('connect comes once, after the provider was handed out', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    expect(await next(provider, 'connect')).toEqual({ chainId: '0x7a69' })
    const events = recordEvents(provider)
    await provider.request({ method: 'eth_accounts' })
    expect(events).toEqual([])
  })

  it('go to every provider of the origin and to no other', async () => {
    const { wallet } = open()
    const [one, two, stranger] = [wallet.provider(ORIGIN), wallet.provider(ORIGIN), wallet.provider('https://other.example')]
    await Promise.all([one, two, stranger].map((each) => next(each, 'connect')))
    const [first, second, third] = [recordEvents(one), recordEvents(two), recordEvents(stranger)]
    await connected(wallet, ORIGIN, { accounts: [bob] })
    wallet.sites.selectChain(ORIGIN, 777)
    await one.request({ method: 'wallet_revokePermissions', params: [{ eth_accounts: {} }] })
    const received = [
      ['accountsChanged', [bob]],
      ['chainChanged', '0x309'],
      ['accountsChanged', []],
    ]
    expect(first).toEqual(received)
    expect(second).toEqual(received)
    expect(third).toEqual([])
  })

  it('are not emitted when nothing has changed', async () => {
    const { wallet } = open()
    const provider = await connected(wallet, ORIGIN, { accounts: [bob] })
    const events = recordEvents(provider)
    wallet.sites.connect(ORIGIN, [bob])
    wallet.sites.selectChain(ORIGIN, 31_337)
    expect(events).toEqual([])
  })

  it('a removed listener receives no further events, and one that throws does not affect others', async () => {
    const { wallet, errors } = open()
    const provider = wallet.provider(ORIGIN)
    const received: unknown[] = []
    const listener = (chainId: string): void => void received.push(chainId)
    provider.on('chainChanged', () => {
      throw new Error('mine')
    })
    expect(provider.on('chainChanged', listener)).toBe(provider)
    wallet.sites.selectChain(ORIGIN, 777)
    expect(provider.removeListener('chainChanged', listener)).toBe(provider)
    wallet.sites.selectChain(ORIGIN, 31_337)
    expect(received).toEqual(['0x309'])
    expect(errors).toEqual([new Error('mine'), new Error('mine')])
  })

  it('report the outcome of a batch to its origin only', async () => {
    const { wallet } = open()
    const provider = await connected(wallet, ORIGIN, { accounts: [alice] })
    const events = recordEvents(await connected(wallet, 'https://other.example'))
    const message = next(provider, 'message')
    const batch = {
      version: '2.0.0',
      id: 'mine',
      chainId: '0x7a69',
      from: alice,
      atomicRequired: false,
      calls: [{ to: bob, value: '0x1' }],
    }
    const pendingRequest = provider.request({ method: 'wallet_sendCalls', params: [batch] })
    ;(await wallet.approvals.next()).approve()
    await pendingRequest
    expect(await message).toEqual({ type: 'wallet_callsStatus', data: { id: 'mine', status: 200 } })
    expect(events).toEqual([])
  })

  it('closing emits disconnect with the code of a normal closure, and rejects further requests with 4900', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    const events = recordEvents(provider)
    const waiting = refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))
    await wallet.approvals.next()
    provider.close()
    provider.close()
    expect(events).toMatchObject([['disconnect', { code: 1000, data: { reason: 'closed' } }]])
    expect(await waiting).toMatchObject({ code: 4001, data: { reason: 'withdrawn' } })
    expect(await refusal(provider.request({ method: 'eth_chainId' }))).toMatchObject({ code: 4900 })
    expect(await wallet.provider(ORIGIN).request({ method: 'eth_accounts' })).toHaveLength(10)
  })

  it('closing the wallet closes every provider, also those that come later', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    const gone = next(provider, 'disconnect')
    await wallet.close()
    expect(await gone).toMatchObject({ code: 1000 })
    expect(await refusal(wallet.provider(ORIGIN).request({ method: 'eth_chainId' }))).toMatchObject({ code: 4900 })
  })
})

describe('subscriptions', () => {
  it('come as messages until they are ended', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    const first = next(provider, 'message')
    const id = await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    const number = await node.request({ method: 'eth_blockNumber', params: [] })
    expect(await first).toMatchObject({ type: 'eth_subscription', data: { subscription: id, result: { number } } })
    expect(await provider.request({ method: 'eth_unsubscribe', params: [id] })).toBe(true)
    expect(await provider.request({ method: 'eth_unsubscribe', params: [id] })).toBe(false)
    const events = recordEvents(provider)
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    expect(events).toEqual([])
  })

  it('are copies for each listener, as answers are for each caller', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    const permissions = await provider.request({ method: 'wallet_getPermissions' })
    const before = structuredClone(permissions)
    const [{ caveats }] = permissions as [{ caveats: { value: string[] }[] }]
    caveats[0]!.value.length = 0
    expect(await provider.request({ method: 'wallet_getPermissions' })).toEqual(before)
    await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
    provider.on('message', ({ data }) => Object.assign((data as { result: object }).result, { number: 'edited' }))
    const message = next(provider, 'message')
    await node.request({ method: 'anvil_mine', params: [] })
    expect(await message).toMatchObject({ data: { result: { number: expect.stringMatching(/^0x/) } } })
  })

  it('end when the origin is on another chain', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    const id = await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
    wallet.sites.selectChain(ORIGIN, 777)
    const events = recordEvents(provider)
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    expect(events).toEqual([])
    expect(await provider.request({ method: 'eth_unsubscribe', params: [id] })).toBe(false)
  })

  it('of one provider are no business of another', async () => {
    const { wallet } = open()
    const [one, two] = [wallet.provider(ORIGIN), wallet.provider(ORIGIN)]
    await next(two, 'connect')
    const events = recordEvents(two)
    const id = await one.request({ method: 'eth_subscribe', params: ['newHeads'] })
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    expect(await two.request({ method: 'eth_unsubscribe', params: [id] })).toBe(false)
    expect(events).toEqual([])
  })

  it('are rejected with the error of the node, and beyond the limit with -32005', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    expect(await refusal(provider.request({ method: 'eth_subscribe', params: ['unheardOf'] }))).toMatchObject({ code: -32602 })
    const ids: unknown[] = []
    for (let i = 0; i < SUBSCRIPTIONS_PER_PROVIDER; i++) ids.push(await provider.request({ method: 'eth_subscribe', params: ['newHeads'] }))
    const refused = await refusal(provider.request({ method: 'eth_subscribe', params: ['newHeads'] }))
    expect(refused).toMatchObject({ code: -32005, data: { limit: SUBSCRIPTIONS_PER_PROVIDER } })
    await provider.request({ method: 'eth_unsubscribe', params: [ids[0]] })
    expect(await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })).toMatch(/^0x[1-9a-f][0-9a-f]+$/)
  })

  it('of a closed provider are not delivered', async () => {
    const { wallet } = open()
    const provider = wallet.provider(ORIGIN)
    await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
    provider.close()
    const events = recordEvents(provider)
    await node.request({ method: 'anvil_mine', params: ['0x1'] })
    expect(events).toEqual([])
  })
})

describe('questions that have lost their reason', () => {
  const typedData = {
    types: { EIP712Domain: [{ name: 'chainId', type: 'uint256' }], Mail: [{ name: 'text', type: 'string' }] },
    primaryType: 'Mail',
    domain: { chainId: 31_337 },
    message: { text: 'hi' },
  }

  it('are withdrawn with 4100 when the account is not permitted any more', async () => {
    const { wallet } = open()
    const provider = await connected(wallet, ORIGIN, { accounts: [alice, bob] })
    const pendingRequest = refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))
    const kept = provider.request({ method: 'personal_sign', params: ['0x', bob] })
    await wallet.approvals.next()
    const { approve } = await wallet.approvals.next()
    wallet.sites.connect(ORIGIN, [bob])
    expect(await pendingRequest).toMatchObject({ code: 4100, data: { reason: 'account-not-permitted' } })
    approve()
    expect(await kept).toMatch(/^0x[0-9a-f]{130}$/)
  })

  it('are withdrawn when they were about the chain that the origin has left', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    const pendingRequest = refusal(provider.request({ method: 'eth_signTypedData_v4', params: [alice, typedData] }))
    await wallet.approvals.next()
    wallet.sites.selectChain(ORIGIN, 777)
    expect(await pendingRequest).toMatchObject({ code: 4001, data: { reason: 'chain-changed' } })
  })

  it('leave nothing behind: what was about to be sent is not, and the next one is', async () => {
    const { wallet } = open()
    const provider = await connected(wallet, ORIGIN, { accounts: [alice] })
    const nonce = () => node.request({ method: 'eth_getTransactionCount', params: [alice, 'pending'] })
    const before = await nonce()
    const transaction = { from: alice, to: bob, value: '0x1' }
    const batch = { version: '2.0.0', chainId: '0x7a69', from: alice, atomicRequired: false, calls: [{ to: bob, value: '0x1' }] }
    const sent = refusal(provider.request({ method: 'eth_sendTransaction', params: [transaction] }))
    await wallet.approvals.next({ kind: 'send' })
    const batched = refusal(provider.request({ method: 'wallet_sendCalls', params: [batch] }))
    await wallet.approvals.next({ kind: 'batch' })
    wallet.sites.selectChain(ORIGIN, 777)
    expect([await sent, await batched]).toMatchObject([
      { code: 4001, data: { reason: 'chain-changed' } },
      { code: 4001, data: { reason: 'chain-changed' } },
    ])
    expect(await nonce()).toBe(before)
    wallet.sites.selectChain(ORIGIN, 31_337)
    const again = provider.request({ method: 'eth_sendTransaction', params: [transaction] })
    ;(await wallet.approvals.next()).approve()
    expect(await again).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await nonce()).not.toBe(before)
  })

  it('stay when another origin changes', async () => {
    const { wallet } = open()
    const provider = await connected(wallet)
    const pendingRequest = provider.request({ method: 'eth_signTypedData_v4', params: [alice, typedData] })
    const { approve } = await wallet.approvals.next()
    wallet.sites.selectChain('https://other.example', 777)
    approve()
    expect(await pendingRequest).toMatch(/^0x/)
  })
})

describe('the API for servers', () => {
  const stranger = { origin: null, isControl: false, signal: null }
  const page = { origin: ORIGIN, isControl: false, signal: null }
  const control = { origin: null, isControl: true, signal: null }
  const call = (method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id: 1, method, params })

  async function ask(wallet: ReturnType<typeof open>['wallet'], body: unknown, caller: typeof stranger | typeof page): Promise<unknown> {
    const answer = await wallet.api.handle(JSON.stringify(body), caller)
    return answer === null ? null : JSON.parse(answer)
  }

  it('answers for the origin that the server names', async () => {
    const { wallet } = open()
    await connected(wallet, ORIGIN, { accounts: [bob] })
    expect(await ask(wallet, call('eth_accounts'), page)).toEqual({ jsonrpc: '2.0', id: 1, result: [bob] })
    expect(await ask(wallet, call('eth_accounts'), { ...page, origin: 'https://other.example' })).toMatchObject({ result: [] })
  })

  it('without an origin requires the control credential and acts for the local origin', async () => {
    const { wallet } = open()
    const refused = await ask(wallet, call('eth_chainId'), stranger)
    expect(refused).toMatchObject({
      error: { code: 4100, message: expect.stringContaining('control token') as string, data: { reason: 'no-origin' } },
    })
    await connected(wallet, 'local', { accounts: [bob] })
    expect(await ask(wallet, call('eth_accounts'), control)).toMatchObject({ result: [bob] })
  })

  it('a page can neither see nor answer questions, its own included', async () => {
    const { wallet } = open()
    const pendingRequest = ask(wallet, call('eth_requestAccounts'), page)
    const { question, reject } = await wallet.approvals.next()
    for (const body of [call('pocketchain_approve', [question.id]), call('pocketchain_approvals'), call('pocketchain_unheardOf')]) {
      expect(await ask(wallet, body, page)).toMatchObject({ error: { code: 4100, data: { reason: 'control-only' } } })
    }
    expect(wallet.approvals.pending).toHaveLength(1)
    reject()
    expect(await pendingRequest).toMatchObject({ error: { code: 4001 } })
  })

  it('the control credential answers them', async () => {
    const { wallet } = open()
    const pendingRequest = ask(wallet, call('eth_requestAccounts'), page)
    const { question } = await wallet.approvals.next()
    expect(await ask(wallet, call('pocketchain_approvals'), control)).toMatchObject({ result: [{ id: question.id, kind: 'connect' }] })
    expect(await ask(wallet, call('pocketchain_approve', [question.id, { accounts: [bob] }]), control)).toMatchObject({ result: null })
    expect(await pendingRequest).toMatchObject({ result: [bob] })
    expect(await ask(wallet, call('pocketchain_unheardOf'), control)).toMatchObject({ error: { code: -32601 } })
  })

  it('answers batches in order and not more items than the limit', async () => {
    const { wallet } = open()
    expect(await ask(wallet, [call('eth_chainId'), call('eth_unheardOf')], page)).toMatchObject([
      { result: '0x7a69' },
      { error: { code: 4200 } },
    ])
    const many = Array.from({ length: REQUEST_BATCH_ITEMS + 1 }, () => call('eth_chainId'))
    expect(await ask(wallet, many, page)).toMatchObject([{ error: { code: -32600 } }])
  })

  it('rejects subscriptions over HTTP, which has no notifications', async () => {
    const { wallet } = open()
    const answer = await ask(wallet, call('eth_subscribe', ['newHeads']), page)
    expect(answer).toMatchObject({ error: { code: 4200, data: { reason: 'no-notifications' } } })
  })

  it('withdraws the question of a page that is gone', async () => {
    const { wallet } = open()
    const gone = new AbortController()
    const pendingRequest = ask(wallet, call('eth_requestAccounts'), { ...page, signal: gone.signal } as never)
    await wallet.approvals.next()
    gone.abort()
    expect(await pendingRequest).toMatchObject({ error: { code: 4001 } })
    expect(wallet.approvals.pending).toEqual([])
  })
})

describe('createWallet', () => {
  it('rejects invalid settings and origins', () => {
    expect(() => open({ maxCalls: 0 })).toThrow(RangeError)
    const { wallet } = open()
    expect(() => wallet.provider('')).toThrow(RangeError)
    expect(() => wallet.provider('x'.repeat(301))).toThrow(RangeError)
  })

  it('signs with any key that it is given', async () => {
    const key = new Uint8Array(32).fill(7)
    const { wallet } = open({ keyring: Keyring.of({ memory: [key] }) })
    await connected(wallet)
    expect(wallet.sites.get(ORIGIN).accounts).toEqual([Secp256k1.address(key)])
  })
})
