import type { Socket } from 'node:net'
import type { Body, Coding } from '../rpc/index.ts'
import { JsonAnswer, JsonStream, RpcError } from '../rpc/index.ts'
import { discard, sizeOf, wholeOf } from './answer.ts'
import type { Whole } from './answer.ts'
import { COMPRESS_BYTES } from './limits.ts'
import { packed, packedAnswer } from './packing.ts'
import { releaseBuffer } from '../store/index.ts'

/** The client's end of an answer. */
export interface Outlet {
  readonly isOpen: boolean
  /**
   * All of the answer. `headers`: name, value, name, value …, beside what every answer has. `onTaken`: nothing of the body is in our memory any
   * more; of a connection that ended before, nobody says so.
   */
  sendWhole(body: Whole, headers: readonly string[], onTaken?: () => void): void
  /** The first of an answer's chunks; `send` is for the others. */
  begin(headers: readonly string[]): void
  send(chunk: Uint8Array): void
  /** Nothing of what was sent is in our memory any more. */
  readonly isDrained: boolean
  /** True: what was sent is on its way, and others have had their turn. False: there is nobody any more. */
  room(): Promise<boolean>
  /** That was all. */
  finish(): void
  /** There was to be more: hangs up, so that nobody takes what was sent for the whole. */
  abort(): void
}

/** What is short enough to be sent at once, whoever reads it; null: it is for `deliver`. */
export function smallOf(body: Body): Whole | null {
  if (body instanceof JsonStream) return null
  if (typeof body === 'string') return body.length < COMPRESS_BYTES ? body : null
  if (body instanceof JsonAnswer && body.result.bytes.length >= COMPRESS_BYTES) return null
  const whole = wholeOf(body)
  return sizeOf(whole) < COMPRESS_BYTES ? whole : null
}

/** Sends a large body: as it lies when it lies ready and nobody wants it smaller, else in chunks, as the client takes them. */
export function deliver(body: Body, coding: Coding | null, outlet: Outlet, onError: (error: unknown) => void): void {
  if (!outlet.isOpen) discard(body)
  else if (coding !== null) void compress(body, coding, outlet, onError)
  else if (body instanceof JsonStream) void pour(body, VARY, outlet, onError)
  else {
    const whole = wholeOf(body)
    outlet.sendWhole(whole, VARY, () => giveBack(whole))
  }
}

/** Nobody reads these pieces any more. What is kept was not lent. */
export function giveBack(whole: Whole): void {
  if (typeof whole !== 'string') for (const piece of whole) releaseBuffer(piece)
}

async function compress(body: Body, coding: Coding, outlet: Outlet, onError: (error: unknown) => void): Promise<void> {
  const headers = ['content-encoding', coding, ...VARY]
  try {
    const kept = body instanceof JsonAnswer ? await packedAnswer(body, coding) : null
    if (kept === null) await pour(packed(chunksOf(body), coding), headers, outlet, onError)
    else if (outlet.isOpen) outlet.sendWhole(kept, headers)
  } catch (error) {
    outlet.abort()
    onError(error)
  }
}

function chunksOf(body: Body): Iterable<Uint8Array> {
  if (body instanceof JsonStream) return body
  const whole = wholeOf(body)
  return typeof whole === 'string' ? [Buffer.from(whole)] : whole
}

/** No more than a chunk waits for a client. What breaks on the way is a bug unless it is a refusal. */
export async function pour(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  headers: readonly string[],
  outlet: Outlet,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    let isBegun = false
    for await (const chunk of chunks) {
      // A thread may have worked on it for a while.
      if (!outlet.isOpen) return
      if (!isBegun) outlet.begin(headers)
      isBegun = true
      outlet.send(chunk)
      if (!(await outlet.room())) return
      if (outlet.isDrained) releaseBuffer(chunk)
    }
    if (outlet.isOpen) outlet.finish()
  } catch (error) {
    outlet.abort()
    if (!(error instanceof RpcError)) onError(error)
  }
}

const VARY: readonly string[] = ['vary', 'accept-encoding']

/** What `room` answers, of a socket or of what writes to it. Called after a write. */
export function roomIn(writer: Writer, socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const turn = () => {
      writer.off('drain', turn)
      socket.off('close', turn)
      setImmediate(() => resolve(!socket.destroyed))
    }
    if (socket.destroyed || !writer.writableNeedDrain) return turn()
    writer.on('drain', turn)
    socket.on('close', turn)
  })
}

interface Writer {
  readonly writableNeedDrain: boolean
  on(event: 'drain', listener: () => void): unknown
  off(event: 'drain', listener: () => void): unknown
}
