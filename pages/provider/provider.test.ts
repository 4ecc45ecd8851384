import { BaseError, ContractFunctionRevertedError, createPublicClient, custom, encodeErrorResult, parseAbi } from 'viem'
import { describe, expect, test, vi } from 'vitest'
import { ProviderRpcError } from './error.ts'
import type { WalletEvent } from './connection.ts'
import { createProvider } from './provider.ts'
import type { Listener } from './listeners.ts'
import type { Provider } from './provider.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

/** A provider over a wire that answers immediately, as a wallet that has permitted `accounts` to the site. */
function open({ accounts = [] }: { accounts?: readonly string[] } = {}) {
  const asked: string[] = []
  let permitted = accounts
  let send: (event: WalletEvent) => void = () => {}
  const request = async (method: string, params: unknown): Promise<unknown> => {
    asked.push(method)
    if (method === 'eth_accounts') return permitted
    if (method === 'eth_requestAccounts') return connectAs([ALICE, BOB])
    if (method === 'echo') return params
    throw new ProviderRpcError(4200, `no ${method}`, { reason: 'unsupported-method' })
  }
  const connectAs = (next: readonly string[]): readonly string[] => {
    permitted = next
    send({ event: 'accountsChanged', data: next })
    return next
  }
  const provider = createProvider((onEvent) => {
    send = onEvent
    return { request }
  })
  return { provider, asked, connectAs, send: (event: string, data: unknown) => send({ event, data }) }
}

/** The wallet has named its chain, and the accounts are known. */
async function opened(options: Parameters<typeof open>[0] = {}) {
  const all = open(options)
  all.send('connect', { chainId: '0x7a69' })
  await vi.waitFor(() => expect(all.provider._state.initialized).toBe(true))
  return all
}

function heard(provider: Provider): (readonly [string, unknown])[] {
  const events: (readonly [string, unknown])[] = []
  for (const name of ['connect', 'disconnect', 'chainChanged', 'networkChanged', 'accountsChanged', 'message']) {
    provider.on(name, (value) => events.push([name, value]))
  }
  return events
}

describe('the state of a provider', () => {
  test('is null before the first message of the wallet, and set afterwards', async () => {
    const { provider, send } = open({ accounts: [ALICE] })
    expect([provider.chainId, provider.networkVersion, provider.selectedAddress, provider.isConnected()]).toEqual([null, null, null, false])
    const events = heard(provider)
    send('connect', { chainId: '0x7a69' })
    await vi.waitFor(() => expect(provider.selectedAddress).toBe(ALICE))
    expect([provider.chainId, provider.networkVersion, provider.isConnected()]).toEqual(['0x7a69', '31337', true])
    expect(events).toEqual([['connect', { chainId: '0x7a69' }]])
  })

  test('follows the wallet, and is updated before listeners are called', async () => {
    const { provider, connectAs, send } = await opened()
    const seen: unknown[] = []
    provider.on('accountsChanged', () => seen.push(provider.selectedAddress))
    provider.on('chainChanged', () => seen.push(provider.chainId, provider.networkVersion))
    connectAs([BOB, ALICE])
    send('chainChanged', '0x14a34')
    connectAs([])
    expect(seen).toEqual([BOB, '0x14a34', '84532', null])
  })

  test('is set when eth_requestAccounts resolves, with one event', async () => {
    const { provider } = await opened()
    const events = heard(provider)
    await provider.request({ method: 'eth_requestAccounts' })
    expect(provider.selectedAddress).toBe(ALICE)
    expect(events).toEqual([['accountsChanged', [ALICE, BOB]]])
  })

  test('is kept while the connection is lost; changes are emitted after the reconnection', async () => {
    const { provider, connectAs, send } = await opened({ accounts: [ALICE] })
    const events = heard(provider)
    send('disconnect', new ProviderRpcError(1013, 'gone'))
    expect([provider.chainId, provider.selectedAddress, provider.isConnected()]).toEqual(['0x7a69', ALICE, false])
    send('connect', { chainId: '0x7a69' })
    send('disconnect', new ProviderRpcError(1013, 'gone'))
    connectAs([BOB])
    send('connect', { chainId: '0x1' })
    await Promise.resolve()
    expect([provider.chainId, provider.selectedAddress]).toEqual(['0x1', BOB])
    expect(events.map(([name]) => name)).toEqual([
      'disconnect',
      'connect',
      'disconnect',
      'accountsChanged',
      'connect',
      'chainChanged',
      'networkChanged',
    ])
  })

  test('is not changed when an app mutates a returned list', async () => {
    const { provider } = await opened({ accounts: [ALICE] })
    provider.on('accountsChanged', (list) => (list as string[]).push(BOB))
    ;((await provider.request({ method: 'eth_requestAccounts' })) as string[]).length = 0
    expect(provider.selectedAddress).toBe(ALICE)
  })
})

