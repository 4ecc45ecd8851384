import { OutboundError } from './outboundtarget.ts'

export interface OutboundRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal | null
  /** so long this one may take; as the Outbound's options say unless given */
  readonly timeoutMs?: number
}

export interface OutboundReply {
  readonly status: number
  readonly body: Uint8Array
}

/** Sends one request; what was checked is what it goes to. `connected` is called when the other side is reached. */
export type Transport = (url: URL, request: OutboundRequest, signal: AbortSignal, connected: () => void) => Promise<OutboundReply>

/** All addresses of a name, as text. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** The body of an answer as it comes in. */
export class ReplyBytes {
  readonly #url: URL
  readonly #most: number
  readonly #pieces: Uint8Array[] = []
  #size = 0

  constructor(url: URL, maxReplyBytes: number) {
    this.#url = url
    this.#most = maxReplyBytes
  }

  /** Throws OutboundError when it is too much. */
  add(piece: Uint8Array): void {
    this.#size += piece.length
    if (this.#size > this.#most)
      throw new OutboundError('too-large', `the answer of ${this.#url.origin} has more than ${this.#most} bytes`, true)
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
