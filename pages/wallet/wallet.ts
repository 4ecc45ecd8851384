import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { WalletConnection } from './connection.ts'
import { readBalances, readHead, readState } from './state.ts'
import type { ChainState, Head, WalletState } from './state.ts'

/** The state of the wallet that all parts of the page share. */
interface WalletData {
  /** null until it was read */
  readonly state: WalletState | null
  /** wei by address, on the wallet's first chain */
  readonly balances: ReadonlyMap<string, string>
  /** null until it was read, or if the node does not answer */
  readonly head: Head | null
  /** why the last reading failed */
  readonly failure: string | null
  /** Reads again immediately. */
  readonly refresh: () => void
}

const NOTHING: WalletData = { state: null, balances: new Map(), head: null, failure: null, refresh: () => {} }

export const WalletDataContext = createContext<WalletData>(NOTHING)

const STATE_MS = 2_000
const HEAD_MS = 500

/** Reads state and balances immediately and every two seconds, the head twice a second, while the page is visible and `isOpen`. */
export function useWalletReader(connection: WalletConnection, isOpen: boolean): WalletData {
  const [data, setData] = useState(NOTHING)
  const change = (part: Partial<WalletData>) => setData((now) => ({ ...now, ...part }))
  const read = async () => {
    try {
      const state = await readState(connection)
      change({ state, failure: null })
      change({ balances: await readBalances(connection, state) })
    } catch (error) {
      change({ failure: error instanceof Error ? error.message : String(error) })
    }
  }
  const refresh = () => void read()
  useEffect(() => {
    if (!isOpen) return undefined
    const whenVisible = (work: () => void) => () => document.visibilityState === 'visible' && work()
    const readTip = () => void readHead(connection).then((head) => change({ head }))
    refresh()
    readTip()
    const timers = [setInterval(whenVisible(refresh), STATE_MS), setInterval(whenVisible(readTip), HEAD_MS)]
    return () => timers.forEach(clearInterval)
  }, [connection, isOpen])
  return { ...data, refresh }
}

export function useWalletData(): WalletData {
  return useContext(WalletDataContext)
}

/** Returns name, balance and index of an account of the wallet; null: the wallet has no such account. */
export function useAccount(address: string): { readonly name: string; readonly balance: string | null; readonly index: number } | null {
  const { state, balances } = useWalletData()
  const index = state?.accounts.findIndex((account) => account.address === address) ?? -1
  const account = state?.accounts[index]
  return account === undefined ? null : { name: account.name, balance: balances.get(address) ?? null, index }
}

/** Returns a chain of the wallet; null: the wallet does not have it, or was not read yet. */
export function useChain(chainId: string | number): ChainState | null {
  const { state } = useWalletData()
  return state?.chains.find((chain) => BigInt(chain.chainId) === BigInt(chainId)) ?? null
}

/**
 * Returns a function from a path to the URL of an explorer page: in this node's explorer, or in the one that was added with the chain. The URL
 * is null if the chain has no explorer.
 */
export function useExplorerUrl(chainId: string | number): (path: `${'tx' | 'address' | 'block' | 'op'}/${string}`) => string | null {
  const chain = useChain(chainId)
  return (path) => {
    if (chain === null) return null
    if (chain.isEmbedded === true) return `/${path}`
    const [url] = chain.blockExplorerUrls ?? []
    return url === undefined || path.startsWith('op/') ? null : `${url.replace(/\/$/, '')}/${path}`
  }
}

const REFRESH_MS = 3_000

/** Reads immediately, and every three seconds while the page is visible. */
export function usePolled<T>(read: () => Promise<T>, first: T, key: string): T {
  const [value, setValue] = useState(first)
  useEffect(() => {
    let isCurrent = true
    const again = () =>
      void read().then(
        (now) => isCurrent && setValue(now),
        () => {}, // the header shows that there is no connection
      )
    again()
    const timer = setInterval(() => document.visibilityState === 'visible' && again(), REFRESH_MS)
    return () => {
      isCurrent = false
      clearInterval(timer)
    }
  }, [key])
  return value
}