describe('a provider wrapped by a library', () => {
  test('works behind a Proxy, as MetaMask’s SDK makes one', async () => {
    const { provider, connectAs } = await opened()
    const proxy = new Proxy(provider, {
      get: (target, name) => (name === 'isConnected' ? () => provider._state.isConnected : Reflect.get(target, name)),
    })
    const listener = vi.fn<Listener>()
    expect(proxy.on('accountsChanged', listener)).toBe(provider)
    connectAs([BOB])
    proxy.removeListener('accountsChanged', listener)
    connectAs([ALICE])
    expect(listener.mock.calls).toEqual([[[BOB]]])
    expect([proxy.isConnected(), proxy.chainId, proxy.selectedAddress]).toEqual([true, '0x7a69', ALICE])
    expect(await proxy.request({ method: 'echo', params: [1] })).toEqual([1])
  })

  test('works with detached methods, and as a copy', async () => {
    const { provider, connectAs } = await opened()
    const { request, on, off, send, enable, isConnected } = provider
    const listener = vi.fn<Listener>()
    on('accountsChanged', listener)
    connectAs([BOB])
    off('accountsChanged', listener)
    connectAs([])
    expect(listener).toHaveBeenCalledOnce()
    expect([await request({ method: 'echo' }), isConnected()]).toEqual([[], true])
    expect(await send('echo', [2])).toMatchObject({ result: [2] })
    expect(await enable()).toEqual([ALICE, BOB])
    expect(await { ...provider }.request({ method: 'echo', params: [3] })).toEqual([3])
  })

  test('keeps properties that a library deletes, and accepts those that an app adds', () => {
    const { provider } = open()
    const own = provider as Partial<Provider> & { isMetaMask?: boolean }
    expect(delete own.sendAsync).toBe(true)
    own.isMetaMask = true
    expect([typeof provider.sendAsync, own.isMetaMask]).toEqual(['function', true])
  })

  test('is seen as EIP-1193 by web3.js, which looks for an asynchronous request', () => {
    const { provider } = open()
    expect(provider.request.constructor.name).toBe('AsyncFunction')
    expect('state' in provider).toBe(false) // by which MetaMask's SDK recognises another provider
  })
})

describe('listeners', () => {
  test('are called once per registration, and a removal removes the newest one', async () => {
    const { provider, connectAs } = await opened()
    const listener = vi.fn<Listener>()
    provider.on('accountsChanged', listener).addListener('accountsChanged', listener).once('accountsChanged', listener)
    expect(provider.listenerCount('accountsChanged')).toBe(3)
    connectAs([ALICE])
    expect(listener).toHaveBeenCalledTimes(3)
    provider.off('accountsChanged', listener)
    connectAs([BOB])
    expect(listener).toHaveBeenCalledTimes(4)
    expect(provider.listeners('accountsChanged')).toEqual([listener])
  })

  test('added by once() can be removed before the event', async () => {
    const { provider, connectAs } = await opened()
    const listener = vi.fn<Listener>()
    provider.once('accountsChanged', listener).removeListener('accountsChanged', listener)
    connectAs([ALICE])
    expect(listener).not.toHaveBeenCalled()
  })

  test('are called in their order', async () => {
    const { provider, connectAs } = await opened()
    const order: string[] = []
    provider.on('accountsChanged', () => order.push('second'))
    provider.prependListener('accountsChanged', () => order.push('first'))
    provider.prependOnceListener('accountsChanged', () => order.push('zeroth'))
    connectAs([ALICE])
    connectAs([BOB])
    expect(order).toEqual(['zeroth', 'first', 'second', 'first', 'second'])
  })

  test('are removed all at once, of one event or of every one', () => {
    const { provider } = open()
    heard(provider)
    expect(provider.removeAllListeners('connect').listenerCount('connect')).toBe(0)
    expect(provider.eventNames()).toHaveLength(5)
    expect(provider.removeAllListeners().eventNames()).toEqual([])
    expect(provider.setMaxListeners(200).getMaxListeners()).toBe(0)
  })

  test('are functions', () => {
    const { provider } = open()
    expect(() => provider.on('connect', undefined as never)).toThrow('a listener is a function, not undefined')
  })
})

