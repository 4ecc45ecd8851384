import { ProviderRpcError } from './error.ts'
import { WalletWindow } from './walletwindow.ts'

/** An event of the wallet, as EIP-1193 names it. */
export interface WalletEvent {
  readonly event: string
  readonly data: unknown
}

interface Request {
  readonly id: number
  readonly text: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: ProviderRpcError) => void
}

interface Waiting extends Request {
  /** position among the messages of its socket, from 1 */
  readonly position: number
}

/**
 * The WebSocket to a node's wallet, opened again when it closes. `onEvent` receives the wallet's events, and `disconnect` when the socket closes, with
 * code 1013 because it is opened again: on any other code wagmi and thirdweb disconnect the wallet, and thirdweb revokes the site's permission.
 */
export class Connection {
  readonly #url: string
  readonly #onEvent: (event: WalletEvent) => void
  readonly #waiting = new Map<number, Waiting>()
  #socket: Promise<WebSocket> | null = null
  #isAnnounced = false
  #nextId = 1
  #failures = 0
  /** messages over the current socket */
  #sent = 0
  /** those of them that the node may have read: all, unless it has said otherwise before it closed the socket */
  #read = Infinity
  readonly #window: WalletWindow
  /** the requests of a window that was closed, until they are rejected: those of the first `sent` messages */
  #closing: { readonly sent: number; readonly timer: ReturnType<typeof setTimeout> } | null = null

  /** @param node its origin, such as `http://127.0.0.1:8545` */
  constructor(node: string, onEvent: (event: WalletEvent) => void) {
    this.#url = node
    this.#onEvent = onEvent
    this.#window = new WalletWindow(node, () => this.#onWindowClosed())
    void this.#open().catch(() => {})
  }

  /**
   * Rejects with ProviderRpcError: the wallet's answer, 4001 also when the user has closed the wallet's window that this page opened, -32602 for
   * parameters that cannot be sent, 4900 when the node cannot be reached, also after a restart's time, or when the connection ends after the node
   * may have read the request.
   */
  async request(method: string, params: unknown): Promise<unknown> {
    const id = this.#nextId++
    const text = messageText({ jsonrpc: '2.0', id, method, params })
    return new Promise((resolve, reject) => void this.#send({ id, text, resolve, reject }))
  }

  async #send(request: Request): Promise<void> {
    try {
      let socket = await this.#open()
      // A closing socket drops what it is given.
      for (; socket.readyState !== WebSocket.OPEN; socket = await this.#open()) await closed(socket)
      this.#window.check() // it is not the window of a request that is sent after its end
      this.#waiting.set(request.id, { ...request, position: ++this.#sent })
      socket.send(request.text)
    } catch (error) {
      request.reject(error as ProviderRpcError) // of #connect
    }
  }

  #open(): Promise<WebSocket> {
    this.#socket ??= this.#connect()
    return this.#socket
  }

