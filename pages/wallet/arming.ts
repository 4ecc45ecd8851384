import { useEffect, useState } from 'preact/hooks'

/** How long a question must have been in sight before it can be approved. */
const ARMING_MS = 500

/**
 * True once the thing `id` has been on a visible page for `ARMING_MS` without a break: whoever is about to click or press a key when it comes
 * up does not approve it. Another id, a page that was hidden and a window that comes to the front start over.
 */
export function useArmed(id: string): boolean {
  const [armedId, setArmed] = useState<string | null>(null)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const start = () => {
      clearTimeout(timer)
      setArmed(null)
      if (document.visibilityState === 'visible') timer = setTimeout(() => setArmed(id), ARMING_MS)
    }
    start()
    document.addEventListener('visibilitychange', start)
    window.addEventListener('focus', start)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', start)
      window.removeEventListener('focus', start)
    }
  }, [id])
  return armedId === id
}
