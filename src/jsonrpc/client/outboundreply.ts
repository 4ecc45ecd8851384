import { isObject } from '../../eth/index.ts'
import { OutboundError } from './outboundtarget.ts'

export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal | null
  /** limit of this request; by default the limit in the options of Outbound */
  readonly timeoutMs?: number
}

export interface OutboundReply {
  readonly status: number
  readonly body: Uint8Array
  /** the Retry-After header, if the reply has one */
  readonly retryAfter?: string
}

/** The JSON of a reply; `undefined` if it is not JSON in UTF-8. */
export function replyJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(TEXT.decode(body))
  } catch {
    return undefined
  }
}

/** As `replyJson`; `null` if it is not an object. */
export function replyObject(body: Uint8Array): Readonly<Record<string, unknown>> | null {
  const value = replyJson(body)
  return isObject(value) ? value : null
}

const TEXT = new TextDecoder('utf-8', { fatal: true })

/** Sends one request to the checked target. `connected` is called when the server is reached. */
export type Transport = (url: URL, request: OutboundRequest, signal: AbortSignal, connected: () => void) => Promise<OutboundReply>

/** All addresses of a name, as text. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** Collects the body of a reply. */
export class ReplyBytes {
  readonly #url: URL
  readonly #maxBytes: number
  readonly #pieces: Uint8Array[] = []
  #size = 0

  constructor(url: URL, maxReplyBytes: number) {
    this.#url = url
    this.#maxBytes = maxReplyBytes
  }

  /** Throws OutboundError above the limit. */
  add(piece: Uint8Array): void {
    this.#size += piece.length
    if (this.#size > this.#maxBytes)
      throw new OutboundError('too-large', `the answer of ${this.#url.origin} has more than ${this.#maxBytes} bytes`, true)
    this.#pieces.push(piece)
  }

  whole(): Uint8Array {
    const bytes = new Uint8Array(this.#size)
    let at = 0
    for (const piece of this.#pieces) {
      bytes.set(piece, at)
      at += piece.length
    }
    return bytes
  }
}
