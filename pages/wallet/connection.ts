import type { ActivityView } from '../../src/wallet/index.ts'
import type { Question } from '../../src/wallet/question.ts'
import type { PageSecret } from './secret.ts'

/** Connection state and pending questions. */
export interface WalletConnectionState {
  /** `refused`: the node answers, and this browser holds no credential for the wallet */
  readonly status: 'connecting' | 'open' | 'refused' | 'lost'
  /** as `pocketchain_approvals` orders them */
  readonly questions: readonly Question[]
  /** the activities that changed while this page was open, by id, at most KEPT_ACTIVITIES */
  readonly activity: ReadonlyMap<string, ActivityView>
}

/** An error response of the node. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

/**
 * The WebSocket to the node, authenticated by the browser's cookie and the page secret. Reconnects when it is lost, and every two seconds
 * while the credential is missing, since another tab may open the link that gives it.
 */
export class WalletConnection {
  readonly secret: PageSecret
  #state: WalletConnectionState = { status: 'connecting', questions: [], activity: new Map() }
  #socket: WebSocket | null = null
  #nextId = 1
  #failures = 0
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  readonly #listeners = new Set<() => void>()

  constructor(secret: PageSecret) {
    this.secret = secret
    this.#connect()
  }

  get state(): WalletConnectionState {
    return this.#state
  }

  /** Calls `listener` after each change of the state. Returns the function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Throws RpcError for an error of the node, Error when there is no connection. */
  request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const socket = this.#socket
    if (socket === null || socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error('the node cannot be reached'))
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** Requests a provider method for an origin that this page has verified. */
  requestFor(origin: string, method: string, params: unknown = []): Promise<unknown> {
    return this.request('pocketchain_walletRequest', [origin, { method, params }])
  }

  #connect(): void {
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/wallet`)
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#read(String(data)))
    let attempt: Promise<Attempt> = Promise.resolve('unopened')
    socket.addEventListener('open', () => void (attempt = this.#authenticate()))
    socket.addEventListener('close', () => {
      this.#rejectAll()
      void attempt.then((how) => this.#onClose(how))
    })
  }

  /** Sends the page secret, and reads the queue so that it is known before the page is shown. */
  async #authenticate(): Promise<Attempt> {
    try {
      await this.request('pocketchain_authenticate', [{ page: await this.secret.value() }])
      await this.request('pocketchain_approvals')
      this.#failures = 0
      this.#change({ status: 'open' })
      return 'admitted'
    } catch (error) {
      this.#socket?.close()
      return error instanceof RpcError ? 'refused' : 'admitted'
    }
  }

  #rejectAll(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('the connection to the node broke'))
    this.#waiting.clear()
  }

  async #onClose(attempt: Attempt): Promise<void> {
    this.#socket = null
    // A page cannot distinguish a refused WebSocket handshake from an unreachable node; an HTTP request can.
    const isRefused = attempt === 'refused' || (attempt === 'unopened' && (await isAnswering()))
    this.#change({ status: isRefused ? 'refused' : 'lost', questions: [] })
    const delayMs = isRefused ? REFUSED_RETRY_MS : Math.min(RETRY_MS * 2 ** this.#failures++, LONGEST_RETRY_MS)
    setTimeout(() => this.#connect(), delayMs)
  }

  #read(text: string): void {
    const message: unknown = JSON.parse(text)
    if (isApprovals(message)) this.#change({ questions: message.params.pending })
    else if (isActivity(message)) this.#change({ activity: merged(this.#state.activity, message.params.changed) })
    else if (isAnswer(message)) this.#settle(message)
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (answer.error === undefined) waiting?.resolve(answer.result)
    else waiting?.reject(new RpcError(answer.error))
  }

  #change(change: Partial<WalletConnectionState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

/** The outcome of a connection attempt; `unopened` without a WebSocket handshake. */
type Attempt = 'unopened' | 'refused' | 'admitted'

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const RETRY_MS = 250
const LONGEST_RETRY_MS = 5_000
const REFUSED_RETRY_MS = 2_000

/** Shapes of the node's messages are not checked further: the page and the node have one version. */
function isAnswer(message: unknown): message is Answer {
  return typeof message === 'object' && message !== null && 'id' in message && typeof message.id === 'number'
}

function isApprovals(message: unknown): message is { readonly params: { readonly pending: readonly Question[] } } {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === 'pocketchain_approvals'
}

function isActivity(message: unknown): message is { readonly params: { readonly changed: readonly ActivityView[] } } {
  return typeof message === 'object' && message !== null && 'method' in message && message.method === 'pocketchain_activity'
}

const KEPT_ACTIVITIES = 200

/** Puts changed activities last, as the newest. Drops the oldest beyond KEPT_ACTIVITIES. */
function merged(before: ReadonlyMap<string, ActivityView>, changed: readonly ActivityView[]): ReadonlyMap<string, ActivityView> {
  const activity = new Map(before)
  for (const each of changed) {
    activity.delete(each.id)
    activity.set(each.id, each)
  }
  return new Map([...activity].slice(-KEPT_ACTIVITIES))
}

async function isAnswering(): Promise<boolean> {
  try {
    await fetch('/livez', { cache: 'no-store' })
    return true
  } catch {
    return false
  }
}
