import type { ActivityView } from '../../src/wallet/index.ts'
import type { Allowance } from '../../src/wallet/question.ts'
import { RpcError } from './connection.ts'
import type { WalletConnection } from './connection.ts'

/** The part of `pocketchain_walletState` that the page shows. */
export interface WalletState {
  readonly accounts: readonly { readonly address: string; readonly name: string; readonly source: string }[]
  readonly chains: readonly ChainState[]
  readonly sites: readonly SiteState[]
  readonly policy: Policy
  /** whether sponsors may pay for batches of sites */
  readonly sponsorship: boolean
  readonly batches: readonly BatchState[]
}

export interface ChainState {
  readonly chainId: number | string
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: readonly string[]
  readonly blockExplorerUrls?: readonly string[]
  readonly isEmbedded?: boolean
}

/** The newest block of the wallet's first chain, and the newest flashblock of the open one. */
export interface Head {
  readonly block: number
  /** null: the node makes no flashblocks, or the block has none yet */
  readonly flashblock: number | null
}

export type Activity = ActivityView

/** A page of activities, newest first. */
export interface ActivityPage {
  readonly activities: readonly Activity[]
  /** to continue before; null: there are no older ones */
  readonly next: string | null
}

/** A token of an account. */
export interface TokenState {
  readonly token: string
  readonly type: string
  readonly symbol: string | null
  readonly decimals: number | null
  readonly balance: string | null
  readonly isWatched: boolean
}

/** An allowance that the chain still has. */
export interface OpenAllowance {
  readonly activity: string
  readonly index: number
  readonly allowance: Allowance
}

export interface SiteState {
  readonly origin: string
  readonly accounts: readonly string[]
  readonly chainId: number | string
  readonly sponsorship: boolean
}

export interface BatchState {
  readonly id: string
  readonly origin: string
  readonly from: string
  readonly chainId: number | string
  readonly status: number
  readonly atomic: boolean
  /** null: the batch was not sponsored */
  readonly userOpHash: string | null
  /** Unix time, milliseconds */
  readonly createdAt: number
}

export type Policy = 'ask' | 'approve' | 'reject'

/** The answer of wallet_getCallsStatus. */
export interface CallsStatus {
  readonly id: string
  readonly chainId: string
  readonly status: number
  readonly atomic: boolean
  readonly receipts?: readonly CallsReceipt[]
  readonly capabilities?: {
    readonly status?: { readonly confirmation?: string; readonly reason?: string | null }
    readonly userOperation?: { readonly userOpHash: string; readonly success: boolean | null; readonly reason: string | null }
  }
}

export interface CallsReceipt {
  readonly logs: readonly { readonly address: string; readonly data: string; readonly topics: readonly string[] }[]
  readonly status: string
  readonly blockNumber: string
  readonly gasUsed: string
  readonly transactionHash: string
}

/** The result is not checked: the page and the node have one version. */
export async function readState(connection: WalletConnection): Promise<WalletState> {
  return (await connection.request('pocketchain_walletState')) as WalletState
}

/** Returns a new one-time link for another browser, which may reach the node at this page's `origin` only: the node knows its local address. */
export async function createLink(connection: Pick<WalletConnection, 'request'>, origin: string): Promise<string> {
  const { pathname, search, hash } = new URL(String(await connection.request('pocketchain_walletLink')))
  return `${origin}${pathname}${search}${hash}`
}

/** Wei per account on the wallet's first chain; an account is absent if its balance is unavailable. */
export async function readBalances(connection: WalletConnection, { accounts }: WalletState): Promise<ReadonlyMap<string, string>> {
  const balances = new Map<string, string>()
  const read = async (address: string) => {
    const balance = await connection.request('eth_getBalance', [address, 'pending'])
    if (typeof balance === 'string') balances.set(address, balance)
  }
  await Promise.allSettled(accounts.map(({ address }) => read(address)))
  return balances
}

/** Null: the chain does not answer. */
export async function readHead(connection: WalletConnection): Promise<Head | null> {
  try {
    return (await connection.request('pocketchain_walletHead')) as Head
  } catch {
    return null
  }
}

/** `query`: of one account, one site, or one activity. */
export async function readActivity(connection: WalletConnection, query: object): Promise<ActivityPage> {
  return (await connection.request('pocketchain_walletActivity', [query])) as ActivityPage
}

export async function readTokens(connection: WalletConnection, account: string): Promise<readonly TokenState[]> {
  return (await connection.request('pocketchain_walletTokens', [account])) as readonly TokenState[]
}

/** `chainId`: absent for the wallet's first chain. */
export async function readAllowances(connection: WalletConnection, account: string, chainId?: string): Promise<readonly OpenAllowance[]> {
  const params = chainId === undefined ? [account] : [account, chainId]
  return (await connection.request('pocketchain_walletAllowances', params)) as readonly OpenAllowance[]
}

/** Address of the code that an account runs (EIP-7702) on the wallet's first chain; null: none. */
export async function readDelegate(connection: WalletConnection, address: string): Promise<string | null> {
  const code = await connection.request('eth_getCode', [address, 'pending'])
  return typeof code === 'string' && code.startsWith(DELEGATION) ? `0x${code.slice(DELEGATION.length)}` : null
}

const DELEGATION = '0xef0100'

/** Accounts that run code (EIP-7702) on the wallet's first chain. */
export async function readUpgraded(connection: WalletConnection, { accounts }: WalletState): Promise<ReadonlySet<string>> {
  const upgraded = new Set<string>()
  const read = async (address: string) => {
    if ((await readDelegate(connection, address)) !== null) upgraded.add(address)
  }
  await Promise.allSettled(accounts.map(({ address }) => read(address)))
  return upgraded
}

/**
 * A batch id that an app chose is valid for its origin only, so the status is requested in the name of the origin. Batches of programs have no
 * web origin; the node answers for any id that the wallet generated.
 */
export async function readStatus(connection: WalletConnection, id: string, origin: string | null): Promise<CallsStatus> {
  const isSite = origin?.includes('://') === true
  return (await (isSite
    ? connection.requestFor(origin, 'wallet_getCallsStatus', [id])
    : askNode('wallet_getCallsStatus', [id]))) as CallsStatus
}

async function askNode(method: string, params: readonly unknown[]): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch('/', { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
  if (error !== undefined) throw new RpcError(error)
  return result
}

/** The status codes of EIP-5792. */
export const STATUSES: Readonly<Record<number, { readonly name: string; readonly mood: 'waits' | 'good' | 'bad' }>> = {
  100: { name: 'Pending', mood: 'waits' },
  200: { name: 'Confirmed', mood: 'good' },
  400: { name: 'Not included', mood: 'bad' },
  500: { name: 'Reverted', mood: 'bad' },
  600: { name: 'Partly reverted', mood: 'bad' },
}
