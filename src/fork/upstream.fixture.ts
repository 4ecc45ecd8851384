import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Address, Hash, Hex } from '../eth/index.ts'

type Json = Readonly<Record<string, unknown>>
interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** Thrown by an answer function: the JSON-RPC error of the call. */
export class Refusal extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export type AnswerFunction = (method: string, params: readonly unknown[]) => unknown

/** Faults that a test injects; all are off at first. */
export interface Faults {
  delayMs: number
  /** HTTP requests that get this status and text before others are answered */
  failing: { count: number; status: number; body?: string; headers?: Record<string, string>; onlyBatches?: true }
  /** connections that are closed without an answer */
  resets: number
  /** HTTP requests per second; 429 above */
  perSecond: number
  /** calls of a batch that are answered before the others get this error */
  answeredCalls: { count: number; error: { code: number; message: string } } | null
  batches: 'all' | 'refused' | 'object' | number
  /** methods that do not exist */
  absent: Set<string>
  /** `{blockHash}` as block parameter */
  takesHashes: boolean
  /** the error of every state request */
  stateError: { code: number; message: string } | null
}

const STATE_METHODS = /^eth_(getBalance|getTransactionCount|getCode|getStorageAt|getAccountInfo|getStorageValues|createAccessList)$/

/** A JSON-RPC server over a real socket, with counters and faults. */
export class UpstreamFixture {
  readonly faults: Faults = {
    delayMs: 0,
    failing: { count: 0, status: 500 },
    resets: 0,
    perSecond: Infinity,
    answeredCalls: null,
    batches: 'all',
    absent: new Set(),
    takesHashes: true,
    stateError: null,
  }
  /** the methods of each HTTP request */
  readonly requests: string[][] = []
  readonly headers: Readonly<Record<string, unknown>>[] = []
  readonly #answer: AnswerFunction
  readonly #server: Server
  #second = { start: 0, count: 0 }