  #connect(): Promise<WebSocket> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`${this.#url.replace(/^http/, 'ws')}/wallet`)
      let isOpen = false
      socket.addEventListener('message', ({ data }) => this.#receive(String(data)))
      socket.addEventListener('open', () => {
        isOpen = true
        this.#failures = 0
        this.#sent = 0
        this.#read = Infinity
        resolve(socket)
      })
      socket.addEventListener('close', () => {
        const reason = `the node at ${this.#url} cannot be reached`
        const isRestarting = this.#failures < RESTART_RETRIES
        const next = wait(Math.min(RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS)).then(() =>
          isRestarting ? this.#connect() : this.#open(),
        )
        next.catch(() => {}) // the requests that wait for it report the error
        this.#socket = isRestarting ? next : null
        if (isOpen) this.#onDisconnect(reason)
        if (isRestarting) resolve(next)
        else reject(new ProviderRpcError(4900, reason))
      })
    })
  }

  /**
   * Rejects the requests that wait, but only after a time: a window is also lost to this page when its user opens the link of the wallet in it, and
   * the wallet continues there.
   */
  #onWindowClosed(): void {
    clearTimeout(this.#closing?.timer)
    this.#closing = { sent: this.#sent, timer: setTimeout(() => this.#rejectClosed(), CLOSING_MS) }
  }

  /** The node rejects them, unless another page of the wallet is open. */
  #rejectClosed(): void {
    if (this.#closing === null) return
    const { sent, timer } = this.#closing
    clearTimeout(timer)
    this.#closing = null
    void this.request('pocketchain_windowClosed', [sent]).catch(() => {}) // without a connection they are rejected already
  }

  /** For a request that waits for an answer. `isShown`: a page of the wallet is open, which may be the window that is being closed. */
  #showWindow(isShown: boolean): void {
    const isOpen = this.#window.isOpen
    const closed = this.#closing?.sent ?? 0
    if (![...this.#waiting.values()].some(({ position }) => position > closed)) return
    if (isShown && !isOpen && this.#closing === null) return
    this.#rejectClosed()
    this.#window.show()
  }

  /** Requests that the node has not read are sent over the next socket. */
  #onDisconnect(reason: string): void {
    clearTimeout(this.#closing?.timer)
    this.#closing = null
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const request of waiting) {
      if (request.position > this.#read) void this.#send(request)
      else request.reject(new ProviderRpcError(4900, reason))
    }
    if (!this.#isAnnounced) return
    this.#isAnnounced = false
    this.#onEvent({ event: 'disconnect', data: new ProviderRpcError(TRY_AGAIN_LATER, reason) })
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as Message
    if ('method' in message) {
      if (message.method === 'pocketchain_event') this.#onWalletEvent(message.params)
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.error === undefined) waiting?.resolve(message.result)
    else waiting?.reject(new ProviderRpcError(message.error.code, message.error.message, message.error.data))
  }

  #onWalletEvent({ event, data }: WalletEvent): void {
    if (event === 'stopping') {
      this.#read = (data as { readonly read: number }).read // of this version, like Message
      return
    }
    if (event === 'approvalWaiting') {
      const { isShown } = data as { readonly isShown: boolean } // of this version, like Message
      return void setTimeout(() => this.#showWindow(isShown), SCRIPT_MS)
    }
    if (event === 'disconnect') return this.#onDisconnect('the wallet ended the connection')
    if (event === 'connect') this.#isAnnounced = true
    this.#onEvent({ event, data })
  }
}

/** Not checked: the wallet and this script have one version. */
type Message =
  | { readonly method: string; readonly params: WalletEvent }
  | { readonly id: number; readonly result?: unknown; readonly error?: { code: number; message: string; data?: unknown } }

/** Throws ProviderRpcError for a message above the limit, which would end the connection with all requests of the page. */
function messageText(message: unknown): string {
  let text: string
  try {
    text = JSON.stringify(message)
  } catch (error) {
    throw new ProviderRpcError(-32602, `the parameters are no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  const sizeBytes = new TextEncoder().encode(text).length
  if (sizeBytes <= MESSAGE_BYTES) return text
  throw new ProviderRpcError(-32602, `the request is ${sizeBytes} bytes, at most ${MESSAGE_BYTES} are taken`)
}

/** EIP-1193 takes the code of a `disconnect` event from the codes of CloseEvent. */
const TRY_AGAIN_LATER = 1013

/** The node's limit for one message (`WALLET_BODY_BYTES`). */
const MESSAGE_BYTES = 1024 * 1024

const RETRY_MS = 250
/** Requests wait for this number of retries, 3.75 s, in which a node restarts; afterwards they are rejected without a delay. */
const RESTART_RETRIES = 4
const LONGEST_RETRY_MS = 5_000
/** Time for a script to answer a question before a window is opened for a user. */
const SCRIPT_MS = 600
/** Time for the wallet's page to open its connection after its window was lost to this page. */
const CLOSING_MS = 1_000

function closed(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => socket.addEventListener('close', () => resolve(), { once: true }))
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
