import { checksummed } from '../wallet/format.ts'
import { isRecord } from './message.ts'
import type { Action, Failure, WalletData } from './message.ts'

/** The wallet on behalf of the app's origin. Rejects with `code`, `message` and optional `data`. */
export interface ClientWallet {
  readonly origin: string
  request(method: string, params?: unknown): Promise<unknown>
  /** the wallet's chains for the SDK */
  chains(): Promise<readonly ClientChain[]>
}

export interface ClientChain {
  readonly chainId: number
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly rpcUrl: string
}

/** Performs a request of the app. `chainId`: the chain that the app considers selected. */
export async function perform(wallet: ClientWallet, action: Action, chainId: number | null): Promise<unknown> {
  const own = OWN_ACTIONS.get(action.method)
  if (own !== undefined) return own(wallet, action, chainId)
  if (ON_A_CHAIN.has(action.method)) await connectOnChain(wallet, chainId)
  return wallet.request(action.method, action.params)
}

/** Wallet data for each response to a connected app; undefined if the app is not connected. */
export async function walletData(wallet: ClientWallet): Promise<WalletData | undefined> {
  const [account] = asStrings(await wallet.request('eth_accounts'))
  if (account === undefined) return undefined
  const [chains, capabilities] = await Promise.all([wallet.chains(), wallet.request('wallet_getCapabilities', [account])])
  return {
    chains: Object.fromEntries(chains.map(({ chainId, rpcUrl }) => [chainId, rpcUrl])),
    capabilities: isRecord(capabilities) ? capabilities : {},
    nativeCurrencies: Object.fromEntries(
      chains.map(({ chainId, name, symbol, decimals }) => [chainId, { name, symbol, decimal: decimals }]),
    ),
  }
}

/** An error as the SDK passes it to the app. */
export function failureOf(error: unknown): Failure {
  if (!isRecord(error)) return { code: INTERNAL, message: String(error) }
  const { code, message, data } = error
  return {
    code: typeof code === 'number' ? code : INTERNAL,
    message: typeof message === 'string' ? message : 'the wallet failed',
    ...(data === undefined ? {} : { data }),
  }
}

const INTERNAL = -32603

type OwnAction = (wallet: ClientWallet, action: Action, chainId: number | null) => Promise<unknown>

/** Methods of this protocol only; the wallet answers all others. */
const OWN_ACTIONS: ReadonlyMap<string, OwnAction> = new Map([
  ['handshake', async () => null],
  ['wallet_connect', connect],
  ['wallet_sign', sign],
])

/** Methods that act on the selected chain. */
const ON_A_CHAIN: ReadonlySet<string> = new Set(['wallet_sendCalls', 'eth_sendTransaction', 'eth_signTypedData_v4'])

/**
 * The SDK switches between its chains without a request to the wallet, and pays without connecting first. Both are therefore requested here,
 * as separate questions, before the method that needs them.
 */
async function connectOnChain(wallet: ClientWallet, chainId: number | null): Promise<void> {
  await wallet.request('eth_requestAccounts')
  if (chainId === null || Number(await wallet.request('eth_chainId')) === chainId) return
  const chains = await wallet.chains()
  if (!chains.some((chain) => chain.chainId === chainId)) return
  await wallet.request('wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])
}

/** ERC-7846: accounts, chains, and a signature that proves the first account if the app requests a sign-in. wagmi reads `chainIds[0]`. */
async function connect(wallet: ClientWallet, { params }: Action, chainId: number | null): Promise<unknown> {
  const accounts = asStrings(await wallet.request('eth_requestAccounts'))
  const requested = isRecord(first(params)?.['capabilities']) ? first(params)?.['capabilities'] : {}
  const signIn = isRecord(requested) && isRecord(requested['signInWithEthereum']) ? requested['signInWithEthereum'] : null
  const selected = Number(await wallet.request('eth_chainId'))
  const chainIds = await chainIdsFrom(wallet, selected)
  const [address] = accounts
  if (signIn === null || address === undefined) {
    return { accounts: accounts.map((account) => ({ address: account, capabilities: {} })), chainIds }
  }
  const message = signInMessage(wallet.origin, address, chainId ?? selected, signIn)
  const signature = await wallet.request('personal_sign', [asHex(message), address])
  return {
    accounts: accounts.map((account) => ({
      address: account,
      capabilities: account === address ? { signInWithEthereum: { message, signature } } : {},
    })),
    chainIds,
  }
}

/** The selected chain first, as `wallet_connect` of `POST /wallet` answers. */
async function chainIdsFrom(wallet: ClientWallet, selected: number): Promise<readonly string[]> {
  const others = (await wallet.chains()).flatMap(({ chainId }) => (chainId === selected ? [] : [chainId]))
  return [selected, ...others].map((id) => `0x${id.toString(16)}`)
}

/** ERC-4361. The domain is the origin that the browser reports, not a claim of the app. */
function signInMessage(origin: string, address: string, chainId: number, requested: Readonly<Record<string, unknown>>): string {
  const text = (name: string) => (typeof requested[name] === 'string' ? requested[name] : null)
  const lines = [
    `${new URL(origin).host} wants you to sign in with your Ethereum account:`,
    checksummed(address),
    '',
    ...(text('statement') === null ? [] : [text('statement'), '']),
    `URI: ${text('uri') ?? origin}`,
    `Version: ${text('version') ?? '1'}`,
    `Chain ID: ${text('chainId') === null ? chainId : Number(text('chainId'))}`,
    `Nonce: ${text('nonce') ?? ''}`,
    `Issued At: ${text('issuedAt') ?? new Date().toISOString()}`,
    ...(text('expirationTime') === null ? [] : [`Expiration Time: ${text('expirationTime')}`]),
    ...(text('notBefore') === null ? [] : [`Not Before: ${text('notBefore')}`]),
    ...(text('requestId') === null ? [] : [`Request ID: ${text('requestId')}`]),
  ]
  return lines.join('\n')
}

/** ERC-7871: `type` is the version byte of ERC-191. */
async function sign(wallet: ClientWallet, { params }: Action, chainId: number | null): Promise<unknown> {
  const requested = first(params)
  const { type, data, address } = requested ?? {}
  await wallet.request('eth_requestAccounts')
  const account = typeof address === 'string' ? address : asStrings(await wallet.request('eth_accounts'))[0]
  if (type === '0x01') {
    await connectOnChain(wallet, chainId)
    return { signature: await wallet.request('eth_signTypedData_v4', [account, JSON.stringify(data)]), address: account, type, data }
  }
  const message = isRecord(data) ? data['message'] : data
  if (type !== '0x45' || typeof message !== 'string') {
    throw Object.assign(new Error('wallet_sign takes type 0x45 with a message, or 0x01 with typed data'), { code: -32602 })
  }
  const text = /^0x([0-9a-f]{2})*$/i.test(message) ? message : asHex(message)
  return { signature: await wallet.request('personal_sign', [text, account]), address: account, type, data }
}

function first(params: unknown): Readonly<Record<string, unknown>> | null {
  const [value] = Array.isArray(params) ? (params as readonly unknown[]) : []
  return isRecord(value) ? value : null
}

function asStrings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
}

function asHex(text: string): string {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
