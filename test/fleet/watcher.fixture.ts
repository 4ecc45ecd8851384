import { WebSocket } from 'ws'

/** A sealed block as a subscriber of one process saw it. */
export interface SeenBlock {
  readonly number: number
  readonly hash: string
}

/** A client of one process: it subscribes to heads, promised transactions and their logs, and connects again when the connection is lost. */
export class Watcher {
  readonly #url: () => string | null
  #socket: WebSocket | null = null
  #isClosed = false
  /** each head as it was announced, by connection */
  readonly connections: SeenBlock[][] = []
  readonly promised = new Set<string>()
  /** times, in milliseconds, at which flashblocks with promises or sealed blocks came */
  readonly newsMs: number[] = []
  readonly retracted = new Set<string>()
  /** promised twice on one connection without a retraction */
  readonly repeated = new Set<string>()

  /** All subscriptions of one connection were confirmed. */
  isSubscribed = false

  /** `url` returns null while the process is not there. */
  constructor(url: () => string | null) {
    this.#url = url
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.terminate()
  }

  #connect(): void {
    if (this.#isClosed) return
    const url = this.#url()
    if (url === null) return void setTimeout(() => this.#connect(), RETRY_MS)
    const socket = new WebSocket(url)
    this.#socket = socket
    const kinds = new Map<string, string>()
    const blocks: SeenBlock[] = []
    const promised = new Set<string>()
    this.connections.push(blocks)
    socket.on('open', () => {
      for (const [id, kind] of SUBSCRIPTIONS.entries())
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: [kind, ...(kind === 'newHeads' ? [] : [true])] }))
    })
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message // of a node
      if (message.id !== undefined) {
        kinds.set(message.result ?? '', SUBSCRIPTIONS[message.id] ?? '')
        this.isSubscribed ||= kinds.size === SUBSCRIPTIONS.length
      } else if (message.params !== undefined)
        this.#take(kinds.get(message.params.subscription) ?? '', message.params.result, blocks, promised)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => setTimeout(() => this.#connect(), RETRY_MS))
  }

  #take(kind: string, result: Notification, blocks: SeenBlock[], promised: Set<string>): void {
    this.newsMs.push(performance.now())
    const { hash = '' } = result
    if (kind === 'newHeads') blocks.push({ number: Number(result.number), hash })
    else if (result.type === DEPOSIT) return
    else if (result.removed === true) {
      this.retracted.add(hash)
      promised.delete(hash)
    } else {
      if (promised.has(hash)) this.repeated.add(hash)
      promised.add(hash)
      this.promised.add(hash)
    }
  }
}

const SUBSCRIPTIONS = ['newHeads', 'newFlashblockTransactions']
const RETRY_MS = 50
const DEPOSIT = '0x7e'

interface Message {
  readonly id?: number
  readonly result?: string
  readonly params?: { readonly subscription: string; readonly result: Notification }
}

interface Notification {
  readonly number?: string
  readonly hash?: string
  readonly removed?: boolean
  readonly type?: string
}
