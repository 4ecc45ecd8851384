import { checksummed } from '../wallet/format.ts'
import { isRecord } from './message.ts'
import type { Action, Failure, WalletData } from './message.ts'

/** The wallet, asked in the name of the app's origin. Throws errors with `code`, `message` and perhaps `data`. */
export interface ClientWallet {
  readonly origin: string
  request(method: string, params?: unknown): Promise<unknown>
  /** what the SDK may know of the wallet's chains */
  chains(): Promise<readonly ClientChain[]>
}

export interface ClientChain {
  readonly chainId: number
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly rpcUrl: string
}

/** Does what the app asks for. `chainId`: the chain that the app takes for the selected one. */
export async function perform(wallet: ClientWallet, action: Action, chainId: number | null): Promise<unknown> {
  const own = OWN_ACTIONS[action.method]
  if (own !== undefined) return own(wallet, action, chainId)
  if (ON_A_CHAIN.has(action.method)) await enter(wallet, chainId)
  return wallet.request(action.method, action.params)
}

/** What goes back along with every answer to an app that is connected; undefined: it is not, and learns nothing. */
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

/** An error as the SDK hands it to the app. */
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

/** What only this protocol knows; everything else the wallet answers itself. */
const OWN_ACTIONS: Readonly<Record<string, OwnAction>> = {
  handshake: async () => null,
  wallet_connect: connect,
  wallet_sign: sign,
}

/** Methods that act on the selected chain. */
const ON_A_CHAIN: ReadonlySet<string> = new Set(['wallet_sendCalls', 'eth_sendTransaction', 'eth_signTypedData_v4'])

/**
 * The SDK switches between chains that it knows without asking the wallet, and pays without connecting before: so both are asked for here,
 * in questions of their own, before what needs them.
 */
async function enter(wallet: ClientWallet, chainId: number | null): Promise<void> {
  await wallet.request('eth_requestAccounts')
  if (chainId === null || Number(await wallet.request('eth_chainId')) === chainId) return
  const chains = await wallet.chains()
  if (!chains.some((chain) => chain.chainId === chainId)) return
  await wallet.request('wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])
}

/** ERC-7846: accounts, chains, and a signature that proves the first account when the app wants to sign in. wagmi reads `chainIds[0]`. */
async function connect(wallet: ClientWallet, { params }: Action, chainId: number | null): Promise<unknown> {
  const accounts = asStrings(await wallet.request('eth_requestAccounts'))
  const wish = isRecord(first(params)?.['capabilities']) ? first(params)?.['capabilities'] : {}
  const signIn = isRecord(wish) && isRecord(wish['signInWithEthereum']) ? wish['signInWithEthereum'] : null
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

/** ERC-4361. The domain is the one that the browser names, whatever the app says. */
function signInMessage(origin: string, address: string, chainId: number, wish: Readonly<Record<string, unknown>>): string {
  const text = (name: string) => (typeof wish[name] === 'string' ? wish[name] : null)
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
  const wish = first(params)
  const { type, data, address } = wish ?? {}
  await wallet.request('eth_requestAccounts')
  const account = typeof address === 'string' ? address : asStrings(await wallet.request('eth_accounts'))[0]
  if (type === '0x01') {
    await enter(wallet, chainId)
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