  private constructor(answer: AnswerFunction) {
    this.#answer = answer
    this.#server = createServer((request, response) => {
      this.headers.push(request.headers)
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(pieces).toString()) as Call | Call[]
        const respond = (): void => this.#respond(body, response)
        if (this.faults.delayMs > 0) setTimeout(respond, this.faults.delayMs)
        else respond()
      })
    })
  }

  static async start(answer: AnswerFunction): Promise<UpstreamFixture> {
    const fixture = new UpstreamFixture(answer)
    await new Promise<void>((resolve) => fixture.#server.listen(0, '127.0.0.1', resolve))
    return fixture
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** All calls in their order. */
  get methods(): readonly string[] {
    return this.requests.flat()
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #respond(body: Call | Call[], response: ServerResponse): void {
    const calls = Array.isArray(body) ? body : [body]
    this.requests.push(calls.map(({ method }) => method))
    const { faults } = this
    if (faults.resets > 0) {
      faults.resets -= 1
      response.socket?.destroy()
      return
    }
    if (faults.failing.count > 0 && (faults.failing.onlyBatches !== true || Array.isArray(body))) {
      faults.failing.count -= 1
      return end(response, faults.failing.status, faults.failing.body ?? '<html>failed</html>', faults.failing.headers)
    }
    if (this.#isTooFast()) return end(response, 429, '{"error":"too many requests"}')
    if (!Array.isArray(body)) return end(response, 200, JSON.stringify(this.#result(body)))
    if (faults.batches === 'refused') return end(response, 200, JSON.stringify(refused(null, -32600, 'Batch requests are not supported')))
    if (faults.batches === 'object') return end(response, 400, '')
    if (typeof faults.batches === 'number' && calls.length > faults.batches)
      return end(response, 200, JSON.stringify(refused(null, -32600, 'batch too large')))
    const limit = faults.answeredCalls
    const results = calls.map((call, i) =>
      limit !== null && i >= limit.count ? refused(call.id, limit.error.code, limit.error.message) : this.#result(call),
    )
    return end(response, 200, JSON.stringify(results.toReversed())) // the order is free
  }

  #isTooFast(): boolean {
    const now = Date.now()
    if (now - this.#second.start >= 1000) this.#second = { start: now, count: 0 }
    this.#second.count += 1
    return this.#second.count > this.faults.perSecond
  }

  #result({ id, method, params }: Call): Json {
    const { absent, takesHashes, stateError } = this.faults
    if (absent.has(method)) return refused(id, -32601, `the method ${method} does not exist/is not available`)
    if (!takesHashes && params.some((param) => typeof param === 'object' && param !== null && 'blockHash' in param))
      return refused(id, -32602, 'invalid argument 1: json: cannot unmarshal object into Go value of type string')
    if (stateError !== null && STATE_METHODS.test(method)) return refused(id, stateError.code, stateError.message)
    try {
      return { jsonrpc: '2.0', id, result: this.#answer(method, params) }
    } catch (error) {
      if (error instanceof Refusal) return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message, data: error.data } }
      throw error
    }
  }
}

function refused(id: number | null, code: number, message: string): Json {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function end(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

// --- a chain ---------------------------------------------------------------------------------------------------------------------------

export interface FixtureAccount {
  readonly nonce: bigint
  readonly balance: bigint
  readonly code: Hex
}

/** A chain of empty blocks with one fixed state. */
export class FixtureChain {
  readonly chainId: number
  head: number
  readonly isOp: boolean
  readonly accounts = new Map<string, FixtureAccount>()
  /** by address and slot; other slots of accounts with code are 0 */
  readonly slots = new Map<string, bigint>()
  /** changes the hash of all blocks from this number on */
  reorganisedFrom = Infinity
  accessList: readonly { address: string; storageKeys: readonly string[] }[] = []

  constructor({ chainId = 10, head = 100, isOp = true }: { chainId?: number; head?: number; isOp?: boolean } = {}) {
    this.chainId = chainId
    this.head = head
    this.isOp = isOp
  }

  hash(number: number): Hash {
    return Hash.ofText(`block ${number}${number >= this.reorganisedFrom ? ' again' : ''}`)
  }

  block(number: number, isWhole: boolean): Json | null {
    if (number > this.head || number < 0) return null
    const transaction = { hash: Hash.ofText(`transaction ${number}`), type: this.isOp ? '0x7e' : '0x2', transactionIndex: '0x0' }
    return {
      number: Hex.fromQuantity(number),
      hash: this.hash(number),
      parentHash: number === 0 ? Hash.zero : this.hash(number - 1),
      stateRoot: Hash.ofText(`state ${number}`),
      timestamp: Hex.fromQuantity(1_700_000_000 + number * 2),
      transactions: isWhole ? [transaction] : [transaction.hash],
    }
  }

  /** The answer function of an UpstreamFixture. */
  readonly answer: AnswerFunction = (method, params) => {
    const [first, second] = params as readonly [string, string]
    const account = this.accounts.get(first) ?? { nonce: 0n, balance: 0n, code: '0x' }
    switch (method) {
      case 'eth_chainId':
        return Hex.fromQuantity(this.chainId)
      case 'eth_blockNumber':
        return Hex.fromQuantity(this.head)
      case 'eth_getBlockByNumber':
        return this.block(first === 'latest' ? this.head : Number(first), Boolean(second))
      case 'eth_getTransactionByBlockNumberAndIndex':
        return (this.block(this.head, true) as { transactions: unknown[] }).transactions[0]
      case 'eth_getBalance':
        return Hex.fromQuantity(account.balance)
      case 'eth_getTransactionCount':
        return Hex.fromQuantity(account.nonce)
      case 'eth_getCode':
        return account.code
      case 'eth_getAccountInfo':
        return { nonce: Hex.fromQuantity(account.nonce), balance: Hex.fromQuantity(account.balance), code: account.code }
      case 'eth_getStorageAt':
        return Hex.fromBytes32(this.slots.get(first + second) ?? 0n)
      case 'eth_getStorageValues':
        return this.#storageValues(params[0] as Readonly<Record<string, readonly string[]>>)
      case 'eth_createAccessList':
        return { accessList: this.accessList, gasUsed: '0x5208' }
      default:
        throw new Refusal(-32601, `the method ${method} does not exist/is not available`)
    }
  }

  #storageValues(requested: Readonly<Record<string, readonly string[]>>): Json {
    const entries = Object.entries(requested).map(([address, slots]) => {
      return [Address.checksum(Address.from(address)), slots.map((slot) => Hex.fromBytes32(this.slots.get(address + slot) ?? 0n))]
    })
    return Object.fromEntries(entries) as Json
  }
}

/** A contract with slots 0 … count - 1 of values 1 … count. */
export function addContract(chain: FixtureChain, seed: number, count: number): Address {
  const address = Address.fromBigint(0xc0de_0000n + BigInt(seed))
  chain.accounts.set(address, { nonce: 1n, balance: 0n, code: `0x60${seed.toString(16).padStart(2, '0')}` })
  for (let i = 0; i < count; i++) chain.slots.set(address + slotOf(i), BigInt(i + 1))
  return address
}

export function slotOf(index: number): Hash {
  return Hash.fromBigint(BigInt(index))
}
