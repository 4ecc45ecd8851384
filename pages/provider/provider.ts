import { ProviderRpcError } from './error.ts'
import type { WalletEvent } from './connection.ts'
import { legacyMethods } from './legacy.ts'
import type { LegacyMethods } from './legacy.ts'
import { eventMethods } from './listeners.ts'
import type { EventMethods } from './listeners.ts'

/** EIP-1193, and the older surface of MetaMask's provider. */
export interface Provider extends EventMethods<Provider>, LegacyMethods {
  readonly isPocketchain: true
  /** 0x-prefixed; null before the wallet has named its chain. Kept while the connection is lost. */
  readonly chainId: string | null
  /** The same in decimal. */
  readonly networkVersion: string | null
  /** The first of the accounts that the site may see, null while there is none. */
  readonly selectedAddress: string | null
  /** Read by MetaMask's SDK. */
  readonly _state: ProviderState
  isConnected(): boolean
  /** Rejects with ProviderRpcError: the wallet's error, -32602 for an invalid request, 4900 when the node cannot be reached. */
  request(request: { readonly method: string; readonly params?: unknown }): Promise<unknown>
}

interface ProviderState {
  readonly accounts: readonly string[] | null
  readonly isConnected: boolean
  readonly isUnlocked: boolean
  readonly initialized: boolean
  readonly isPermanentlyDisconnected: boolean
}

/** Opens the connection for requests. `onEvent` receives the wallet's events. */
type OpenWire = (onEvent: (event: WalletEvent) => void) => { request(method: string, params: unknown): Promise<unknown> }

/**
 * A provider over a site's connection. The browser sets the connection's Origin, which identifies the site; the page cannot change it.
 *
 * All state is in this closure: apps wrap a provider in a Proxy, where `#private` members throw, and take methods off it, where `this` is lost.
 */
export function createProvider(open: OpenWire): Provider {
  let chainId: string | null = null
  let accounts: readonly string[] | null = null
  let isConnected = false
  /** incremented by each change of the accounts, to discard responses to requests that were sent before it */
  let revision = 0

  const { methods, emit } = eventMethods<Provider>(() => provider)
  const networkVersion = (): string | null => (chainId === null ? null : BigInt(chainId).toString())

  const setChain = (next: string): void => {
    const isFirst = chainId === null
    if (chainId === next) return
    chainId = next
    if (isFirst) return
    emit('chainChanged', next)
    emit('networkChanged', networkVersion())
  }

  const setAccounts = (next: readonly string[], isFirstSilent: boolean): void => {
    const isSame = accounts?.length === next.length && accounts.every((account, at) => account === next[at])
    if (isSame) return
    const isSilent = isFirstSilent && accounts === null
    accounts = [...next]
    revision++
    if (!isSilent) emit('accountsChanged', [...next])
  }

  /** Updates the accounts before the app receives the response. */
  const ask = async (method: string, params: unknown): Promise<unknown> => {
    const before = revision
    const result = await wire.request(method, params)
    if (ACCOUNT_METHODS.has(method) && revision === before && isListOfText(result)) setAccounts(result, true)
    return result
  }

  const receive = ({ event, data }: WalletEvent): void => {
    if (event === 'accountsChanged' && isListOfText(data)) return setAccounts(data, false)
    if (event === 'chainChanged' && typeof data === 'string') return setChain(data)
    if (event === 'connect') isConnected = true
    if (event === 'disconnect') isConnected = false
    if (event !== 'connect') return emit(event, data)
    const { chainId: named } = data as { readonly chainId: string } // as EIP-1193 defines the event
    const isFirst = chainId === null
    if (isFirst) setChain(named)
    emit(event, data)
    if (!isFirst) setChain(named) // the address may lead to another node now
    ask('eth_accounts', []).catch(() => {}) // without a response they stay unknown
  }

  const request = async (args: { readonly method: string; readonly params?: unknown }): Promise<unknown> => {
    if (typeof args !== 'object' || args === null || typeof args.method !== 'string' || args.method === '') {
      throw new ProviderRpcError(-32602, 'a request is an object with a method, such as { method: "eth_chainId" }')
    }
    const { method, params = [] } = args
    return ask(method, params)
  }

  const surface: Provider = {
    isPocketchain: true,
    get chainId() {
      return chainId
    },
    get networkVersion() {
      return networkVersion()
    },
    get selectedAddress() {
      return accounts?.[0] ?? null
    },
    _state: {
      get accounts() {
        return accounts === null ? null : [...accounts]
      },
      get isConnected() {
        return isConnected
      },
      isUnlocked: true,
      get initialized() {
        return accounts !== null
      },
      isPermanentlyDisconnected: false,
    },
    isConnected: () => isConnected,
    request,
    ...methods,
    ...legacyMethods({ request, accounts: () => accounts ?? [], networkVersion }),
  }
  // web3.js 1 deletes `sendAsync` of a provider, which other libraries of the page may use. MetaMask ignores deletions too.
  const provider = new Proxy(surface, { deleteProperty: () => true })
  const wire = open(receive)
  return provider
}

const ACCOUNT_METHODS: ReadonlySet<string> = new Set(['eth_accounts', 'eth_requestAccounts'])

function isListOfText(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
