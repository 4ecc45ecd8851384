import { useEffect, useState } from 'preact/hooks'

/** A question must have been visible for this time, without a key or click, before it can be approved. Chromium protects its own prompts in this way too. */
const ARMING_MS = 500

/**
 * True once the item `id` has been on a visible page for `ARMING_MS` without an input, so that a click or key press that was meant for something
 * else does not approve it. Another id, a hidden page, a window that comes to the front and each input before that start over: who taps a key
 * or clicks in a game does not stop when a window appears.
 */
export function useArmed(id: string): boolean {
  const [armedId, setArmed] = useState<string | null>(null)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isArmed = false
    const stop = () => {
      clearTimeout(timer)
      isArmed = false
      setArmed(null)
    }
    const arm = () => {
      isArmed = true
      setArmed(id)
    }
    const start = () => {
      stop()
      if (document.visibilityState === 'visible') timer = setTimeout(arm, ARMING_MS)
    }
    const onInput = ({ isTrusted, type }: Event) => {
      if (isArmed || !isTrusted) return
      if (type === 'pointerdown') stop() // until the pointer is released, which is the click
      else start()
    }
    start()
    document.addEventListener('visibilitychange', start)
    window.addEventListener('focus', start)
    for (const type of INPUTS) window.addEventListener(type, onInput, true)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', start)
      window.removeEventListener('focus', start)
      for (const type of INPUTS) window.removeEventListener(type, onInput, true)
    }
  }, [id])
  return armedId === id
}

const INPUTS = ['keydown', 'pointerdown', 'pointerup', 'pointercancel'] as const

/**
 * True once the user has pressed the pointer on this page, until its window comes to the front again. A key alone does not show that the user looks
 * at this window: an app can open it, small, while it makes the user type.
 */
export function useClicked(): boolean {
  const [isClicked, setClicked] = useState(false)
  useEffect(() => {
    const onPointer = ({ isTrusted }: Event) => isTrusted && setClicked(true)
    const onFocus = () => setClicked(false)
    window.addEventListener('pointerdown', onPointer, true)
    window.addEventListener('focus', onFocus)
    return () => {
      window.removeEventListener('pointerdown', onPointer, true)
      window.removeEventListener('focus', onFocus)
    }
  }, [])
  return isClicked
}
