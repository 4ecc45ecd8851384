import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal, readSponsor } from './node.ts'
import type { LedgerPage, LedgerQuery, SponsorStatus } from './node.ts'

export interface Live {
  /** `lost`: nobody answers, and what is shown is what was known before */
  readonly connection: 'connecting' | 'open' | 'lost'
  readonly status: SponsorStatus | null
  readonly page: LedgerPage | null
  /** what the node says when it does not tell */
  readonly refusal: string | null
  /** Asks now. */
  readonly refresh: () => void
}

const PERIOD_MS = 1_000

/**
 * What the sponsor is doing: asked for at once, after every change of the query, and every second while somebody can see the page. One request
 * at a time; who wants news while one is under way gets them right behind it, since its answer may be older than the wish.
 */
export function useSponsor(query: LedgerQuery): Live {
  const [known, setKnown] = useState<Omit<Live, 'refresh'>>({ connection: 'connecting', status: null, page: null, refusal: null })
  const ask = useRef<() => void>(() => {})
  const key = JSON.stringify(query)
  useEffect(() => {
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isAsking = false
    let isWanted = false
    const read = async () => {
      clearTimeout(timer)
      isWanted = isAsking
      if (isAsking) return
      isAsking = true
      const news = await askedFor(query, gone.signal)
      isAsking = false
      if (gone.signal.aborted) return
      setKnown((before) => ({ ...before, ...news }))
      if (isWanted) void read()
      else timer = setTimeout(again, PERIOD_MS)
    }
    // Out of sight it waits until somebody looks.
    const again = () => void (document.visibilityState === 'visible' && read())
    ask.current = () => void read()
    void read()
    document.addEventListener('visibilitychange', again)
    return () => {
      gone.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', again)
    }
  }, [key])
  return { ...known, refresh: () => ask.current() }
}

async function askedFor(query: LedgerQuery, signal: AbortSignal): Promise<Partial<Live>> {
  try {
    const [status, page] = await readSponsor(query, signal)
    return { connection: 'open', status, page, refusal: null }
  } catch (error) {
    return error instanceof Refusal ? { connection: 'open', refusal: error.message } : { connection: 'lost', refusal: null }
  }
}
