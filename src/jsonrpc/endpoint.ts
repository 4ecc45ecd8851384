import {
  failureText,
  idOf,
  idText,
  invalidRequest,
  openEnvelope,
  parseBody,
  parseError,
  refusedBatch,
  tooLarge,
  unansweredText,
} from './envelope.ts'
import type { Id } from './envelope.ts'
import { CODE, RpcError } from './errors.ts'
import type { ToRpcError } from './errors.ts'
import { BATCH_ITEMS, BATCH_RESPONSE_BYTES, BATCH_SLICE_MS } from './limits.ts'
import { EventLoopQueue, inNextTurn } from './eventloopqueue.ts'

/** The response to one item of a batch: text, or pieces of UTF-8. */
export type BatchItem = string | readonly Uint8Array[]

/** Turns results into response bodies: text, or whatever else (`B`) the transport sends. Throws RpcError. */
export interface ResponseWriter<B> {
  readonly success: (id: Id, method: string, result: unknown) => string | B
  /** Releases the result of a notification, which is not sent. */
  readonly discard: (result: unknown) => void
  /** The body as an item of a batch; null if it is longer than that. */
  readonly item: (body: B, limitBytes: number) => BatchItem | null
  /** Joins items to one array; at least one of them is not text. */
  readonly join: (items: readonly BatchItem[]) => B
}

export interface EndpointOptions<Caller, B> {
  /** Returns the result or a Promise of it. Throws RpcError. */
  readonly call: (method: string, params: unknown, caller: Caller, isAlone: boolean) => unknown
  readonly toRpcError: ToRpcError
  readonly writer: ResponseWriter<B>
  /** called with the code of each call that fails, notifications included */
  readonly onFailure?: (code: number, caller: Caller) => void
  /** limit of one batch, BATCH_ITEMS by default; a longer batch is refused as a whole */
  readonly maxItems?: number
  /** what a batch of this caller may take before its rest is refused; Infinity unless given */
  readonly batchMs?: (caller: Caller) => number
  /** milliseconds of a monotonic clock; the machine's unless given */
  readonly now?: () => number
}

/** The envelope around a dispatcher: one body in (a call, a batch or notifications), one body out. No socket involved. */
export class Endpoint<Caller, B = never> {
  readonly #options: EndpointOptions<Caller, B>
  readonly #now: () => number
  readonly #turns = new BatchTurns()

  constructor(options: EndpointOptions<Caller, B>) {
    this.#options = options
    const clock = performance // Node's getter creates the object at each access
    this.#now = options.now ?? (() => clock.now())
  }

  /** Returns synchronously unless a method has to wait. null: no response. Never throws or rejects. */
  handle(body: string | Uint8Array, caller: Caller): string | B | null | Promise<string | B | null> {
    return this.handleMessage(parseBody(body), caller)
  }

  /** The same for a parsed body; undefined if it was not JSON. */
  handleMessage(message: unknown, caller: Caller): string | B | null | Promise<string | B | null> {
    if (message === undefined) return this.#failed(null, parseError(), caller)
    return Array.isArray(message) ? this.#batch(message, caller) : this.#respond(message, caller, true)
  }

