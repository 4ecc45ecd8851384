import { once } from 'node:events'
import { WebSocket } from 'ws'
import { createPocketchain } from '../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../src/index.ts'

/** A node with an open port and a minimal client that returns wire values unchanged. */
export interface RunningNode extends AsyncDisposable {
  readonly node: Pocketchain
  readonly url: string
  readonly wsUrl: string
  /** Returns the result. Throws an Error with the code and the message of the error response. */
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** The results of one batch, in the order of its calls. Throws as `ask` does. */
  readonly askAll: (calls: readonly Call[]) => Promise<readonly unknown[]>
}

export type Call = readonly [method: string, ...params: unknown[]]

export const WORDS = 'test test test test test test test test test test test junk'

/** Starts a node on any free port. An internal error fails the test. */
export async function startNode(options: PocketchainOptions = {}): Promise<RunningNode> {
  const bugs: unknown[] = []
  const node = await createPocketchain({ onError: (error) => bugs.push(error), ...options })
  const { url, wsUrl } = await node.listen()
  const askAll = (calls: readonly Call[]) => post(url, calls)
  return {
    node,
    url,
    wsUrl,
    askAll,
    ask: async (...call) => (await askAll([call]))[0],
    [Symbol.asyncDispose]: async () => {
      await node.close()
      if (bugs.length > 0) throw new AggregateError(bugs, 'the node reported bugs of its own')
    },
  }
}

export interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** The results of one batch, in the order of its calls. Throws an Error with the code and the message of the error response. */
export async function post(url: string, calls: readonly Call[]): Promise<readonly unknown[]> {
  return (await answersOf(url, calls)).map(({ result, error }) => {
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
    return result
  })
}

/** The responses to one batch, including errors, in the order of its calls. */
export async function answersOf(url: string, calls: readonly Call[]): Promise<readonly Answer[]> {
  const body = calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as readonly Answer[] // the response to a batch is an array
}

/** One WebSocket connection and all notifications received on it, in order. */
export interface Listener<Kind extends string> {
  readonly heard: readonly Heard<Kind>[]
  /** Waits until the received notifications satisfy `enough`, which is evaluated at each notification. */
  readonly until: (enough: (heard: readonly Heard<Kind>[]) => boolean) => Promise<void>
  readonly close: () => void
}

export interface Heard<Kind extends string> {
  readonly kind: Kind
  readonly item: unknown
}

/** Subscribes on one connection; `subscriptions` maps arbitrary keys to parameters of eth_subscribe. */
export async function listen<Kind extends string>(
  wsUrl: string,
  subscriptions: Readonly<Record<Kind, readonly unknown[]>>,
): Promise<Listener<Kind>> {
  const socket = new WebSocket(wsUrl)
  const kinds = Object.keys(subscriptions) as Kind[] // the keys of the parameter
  const kindOf = new Map<string, Kind>()
  const heard: Heard<Kind>[] = []
  const waiting = new Set<() => void>()
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message
      if (message.method === undefined) {
        kindOf.set(message.result, kinds[message.id]!)
        if (kindOf.size === kinds.length) resolve()
        return
      }
      const { subscription, result } = message.params
      heard.push({ kind: kindOf.get(subscription)!, item: result })
      for (const check of waiting) check()
    })
  })
  await once(socket, 'open')
  for (const [id, kind] of kinds.entries()) {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: subscriptions[kind] }))
  }
  await answered
  return {
    heard,
    close: () => socket.close(),
    until: (enough) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!enough(heard)) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}

/** A message on the socket: the response to eth_subscribe, or a notification. */
type Message =
  | { readonly method: undefined; readonly id: number; readonly result: string }
  | { readonly method: string; readonly params: { readonly subscription: string; readonly result: unknown } }

/** The fields of a log, a receipt and a header that tests read. */
export interface LogJson {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockHash: string
  readonly blockNumber: string
  readonly transactionHash: string
  readonly logIndex: string
  readonly removed: boolean
}

export interface ReceiptJson {
  readonly blockHash: string
  readonly blockNumber: string
  readonly transactionHash: string
  readonly status: string
  readonly logs: readonly LogJson[]
}

export interface HeaderJson {
  readonly hash: string
  readonly parentHash: string
  readonly number: string
}

export const ZERO_HASH = `0x${'00'.repeat(32)}`
