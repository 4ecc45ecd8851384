import { useEffect, useState } from 'preact/hooks'

/** A question must have been visible for this time before it can be approved. */
const ARMING_MS = 500

/**
 * True once the item `id` has been on a visible page for `ARMING_MS` without interruption, so that a click or key press that was meant for
 * something else does not approve it. Another id, a hidden page and a window that comes to the front start over.
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