  /**
   * Items run one after the other: a client that sends a transaction and then requests its receipt expects that order. Handlers run without a pause, so a
   * long batch yields to the event loop between items, and batches take turns.
   */
  async #batch(messages: readonly unknown[], caller: Caller): Promise<string | B | null> {
    const { maxItems = BATCH_ITEMS, batchMs } = this.#options
    const refused = refusedBatch(messages, maxItems)
    if (refused !== null) return refused
    const limitMs = batchMs?.(caller) ?? Infinity
    const items: BatchItem[] = []
    let sizeBytes = 0
    const startMs = this.#now()
    for (const message of messages) {
      let nowMs = this.#now()
      while (this.#turns.isOver(nowMs)) {
        await this.#turns.next()
        nowMs = this.#now()
      }
      const exhausted = exhaustion(sizeBytes, nowMs - startMs, limitMs)
      const next = exhausted === null ? this.#respond(message, caller, false) : unansweredText(message, exhausted)
      const body = next instanceof Promise ? await next : next
      if (body === null) continue
      const item = typeof body === 'string' ? body : this.#item(body, BATCH_RESPONSE_BYTES - sizeBytes, message)
      items.push(item)
      sizeBytes += sizeOf(item)
    }
    if (items.length === 0) return null
    return items.every((item) => typeof item === 'string') ? `[${items.join(',')}]` : this.#options.writer.join(items)
  }

  #item(body: B, limitBytes: number, message: unknown): BatchItem {
    try {
      return this.#options.writer.item(body, limitBytes) ?? failureText(idOf(message), ITEM_TOO_LARGE)
    } catch (error) {
      return failureText(idOf(message), refusal(error))
    }
  }

  #respond(message: unknown, caller: Caller, isAlone: boolean): Promise<string | B | null> | string | B | null {
    const envelope = openEnvelope(message)
    if (envelope.kind === 'invalid') return this.#failed(envelope.id, invalidRequest(envelope), caller)
    const { method } = envelope
    const id = envelope.kind === 'call' ? envelope.id : undefined
    try {
      const result = this.#options.call(method, envelope.params, caller, isAlone)
      return result instanceof Promise ? this.#awaited(id, method, result, caller) : this.#written(id, method, result)
    } catch (error) {
      return this.#failed(id, error, caller)
    }
  }

  #awaited(id: Id | undefined, method: string, result: Promise<unknown>, caller: Caller): Promise<string | B | null> {
    return result.then((value: unknown) => this.#written(id, method, value)).catch((error: unknown) => this.#failed(id, error, caller))
  }

  #failed(id: Id | undefined, error: unknown, caller: Caller): string | null {
    const refused = refusal(error)
    this.#options.onFailure?.(refused.code, caller)
    return id === undefined ? null : failureText(id, refused)
  }

  /** `id` undefined: a notification, which is executed and not answered. Throws RpcError. */
  #written(id: Id | undefined, method: string, result: unknown): string | B | null {
    const { writer, toRpcError } = this.#options
    try {
      if (id !== undefined) return writer.success(id, method, result)
      writer.discard(result)
      return null
    } catch (error) {
      throw toRpcError(error, method)
    }
  }
}

/** The writer for results that are plain JSON values. */
export const JSON_WRITER: ResponseWriter<never> = {
  success: (id, _, result) => `{"jsonrpc":"2.0","id":${idText(id)},"result":${JSON.stringify(result ?? null)}}`,
  discard: () => undefined,
  item: (body) => body,
  join: (items): never => {
    throw new Error(`a batch of ${items.length} texts is joined as text`)
  },
}

/** Shares each turn of the event loop among all batches, so that a timer is late by one slice (BATCH_SLICE_MS) at most. */
class BatchTurns {
  /** time when the first batch of this turn of the event loop began; `null` before it */
  #startMs: number | null = null
  readonly #queue = new EventLoopQueue()

  isOver(nowMs: number): boolean {
    if (this.#startMs !== null) return nowMs - this.#startMs > BATCH_SLICE_MS
    this.#startMs = nowMs
    inNextTurn(() => (this.#startMs = null))
    return false
  }

  /** Resolves in a turn of its own. */
  async next(): Promise<void> {
    await this.#queue.wait()
    this.#startMs = null
  }
}

/** Bytes as counted against limits. Text counts by characters, which are almost always ASCII. */
function sizeOf(item: BatchItem): number {
  return typeof item === 'string' ? item.length : item.reduce((sum, piece) => sum + piece.length, 0)
}

/** The reason why the rest of a batch is not executed; null: it is. */
function exhaustion(sizeBytes: number, spentMs: number, limitMs: number): RpcError | null {
  if (sizeBytes > BATCH_RESPONSE_BYTES) return tooLarge()
  if (spentMs <= limitMs) return null
  return new RpcError(CODE.timeout, `request timed out: the batch took more than ${limitMs} ms, the rest was not executed`)
}

const ITEM_TOO_LARGE = new RpcError(
  CODE.responseTooLarge,
  `response too large: with this one the batch's answers would pass ${BATCH_RESPONSE_BYTES} bytes; alone it has no limit`,
)

function refusal(error: unknown): RpcError {
  return error instanceof RpcError ? error : new RpcError(CODE.internal, 'method handler crashed')
}
