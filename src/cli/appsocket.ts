import { WebSocket } from 'ws'
import { RpcError } from '../rpc/index.ts'

/** What a provider tells its page: `eth_subscription`, `accountsChanged` and the like. */
export interface AppEvent {
  readonly event: string
  readonly data: unknown
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

/** An app as the wallet meets it: one WebSocket at `/wallet` that speaks for one origin. */
export class AppSocket {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Set<(event: AppEvent) => void>()
  #requests = 0
  #ended: Error | null = null

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data) => this.#receive((data as Buffer).toString())) // which ws hands over unless told otherwise
    socket.on('close', () => this.#end(new Error('the wallet closed the connection of the app')))
    socket.on('error', (error) => this.#end(error))
  }

  /** `url`: of the wallet, `ws://…/wallet`. Rejects with an Error when nobody answers there. */
  static open(url: string, origin: string): Promise<AppSocket> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { origin })
      socket.once('error', reject)
      socket.once('open', () => {
        socket.off('error', reject)
        resolve(new AppSocket(socket))
      })
    })
  }

  /** EIP-1193. Throws RpcError with what the wallet refuses, and Error when the connection ends. */
  request(method: string, ...params: readonly unknown[]): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended)
    const id = (this.#requests += 1)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** Until what it returns is called. */
  listen(listener: (event: AppEvent) => void): () => void {
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
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.error === undefined) waiting?.resolve(message.result)
    else waiting?.reject(new RpcError(message.error.code, message.error.message, message.error.data))
  }

  #end(error: Error): void {
    this.#ended = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

type Message = Answer | { readonly method: string; readonly params: AppEvent }

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
