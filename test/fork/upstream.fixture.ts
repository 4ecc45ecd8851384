import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import type { ForkOptions, PocketchainOptions } from '../../src/index.ts'

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** An HTTP proxy in front of a JSON-RPC server, with counters, a delay and faults. */
export class Proxy implements AsyncDisposable {
  /** Stays when the server has ended. */
  url = ''
  /** Added to each HTTP request. */
  delayMs = 0
  /** Each HTTP request waits for it. */
  gate: Promise<void> = Promise.resolve()
  /** Called when an HTTP request has arrived, before the gate. */
  onRequest: () => void = () => undefined
  /** Status and body of every HTTP response; null: upstream's. */
  failure: { readonly status: number; readonly body: string } | null = null
  /** The result of every call but eth_getBlockByNumber; undefined: upstream's. */
  result: unknown = undefined
  /** Returns the error of a call, or null for upstream's answer. */
  refuse: (call: RpcCall) => RpcFailure | null = () => null
  /** The methods of each HTTP request. */
  readonly requests: string[][] = []
  /** Of the last HTTP request. */
  headers: IncomingHttpHeaders = {}
  readonly #target: string
  readonly #server: Server

  private constructor(target: string) {
    this.#target = target
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error)) // an Error of fetch
    })
  }

  static async start(target: string): Promise<Proxy> {
    const proxy = new Proxy(target)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`
    return proxy
  }

  /** All calls in their order. */
  get methods(): readonly string[] {
    return this.requests.flat()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = JSON.parse(Buffer.concat(pieces).toString()) as RpcCall | RpcCall[]
    const calls = Array.isArray(body) ? body : [body]
    this.headers = request.headers
    this.requests.push(calls.map(({ method }) => method))
    this.onRequest()
    await this.gate
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
    const { status, body: text } = this.failure ?? { status: 200, body: await this.#ask(body, calls) }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(text)
  }

  async #ask(body: unknown, calls: readonly RpcCall[]): Promise<string> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(this.#target, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    const changed = new Map(calls.flatMap((call) => [[call.id, this.#changed(call)] as const]))
    if ([...changed.values()].every((answer) => answer === null)) return text
    const answers = JSON.parse(text) as { readonly id: number } | readonly { readonly id: number }[]
    const shown = (answer: { readonly id: number }): unknown => ({ ...(changed.get(answer.id) ?? answer), jsonrpc: '2.0', id: answer.id })
    return JSON.stringify(Array.isArray(answers) ? answers.map(shown) : shown(answers as { readonly id: number }))
  }

  /** The answer in place of upstream's; null: upstream's. */
  #changed(call: RpcCall): object | null {
    const error = this.refuse(call)
    if (error !== null) return { error }
    return this.result === undefined || call.method === 'eth_getBlockByNumber' ? null : { result: this.result }
  }
}

/** A node, a proxy in front of it, and forks that read through the proxy. Disposed in reverse order. */
export class ForkedChain implements AsyncDisposable {
  readonly upstream: RunningNode
  readonly proxy: Proxy
  readonly #parts: AsyncDisposable[]

  private constructor(upstream: RunningNode, proxy: Proxy) {
    this.upstream = upstream
    this.proxy = proxy
    this.#parts = [upstream, proxy]
  }

  static async start(options: PocketchainOptions = {}): Promise<ForkedChain> {
    const upstream = await startNode({ cadence: 'instant', ...SMALL, ...options })
    return new ForkedChain(upstream, await Proxy.start(upstream.url))
  }

  /** Forks at upstream's head unless `fork` names a block. */
  async fork(options: PocketchainOptions = {}, fork: Partial<ForkOptions> = {}): Promise<RunningNode> {
    const at = fork.transactionHash === undefined ? { blockNumber: Number(await this.upstream.ask('eth_blockNumber')) } : {}
    const forkOptions = { url: this.proxy.url, storageCaching: false, ...at, ...fork }
    const node = await startNode({ cadence: 'instant', onNote: () => undefined, ...SMALL, ...options, fork: forkOptions })
    this.#parts.push(node)
    return node
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) await part[Symbol.asyncDispose]()
  }
}

/** Products that a test of the chain does not need. */
const SMALL = { sponsor: false, wallet: false, bundler: false } as const

export const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
export const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

/** Sends a transaction of a dev account under `instant`, and returns its receipt. */
export async function send(node: RunningNode, transaction: Record<string, unknown>): Promise<Record<string, unknown>> {
  const hash = await node.ask('eth_sendTransaction', { from: ALICE, ...transaction })
  return (await node.ask('eth_getTransactionReceipt', hash)) as Record<string, unknown>
}

/** Deploys runtime code and returns the address. */
export async function deploy(node: RunningNode, runtime: string): Promise<string> {
  const length = (runtime.length / 2).toString(16).padStart(4, '0')
  const { contractAddress } = await send(node, { data: `0x61${length}600e60003961${length}6000f3${runtime}` })
  return contractAddress as string
}

/** `add(key, amount)` on mapping(key => value), which is logged with its slot as topic and returned: the reads of a token transfer. */
export const LEDGER = '600035600052604060002080546020350180825560005260206000a160206000f3'

/** With call data: sets slot 0. Without: increments the slot that slot 0 names. */
export const POINTER = '36600f5760005480546001019055005b60003560005500'

export function word(value: number | bigint): string {
  return value.toString(16).padStart(64, '0')
}

export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`
}

/** `stderr` of the command without the progress of a fork, which it prints if the start takes longer than a second. */
export function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^pocketchain: Warning: forking: \d+ requests, \d+ keys, \d+ from the cache\n/gm, '')
}
