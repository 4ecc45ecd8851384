/** The window of the wallet that this page opens for its requests. */
export class WalletWindow {
  readonly #node: string
  readonly #onClosed: () => void
  #handle: Window | null = null
  /** true once another page than the empty first one was in the window */
  #hasLoaded = false
  #poll: ReturnType<typeof setInterval> | undefined

  /**
   * @param node its origin
   * @param onClosed called when the user has closed the window. Not called if that is unknown: the handle of a window that a page with
   *   `Cross-Origin-Opener-Policy: same-origin` opens reads as closed as soon as the wallet is loaded.
   */
  constructor(node: string, onClosed: () => void) {
    this.#node = node
    this.#onClosed = onClosed
  }

  get isOpen(): boolean {
    this.check()
    return this.#handle !== null
  }

  /** Opens it, or brings it to the front. Browsers allow both only after a click or a key press. */
  show(): void {
    if (!navigator.userActivation.isActive) return
    if (this.isOpen) return this.#handle?.focus()
    // Without the parameter the wallet's page has no opener of another origin. The explorer, of the wallet's own origin, needs none.
    const path = location.origin === this.#node ? '/wallet' : '/wallet?popup=1'
    this.#handle = window.open(`${this.#node}${path}`, 'pocketchain-wallet', 'popup,width=440,height=720')
    this.#hasLoaded = false
    if (this.#handle !== null) this.#poll = setInterval(() => this.check(), POLL_MS)
  }

  /** Calls `onClosed` if the window was closed since the last check. */
  check(): void {
    if (this.#handle === null) return
    if (!this.#handle.closed) this.#hasLoaded ||= !isEmpty(this.#handle)
    else {
      clearInterval(this.#poll)
      this.#handle = null
      if (this.#hasLoaded) this.#onClosed()
    }
  }
}

const POLL_MS = 100

/** Windows have no event for their end that a page of another origin receives. */
function isEmpty({ location }: Window): boolean {
  try {
    return location.href === 'about:blank'
  } catch {
    return false // of another origin
  }
}
