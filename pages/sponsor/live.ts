import { useEffect, useRef, useState } from 'preact/hooks'
import { NO_BUNDLER, RpcError, readBundler, readSponsor } from './node.ts'
import type { BundlerView, LedgerQuery } from './node.ts'
import type { LedgerPage, SponsorStatus } from '../../src/paymaster/results.ts'

export interface Live {
  /** `lost`: the node does not respond; the last known state is shown */
  readonly connection: 'connecting' | 'open' | 'lost'
  readonly status: SponsorStatus | null
  readonly page: LedgerPage | null
  /** the bundler's data about the operations on the page */
  readonly bundler: BundlerView
  /** the node's error message */
  readonly refusal: string | null
  /** Requests the state now. */
  readonly refresh: () => void
}

const PERIOD_MS = 1_000

/**
 * Requests the sponsor's state immediately, after each change of the query, and every second while the page is visible. One request runs at a time; a
 * refresh during a request causes another one, because the response may be older than the refresh.
 */
export function useSponsor(query: LedgerQuery): Live {
  const [state, setState] = useState<Omit<Live, 'refresh'>>(CONNECTING)
  const request = useRef<() => void>(() => {})
  const key = JSON.stringify(query)
  useEffect(() => {
    const aborted = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isRequesting = false
    let isOutdated = false
    const read = async () => {
      clearTimeout(timer)
      isOutdated = isRequesting
      if (isRequesting) return
      isRequesting = true
      const update = await fetchState(query, aborted.signal)
      isRequesting = false
      if (aborted.signal.aborted) return
      setState((before) => ({ ...before, ...update }))
      if (isOutdated) void read()
      else timer = setTimeout(readIfVisible, PERIOD_MS)
    }
    const readIfVisible = () => void (document.visibilityState === 'visible' && read())
    request.current = () => void read()
    void read()
    document.addEventListener('visibilitychange', readIfVisible)
    return () => {
      aborted.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', readIfVisible)
    }
  }, [key])
  return { ...state, refresh: () => request.current() }
}

const CONNECTING: Omit<Live, 'refresh'> = { connection: 'connecting', status: null, page: null, bundler: NO_BUNDLER, refusal: null }

async function fetchState(query: LedgerQuery, signal: AbortSignal): Promise<Partial<Live>> {
  try {
    const [status, page] = await readSponsor(query, signal)
    return { connection: 'open', status, page, bundler: await readBundler(page, signal), refusal: null }
  } catch (error) {
    return error instanceof RpcError ? { connection: 'open', refusal: error.message } : { connection: 'lost', refusal: null }
  }
}
