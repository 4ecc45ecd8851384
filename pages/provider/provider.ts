/** EIP-1193's error, as every library looks for it. */
export class ProviderRpcError extends Error {
  override name = 'ProviderRpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

type Listener = (value: unknown) => void

/**
 * EIP-1193 over the WebSocket of a node's wallet. The site that a request is from is the one that the browser names in the connection's
 * Origin; the page has no say in it.
 */
export class Provider {
  readonly isPocketchain = true
  readonly #url: string
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #waiting = new Map<number, { readonly resolve: Listener; readonly reject: (error: ProviderRpcError) => void }>()
  #socket: Promise<WebSocket> | null = null
  #isConnected = false
  #nextId = 1
  #failures = 0

  /** @param node its origin, such as `http://127.0.0.1:8545` */
  constructor(node: string) {
    this.#url = node
    this.request = this.request.bind(this) // some apps take it off the provider
    void this.#connection().catch(() => {})
  }

  isConnected(): boolean {
    return this.#isConnected
  }

  /** Rejects with ProviderRpcError: what the wallet answered, -32602 for what is no request, 4900 when the node cannot be reached. */
  async request(request: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    if (typeof request !== 'object' || request === null || typeof request.method !== 'string' || request.method === '') {
      throw new ProviderRpcError(-32602, 'a request is an object with a method, such as { method: "eth_chainId" }')
    }
    const { method, params = [] } = request
    const id = this.#nextId++
    const text = messageText({ jsonrpc: '2.0', id, method, params })
    const socket = await this.#connection()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      socket.send(text)
    })
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return this
  }

  once(event: string, listener: Listener): this {
    const once: Listener = (value) => {
      this.removeListener(event, once)
      listener(value)
    }
    return this.on(event, once)
  }

  removeListener(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  off(event: string, listener: Listener): this {
    return this.removeListener(event, listener)
  }

  #emit(event: string, value: unknown): void {
    // As they are now: a listener may add another, which hears the next event.
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        listener(value)
      } catch (error) {
        reportError(error) // one listener's fault is not the next one's
      }
    }
  }

  /** The one connection, made anew when it is gone. */
  #connection(): Promise<WebSocket> {
    this.#socket ??= this.#connect()
    return this.#socket
  }

  #connect(): Promise<WebSocket> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`${this.#url.replace(/^http/, 'ws')}/wallet`)
      let isOpen = false
      socket.addEventListener('message', ({ data }) => this.#read(String(data)))
      socket.addEventListener('open', () => {
        isOpen = true
        this.#failures = 0
        resolve(socket)
      })
      socket.addEventListener('close', () => {
        this.#socket = null
        const error = new ProviderRpcError(4900, `the node at ${this.#url} cannot be reached`)
        if (isOpen) this.#lose(error)
        reject(error)
        const delayMs = Math.min(RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS)
        setTimeout(() => void this.#connection().catch(() => {}), delayMs)
      })
    })
  }

  #lose(error: ProviderRpcError): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#emit('disconnect', error)
  }

  #read(text: string): void {
    const message = JSON.parse(text) as Message
    if ('method' in message) {
      if (message.method === 'pocketchain_event') this.#receive(message.params)
      return
    }
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.error === undefined) waiting?.resolve(message.result)
    else waiting?.reject(new ProviderRpcError(message.error.code, message.error.message, message.error.data))
  }

  #receive({ event, data }: WalletEvent): void {
    if (event === 'approvalWaiting') return void setTimeout(() => this.#waiting.size > 0 && showWallet(this.#url), SCRIPT_MS)
    if (event === 'disconnect') return this.#lose(asError(data))
    if (event === 'connect') this.#isConnected = true
    this.#emit(event, data)
  }
}

interface WalletEvent {
  readonly event: string
  readonly data: unknown
}

/** The wallet's own words: it and this script are of one version. */
type Message =
  | { readonly method: string; readonly params: WalletEvent }
  | { readonly id: number; readonly result?: unknown; readonly error?: { code: number; message: string; data?: unknown } }

/** Throws ProviderRpcError. A longer message would end the connection, and with it whatever else the page waits for. */
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

/** An error as it came over the wire. */
function asError(data: unknown): ProviderRpcError {
  const { code = 4900, message = 'the wallet ended the connection' } = (data ?? {}) as { code?: number; message?: string }
  return new ProviderRpcError(code, message)
}

/** What the node reads of one message (`WALLET_BODY_BYTES`). */
const MESSAGE_BYTES = 1024 * 1024

const RETRY_MS = 250
/** A script that answers questions is given this long, before a window is opened for a person. */
const SCRIPT_MS = 600
const LONGEST_RETRY_MS = 5_000

/** A question of this page waits and nobody has the wallet open. Browsers allow a window only right after a click or a key. */
function showWallet(node: string): void {
  if (!navigator.userActivation.isActive) return
  window.open(`${node}/wallet?popup=1`, 'pocketchain-wallet', 'popup,width=440,height=720')
}
