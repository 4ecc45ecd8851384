// JSON-RPC of the node that the explorer shows: this server's, or the one behind `--explorer-of`. It may be any client, so each method may be missing.

/** A request and its parameters. */
export type Call = readonly [method: string, ...params: readonly unknown[]]

/** The node does not have the method. */
export class MissingMethod extends Error {
  override name = 'MissingMethod'
  readonly method: string

  constructor(method: string) {
    super(`this node does not have ${method}`)
    this.method = method
  }
}

/** An error response of the node. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The node did not respond. */
export class NoConnection extends Error {
  override name = 'NoConnection'
}

/** Returns the result. Throws MissingMethod, RpcError or NoConnection. */
export async function ask<T>(call: Call, options: AskOptions = {}): Promise<T> {
  const [outcome] = await askAll([call], options)
  if (outcome instanceof Error) throw outcome
  return outcome as T // each caller names the result type of its method
}

interface AskOptions {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Requests in one batch. Returns the result or the error of each, in the order of the calls. Throws NoConnection. */
export async function askAll(calls: readonly Call[], { signal, headers = {} }: AskOptions = {}): Promise<readonly unknown[]> {
  if (calls.length === 0) return []
  const body = JSON.stringify(calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })))
  const replies = await post(body, { 'content-type': 'application/json', ...headers }, signal)
  return calls.map(([method], id) => {
    const reply = replies.find((each) => each.id === id) ?? replies.find((each) => each.id === null && each.error !== undefined)
    if (reply?.error === undefined) return reply?.result ?? null
    return errorOf(method, reply.error)
  })
}

interface Reply {
  readonly id: number | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

async function post(body: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<readonly Reply[]> {
  try {
    const response = await fetch('/', { method: 'POST', headers, body, cache: 'no-store', ...(signal === undefined ? {} : { signal }) })
    const reply = (await response.json()) as Reply | readonly Reply[] // a JSON-RPC response; an error of the whole batch is one object
    return Array.isArray(reply) ? (reply as readonly Reply[]) : [reply as Reply]
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new NoConnection('the node does not respond', { cause: error })
  }
}

/** -32601 is the code of the standard; Hardhat 2 and public proxies use -32004. */
function errorOf(method: string, { code, message, data }: NonNullable<Reply['error']>): MissingMethod | RpcError {
  const isMissing = code === -32601 || (code === -32004 && /not supported|not available/i.test(message))
  return isMissing ? new MissingMethod(method) : new RpcError(code, message, data)
}

/** Callbacks of a subscription. */
interface Listener {
  /** the `result` of a notification */
  readonly onItem: (item: unknown) => void
  /** the node notifies from now on; also after a lost connection is restored */
  readonly onOpen?: () => void
  /** the node does not have this kind of subscription */
  readonly onRefused?: () => void
}

const RECONNECT_MS = 1_000

/** One WebSocket to the node with the subscriptions of the page; it reconnects after a loss. */
export class Feed {
  #socket: WebSocket | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #nextId = 1
  readonly #subscriptions = new Map<number, Listener & { readonly params: readonly unknown[] }>()
  readonly #requestOf = new Map<string, number>()
  readonly #onState: (state: 'connecting' | 'open' | 'lost') => void

  constructor(onState: (state: 'connecting' | 'open' | 'lost') => void) {
    this.#onState = onState
    this.#connect()
  }

  /** Returns a function that ends the subscription. */
  subscribe(params: readonly unknown[], listener: Listener): () => void {
    const id = this.#nextId++
    this.#subscriptions.set(id, { params, ...listener })
    if (this.#socket?.readyState === WebSocket.OPEN) this.#request(id, params)
    return () => {
      this.#subscriptions.delete(id)
      for (const [subscription, request] of this.#requestOf) {
        if (request !== id) continue
        this.#requestOf.delete(subscription)
        if (this.#socket?.readyState === WebSocket.OPEN) this.#send(this.#nextId++, 'eth_unsubscribe', [subscription])
      }
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    const socket = this.#socket
    this.#socket = null
    socket?.close()
  }

  #connect(): void {
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`)
    this.#socket = socket
    socket.addEventListener('open', () => {
      this.#onState('open')
      for (const [id, { params }] of this.#subscriptions) this.#request(id, params)
    })
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)))
    socket.addEventListener('close', () => {
      if (this.#socket !== socket) return
      this.#requestOf.clear()
      this.#onState('lost')
      this.#timer = setTimeout(() => this.#connect(), RECONNECT_MS)
    })
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as Reply & { readonly params?: { readonly subscription: string; readonly result: unknown } } // a response or a notification
    if (message.params !== undefined) {
      const id = this.#requestOf.get(message.params.subscription)
      if (id !== undefined) this.#subscriptions.get(id)?.onItem(message.params.result)
      return
    }
    const id = message.id ?? 0
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    if (message.error !== undefined) return subscription.onRefused?.()
    this.#requestOf.set(String(message.result), id)
    subscription.onOpen?.()
  }

  #request(id: number, params: readonly unknown[]): void {
    this.#send(id, 'eth_subscribe', params)
  }

  #send(id: number, method: string, params: readonly unknown[]): void {
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }
}
