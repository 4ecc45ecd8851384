import { isObject } from '../eth/index.ts'
import { CODE, RpcError, replyObject } from '../jsonrpc/index.ts'
import type { Connection } from './connection.ts'
import { ERROR_CHARS, REQUEST_MS } from './limits.ts'
import type { JsonObject } from './receiptjson.ts'

/** JSON-RPC with subscriptions on a connection, which are opened again after each reconnection. */
export class RpcConnection {
  readonly #connection: Connection
  readonly #waiting = new Map<number, (answer: JsonObject) => void>()
  readonly #listeners = new Map<string, (result: unknown) => void>()
  #nextId = 1

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Throws RpcError. */
  request(method: string, params: readonly unknown[] = []): Promise<unknown> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(null), REQUEST_MS)
      const settle = (answer: JsonObject | null): void => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        if (answer === null) reject(new RpcError(CODE.timeout, `${method} was not answered within ${REQUEST_MS} ms`))
        else if (isObject(answer['error'])) reject(errorOf(answer['error']))
        else resolve(answer['result'] ?? null)
      }
      this.#waiting.set(id, settle)
      this.#connection.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** Throws RpcError. */
  async subscribe(params: readonly unknown[], listener: (result: unknown) => void): Promise<void> {
    const id = await this.request('eth_subscribe', params)
    if (typeof id !== 'string') throw new RpcError(CODE.server, 'eth_subscribe returned no id')
    this.#listeners.set(id, listener)
  }

  /** Returns false for a message that is not JSON-RPC. */
  accept(data: Uint8Array): boolean {
    const message = replyObject(data)
    if (message === null) return false
    if (message['method'] === 'eth_subscription' && isObject(message['params'])) {
      const { subscription, result } = message['params']
      this.#listeners.get(String(subscription))?.(result)
      return true
    }
    const waiting = this.#waiting.get(Number(message['id']))
    waiting?.(message)
    return waiting !== undefined || message['jsonrpc'] === '2.0'
  }

  /** The connection is new: the former subscriptions have ended. */
  reset(): void {
    this.#listeners.clear()
  }
}

function errorOf(error: JsonObject): RpcError {
  const { message } = error
  return new RpcError(
    Number(error['code']) || CODE.server,
    typeof message === 'string' ? message.slice(0, ERROR_CHARS) : 'an error without message',
  )
}