describe('sendAsync', () => {
  const calledBack = (provider: Provider, payload: unknown): Promise<unknown> =>
    new Promise((resolve) => provider.sendAsync(payload as never, (...answer) => resolve(answer)))

  test('calls back with the response under the id of the request', async () => {
    const { provider } = open()
    expect(await calledBack(provider, { id: 7, jsonrpc: '2.0', method: 'echo', params: ['a'] })).toEqual([
      null,
      { id: 7, jsonrpc: '2.0', result: ['a'] },
    ])
  })

  test('calls back with the error and the error response', async () => {
    const { provider } = open()
    const answer = await calledBack(provider, { id: 'x', method: 'eth_sign' })
    const error = { code: 4200, message: 'no eth_sign', data: { reason: 'unsupported-method' } }
    expect(answer).toEqual([expect.any(ProviderRpcError), { id: 'x', jsonrpc: '2.0', error }])
    expect(answer).toMatchObject([error, {}])
    expect(await calledBack(provider, null)).toMatchObject([{ code: -32602 }, { error: { code: -32602 } }])
  })

  test('answers a batch in its order, with an error for each request that fails', async () => {
    const { provider } = open()
    const batch = [
      { id: 1, method: 'echo', params: [1] },
      { id: 2, method: 'eth_sign' },
      { id: 3, method: 'echo', params: [3] },
    ]
    expect(await calledBack(provider, batch)).toMatchObject([
      null,
      [
        { id: 1, result: [1] },
        { id: 2, error: { code: 4200 } },
        { id: 3, result: [3] },
      ],
    ])
    expect(await calledBack(provider, [])).toMatchObject([null, [{ id: null, error: { code: -32600 } }]])
  })

  test('sends the request without a callback, and refuses a callback that is not a function', () => {
    const { provider, asked } = open()
    expect(provider.sendAsync([{ method: 'echo' }, { method: 'echo' }])).toBeUndefined()
    expect(asked).toEqual(['echo', 'echo'])
    expect(() => provider.sendAsync({ method: 'echo' }, 'callback' as never)).toThrow('must be a function')
  })
})

describe('send', () => {
  test('with a method resolves with the response, or rejects', async () => {
    const { provider } = open()
    expect(await provider.send('echo', [5])).toEqual({ id: undefined, jsonrpc: '2.0', result: [5] })
    expect(await provider.send('echo')).toMatchObject({ result: [] })
    await expect(provider.send('eth_sign', [])).rejects.toMatchObject({ code: 4200 })
  })

  test('with a callback is sendAsync', async () => {
    const { provider } = open()
    const answer = await new Promise((resolve) => {
      expect(provider.send({ id: 1, method: 'echo' }, (...all: unknown[]) => resolve(all))).toBeUndefined()
    })
    expect(answer).toEqual([null, { id: 1, jsonrpc: '2.0', result: [] }])
  })

  test('with a request alone answers four methods synchronously', async () => {
    const { provider, asked } = await opened({ accounts: [ALICE, BOB] })
    const result = (method: string): unknown => (provider.send({ id: 9, jsonrpc: '2.0', method }) as { result: unknown }).result
    expect(['eth_accounts', 'eth_coinbase', 'net_version', 'eth_uninstallFilter'].map(result)).toEqual([[ALICE], ALICE, '31337', true])
    expect(asked).toContain('eth_uninstallFilter')
    expect(provider.send({ id: 9, jsonrpc: '2.0', method: 'eth_coinbase' })).toEqual({ id: 9, jsonrpc: '2.0', result: ALICE })
    const before = open().provider
    expect(before.send({ method: 'eth_accounts' })).toMatchObject({ result: [] })
    expect(before.send({ method: 'net_version' })).toMatchObject({ result: null })
  })

  test.each([[{ method: 'eth_blockNumber' }], [{}], [null], [7], [undefined]])('of %j alone throws', (payload) => {
    const { provider, asked } = open()
    expect(() => provider.send(payload)).toThrow(/cannot be answered synchronously/)
    expect(asked).toEqual([])
  })
})

test('viem decodes a revert that the provider has thrown', async () => {
  const data = encodeErrorResult({ abi: parseAbi(['error Denied(uint256 code)']), args: [42n] })
  const revert = () => Promise.reject(new ProviderRpcError(-32000, 'execution reverted', data))
  const client = createPublicClient({ transport: custom(createProvider(() => ({ request: revert }))) })
  const abi = parseAbi(['function ask() view', 'error Denied(uint256 code)'])
  const error = await client.readContract({ address: BOB, abi, functionName: 'ask' }).catch((thrown: unknown) => thrown)
  const reverted = error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
  expect(reverted).toMatchObject({ data: { errorName: 'Denied', args: [42n] } })
})
