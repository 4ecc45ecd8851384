import type { Socket } from 'node:net'
import type { Body } from '../../rpc/index.ts'
import { JsonAnswer, JsonStream, RpcError } from '../../rpc/index.ts'
import { releaseBuffer } from '../../store/index.ts'
import { completeBody, discard, sizeOf } from './answer.ts'
import type { Answer, CompleteBody } from './answer.ts'
import { NO_CODING, codingFor } from './coding.ts'
import type { AcceptedCoding } from './coding.ts'
import { compressed } from './compression.ts'
import { COMPRESS_BYTES } from '../limits.ts'

/** Takes the chunks of a streamed body, over HTTP or WebSocket. */
export interface ChunkSink {
  /** false once the client has disconnected */
  readonly isOpen: boolean
  /** true if all bytes that were written have left this process's memory */
  readonly isFlushed: boolean
  write(chunk: Uint8Array): void
  /** Resolves when the next chunk may be written, in a later turn of the event loop; false if the client has disconnected. */
  ready(): Promise<boolean>
  /** Completes the body. */
  end(): void
  /** Closes the connection without completing the body, so that the client detects the loss. */
  abort(): void
}

/** One HTTP response, over node:http or a raw socket. A sink only writes; `writeResponse` decides what. */
export interface ResponseSink extends ChunkSink {
  readonly remoteAddress: string | undefined
  /** Writes a response with Content-Length. `onFlushed`: the body is no longer referenced; not called if the connection closes first. */
  send(head: ResponseHead, body: CompleteBody, onFlushed?: () => void): void
  /** Begins a response of unknown length; `write` and `end` follow. */
  start(head: ResponseHead): void
}

export interface ResponseHead {
  readonly status: number
  readonly type: string
  /** name, value, name, value … */
  readonly headers: readonly string[]
}

export interface ResponseOptions {
  /** name, value, name, value … */
  readonly cors: readonly string[]
  /** none by default */
  readonly accepts?: AcceptedCoding
  /** receives every error of a streamed body that is a bug */
  readonly onError: (error: unknown) => void
}

/**
 * Writes an answer. A body below COMPRESS_BYTES is written immediately. A larger one is compressed if the request accepts it, else written as it is:
 * complete bodies with their length, streams in chunks.
 */
export function writeResponse(sink: ResponseSink, answer: Answer, { cors, accepts = NO_CODING, onError }: ResponseOptions): void {
  const { status, type, body } = answer
  if (!sink.isOpen) return discard(body)
  const headers = answer.headers === undefined ? cors : [...answer.headers, ...cors]
  const small = smallBody(body)
  if (small !== null) return sink.send({ status, type, headers }, small)
  const coding = codingFor(accepts, sink.remoteAddress)
  const encoded = coding === null ? VARY : ['content-encoding', coding, ...VARY]
  const head: ResponseHead = { status, type, headers: [...encoded, ...headers] }
  if (coding === null && !(body instanceof JsonStream)) {
    const complete = completeBody(body)
    return sink.send(head, complete, () => recycle(complete))
  }
  sink.start(head)
  void stream(coding === null ? chunksOf(body) : compressed(chunksOf(body), coding), sink, onError)
}

/** Writes chunks at the client's pace, so that one chunk is in memory per client. A refusal (RpcError) or a bug aborts the sink. */
export async function stream(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  sink: ChunkSink,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    for await (const chunk of chunks) {
      // Compression runs in a thread; the client may have disconnected meanwhile.
      if (!sink.isOpen) return
      sink.write(chunk)
      if (!(await sink.ready())) return
      if (sink.isFlushed) releaseBuffer(chunk)
    }
    if (sink.isOpen) sink.end()
  } catch (error) {
    sink.abort()
    if (!(error instanceof RpcError)) onError(error)
  }
}

/** Returns memory that the store lends for one response; has no effect on memory that is kept. */
export function recycle(body: CompleteBody): void {
  if (typeof body !== 'string') for (const piece of body) releaseBuffer(piece)
}

function smallBody(body: Body): CompleteBody | null {
  if (body instanceof JsonStream) return null
  if (typeof body === 'string') return body.length < COMPRESS_BYTES ? body : null
  if (body instanceof JsonAnswer && body.result.bytes.length >= COMPRESS_BYTES) return null
  const complete = completeBody(body)
  return sizeOf(complete) < COMPRESS_BYTES ? complete : null
}

function chunksOf(body: Body): Iterable<Uint8Array> {
  if (body instanceof JsonStream) return body
  const complete = completeBody(body)
  return typeof complete === 'string' ? [Buffer.from(complete)] : complete
}

const VARY: readonly string[] = ['vary', 'accept-encoding']

/** Implements `ready` for a writable stream over `socket`, after a write. */
export function readyToWrite(writable: Writable, socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const done = () => {
      writable.off('drain', done)
      socket.off('close', done)
      setImmediate(() => resolve(!socket.destroyed))
    }
    if (socket.destroyed || !writable.writableNeedDrain) return done()
    writable.on('drain', done)
    socket.on('close', done)
  })
}

interface Writable {
  readonly writableNeedDrain: boolean
  on(event: 'drain', listener: () => void): unknown
  off(event: 'drain', listener: () => void): unknown
}
