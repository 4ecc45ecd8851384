import { WebSocket } from 'ws'
import { RpcError } from '../../jsonrpc/index.ts'

/** A `pocketchain_event` notification of the wallet. */
export interface AppEvent {
  readonly event: string
  readonly data: unknown
}

interface PendingRequest {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** EIP-1193 client of an app: one WebSocket to `/wallet` with the Origin of the app. */
export class AppClient {
  readonly #socket: WebSocket
  readonly #pending = new Map<number, PendingRequest>()
  readonly #listeners = new Set<(event: AppEvent) => void>()
  #requests = 0
  #ended: Error | null = null

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => this.#receive((data as Buffer).toString())) // the default type of ws
    socket.on('close', () => this.#end(new Error('the wallet closed the connection of the app')))
    socket.on('error', (error) => this.#end(error))
  }

  /** Connects to the wallet at `url`, `ws://…/wallet`. Rejects with an Error if that fails. */
  static open(url: string, origin: string): Promise<AppClient> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { origin })
      socket.once('error', reject)
      socket.once('open', () => {
        socket.off('error', reject)
        resolve(new AppClient(socket))
      })
    })
  }

  /** EIP-1193. Throws RpcError if the wallet refuses, and Error if the connection ends. */
  request(method: string, ...params: readonly unknown[]): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    const id = (this.#requests += 1)
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** Adds a listener of events. Returns a function that removes it. */
  subscribe(listener: (event: AppEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#socket.close()
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as Message // the wallet's own answer
    if ('method' in message) {
      for (const listener of this.#listeners) listener(message.params)
      return
    }
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if (message.error === undefined) pending?.resolve(message.result)
    else pending?.reject(new RpcError(message.error.code, message.error.message, message.error.data))
  }

  #end(error: Error): void {
    this.#ended = error
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

type Message = Answer | { readonly method: string; readonly params: AppEvent }

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
