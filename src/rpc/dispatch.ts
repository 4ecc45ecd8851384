import { BatchAnswers, WRITTEN } from './batchanswers.ts'
import { ENVELOPE_TAIL, JsonAnswer, envelopeHead, envelopeStream, textOf } from './body.ts'
import type { Body } from './body.ts'
import { Hex } from '../eth/index.ts'
import type { BundlerPort, Caller, Context, Session, SponsorPort, WalletPort } from './context.ts'
import { failureText, idOf, openEnvelope, parseBody, refusedBatch, tooLarge, unansweredText } from './envelope.ts'
import type { Id } from './envelope.ts'
import { CODE, RpcError } from './errors.ts'
import { Filters } from './filters.ts'
import {
  BATCH_ITEMS,
  BATCH_RESPONSE_BYTES,
  BATCH_SLICE_MS,
  METHOD_TIME_MS,
  PUBLIC_BATCH_MS,
  WHOLE_ANSWER_BYTES,
  SMALL_ANSWER_BYTES,
} from './limits.ts'
import type { Method } from './method.ts'
import { refusalOf } from './outward.ts'
import type { Parallel, Sharing } from './parallel.ts'
import { PlainCall, readPlainCalls } from './plaincall.ts'
import type { Rpc, RpcRequest } from './port.ts'
import { PUBLIC_METHODS, PUBLIC_REFUSALS } from './public.ts'
import { LATEST } from './schema.ts'
import { METHODS } from './table.ts'
import { BlockTexts, JsonBytes, JsonStream, JsonText } from './texts.ts'

/** What a node gives to its JSON-RPC face. */
export interface RpcOptions extends Omit<
  Context,
  'filters' | 'texts' | 'spell' | 'parallel' | 'sharing' | 'wallet' | 'bundler' | 'sponsor'
> {
  /** none unless given */
  readonly parallel?: Parallel | null
  /** by `parallel`; none unless given */
  readonly sharing?: Sharing | null
  /** none unless given: wallet_getCallsStatus does not exist then */
  readonly wallet?: WalletPort | null
  /** none unless given: the methods of ERC-4337 do not exist then */
  readonly bundler?: BundlerPort | null
  /** none unless given: the methods that steer a sponsor do not exist then */
  readonly sponsor?: SponsorPort | null
  /** gets every error that is a bug of ours; the client reads only "method handler crashed" */
  readonly onBug: (error: unknown, method: string) => void
  /** milliseconds of a steady clock, by which filters go idle and batches make room for others; the machine's unless given */
  readonly now?: () => number
  /** how long a method may wait, unless its row says otherwise: METHOD_TIME_MS */
  readonly methodTimeMs?: number
}

/**
 * The answer to one body. `body` null: there is nothing to answer. A stream whose reader is gone has to be ended; when it throws (an RpcError)
 * half an answer has been sent, which nobody must take for the whole. `status`: HTTP status other than 200.
 */
export interface Handled {
  readonly body: Body | null
  readonly status?: number
}

/** A node's methods, with and without the JSON-RPC envelope; no socket involved. */
export interface NodeRpc extends Rpc {
  /** Answers one HTTP body or WebSocket message, at once unless a method has to wait. Never throws or rejects. */
  readonly handle: (body: string | Uint8Array, caller: Caller) => Handled | Promise<Handled>
  /** In process: without envelope and without serialising. Throws RpcError. */
  readonly request: (request: RpcRequest, caller?: Caller) => Promise<unknown>
  /** Ends what still listens to the chain. */
  readonly close: () => void
}

export function createRpc(options: RpcOptions): NodeRpc {
  const clock = performance // which Node makes anew each time it is named
  const now = options.now ?? (() => clock.now())
  const context: Context = {
    ...options,
    parallel: options.parallel ?? null,
    sharing: null,
    wallet: options.wallet ?? null,
    bundler: options.bundler ?? null,
    sponsor: options.sponsor ?? null,
    spell: Hex.fromRange,
    filters: new Filters(options.chain, now),
    texts: new BlockTexts(),
  }
  const node: Dispatch = { context, now, onBug: options.onBug, methodTimeMs: options.methodTimeMs ?? METHOD_TIME_MS }
  const single: Dispatch = { ...node, context: { ...context, sharing: options.sharing ?? null } }
  return {
    handle: (body, caller) => handle(node, single, body, caller),
    request: async ({ method, params }, caller = IN_PROCESS) => value(node, method, await call(node, method, params ?? [], caller)),
    subscribe: (params, listener) => subscribe(node, params, listener),
    close: () => context.filters.close(),
  }
}

function value(node: Dispatch, method: string, result: unknown): unknown {
  if (result instanceof JsonText) return JSON.parse(result.text)
  if (result instanceof JsonBytes) return JSON.parse(textOf(result.bytes))
  if (!(result instanceof JsonStream)) return result
  try {
    return JSON.parse(textOf(result))
  } catch (error) {
    throw outward(node, method, error)
  }
}

const IN_PROCESS: Caller = { tier: 'dedicated', session: null }

interface Dispatch {
  readonly context: Context
  readonly now: () => number
  readonly onBug: RpcOptions['onBug']
  readonly methodTimeMs: number
}

// --- the envelope (geth's, as its rpc/testdata pins it) -------------------------------------------------------------

function handle(node: Dispatch, single: Dispatch, body: string | Uint8Array, caller: Caller): Handled | Promise<Handled> {
  const message = (typeof body === 'string' ? undefined : readPlainCalls(body)) ?? parseBody(body)
  if (message === undefined) return { body: failureText(null, new RpcError(CODE.parse, 'parse error')) }
  if (Array.isArray(message)) return batch(node, message, caller).then((body) => ({ body }))
  const answered = answer(single, message, caller)
  return answered instanceof Promise ? answered.then((body) => handled(body, message, caller)) : handled(answered, message, caller)
}

/**
 * One after the other: a client that sends a transaction and then asks for its receipt means that order. Handlers run
 * without a pause, so a long batch lets the ticks and everybody else in between its items.
 */
async function batch(node: Dispatch, messages: readonly unknown[], caller: Caller): Promise<Body | null> {
  const refused = refusedBatch(messages, BATCH_ITEMS)
  if (refused !== null) return refused
  const answers = new BatchAnswers()
  const writer: Dispatch = { ...node, context: { ...node.context, spell: answers.spell } }
  const startMs = node.now()
  let breathMs = startMs
  for (const message of messages) {
    let nowMs = node.now()
    if (nowMs - breathMs > BATCH_SLICE_MS) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      breathMs = nowMs = node.now()
    }
    const exhausted = exhaustion(answers.sizeBytes, nowMs - startMs, caller)
    const isPlain = message instanceof PlainCall
    if (isPlain) answers.begin(message.id)
    const next = exhausted === null ? answer(isPlain ? writer : node, message, caller) : unansweredText(message, exhausted)
    const body = next instanceof Promise ? await next : next
    if (body !== null) answers.add(wholly(body, BATCH_RESPONSE_BYTES - answers.sizeBytes, message))
  }
  return answers.body()
}

/** An answer as an item of a batch, which is never sent in halves: a stream is held, while it keeps to the limit. */
function wholly(body: Body, limitBytes: number, message: unknown): string | readonly Uint8Array[] {
  if (typeof body === 'string') return body
  if (body instanceof JsonAnswer) return body.pieces
  if (body instanceof Uint8Array) return [body]
  if (!(body instanceof JsonStream)) return body
  try {
    return body.collect(limitBytes) ?? failureText(idOf(message), TOO_LARGE)
  } catch (error) {
    return failureText(idOf(message), refusal(error))
  }
}

const TOO_LARGE = new RpcError(
  CODE.responseTooLarge,
  `response too large: with this one the batch's answers would pass ${BATCH_RESPONSE_BYTES} bytes; alone it has no limit`,
)

/** Why the rest of a batch is not executed; null: it is. */
function exhaustion(sizeBytes: number, spentMs: number, { tier }: Caller): RpcError | null {
  if (sizeBytes > BATCH_RESPONSE_BYTES) return tooLarge()
  if (tier === 'dedicated' || spentMs <= PUBLIC_BATCH_MS) return null
  return new RpcError(CODE.timeout, `request timed out: the batch took more than ${PUBLIC_BATCH_MS} ms, the rest was not executed`)
}

/** null: written already, or a notification, which is executed but not answered. A Promise only when the method has to wait. */
function answer(node: Dispatch, message: unknown, caller: Caller): Promise<Body | null> | Body | null {
  if (message instanceof PlainCall) return respond(node, message.id, ETH_CALL.name, () => run(node, ETH_CALL, [message, LATEST], caller))
  const envelope = openEnvelope(message)
  if (envelope.kind === 'invalid') return failureText(envelope.id, new RpcError(CODE.invalidRequest, 'invalid request'))
  const id = envelope.kind === 'call' ? envelope.id : undefined
  const { method, params } = envelope
  return respond(node, id, method, () => call(node, method, params, caller))
}

/** What a method's result, or its refusal, is to the client. `id` undefined: nothing. */
function respond(node: Dispatch, id: Id | undefined, method: string, work: () => unknown): Promise<Body | null> | Body | null {
  const succeed = (result: unknown) => (id === undefined ? drop(result) : success(node, id, method, result))
  const fail = (error: unknown) => (id === undefined ? null : failureText(id, refusal(error)))
  try {
    const result = work()
    return result instanceof Promise ? result.then(succeed).catch(fail) : succeed(result)
  } catch (error) {
    return fail(error)
  }
}

function drop(result: unknown): null {
  if (result instanceof JsonStream) result.end()
  return null
}

function success(node: Dispatch, id: Id, method: string, result: unknown): Body | null {
  if (result === WRITTEN) return null
  if (result instanceof JsonBytes) {
    if (result.packs !== null || result.bytes.length > SMALL_ANSWER_BYTES) return new JsonAnswer(JSON.stringify(id), result)
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${textOf(result.bytes)}}`
  }
  if (result instanceof JsonStream) return streamed(node, JSON.stringify(id), method, result)
  // To see that nothing needs escaping takes 0.1 us.
  if (typeof result === 'string' && METHODS.get(method)?.isHex === true) return `{"jsonrpc":"2.0","id":${jsonOf(id)},"result":"${result}"}`
  try {
    const text = result instanceof JsonText ? result.text : jsonOf(result ?? null)
    return `{"jsonrpc":"2.0","id":${jsonOf(id)},"result":${text}}`
  } catch (error) {
    throw crash(node, method, error)
  }
}

/** JSON.stringify, without the 0.2 us that it needs to see that there is nothing to escape in a quantity or a word. */
function jsonOf(value: unknown): string {
  if (typeof value === 'string' && value.length <= PLAIN_CHARS && PLAIN.test(value)) return `"${value}"`
  return Number.isSafeInteger(value) ? String(value) : JSON.stringify(value)
}

const PLAIN = /^[0-9A-Za-z]*$/
const PLAIN_CHARS = 256

/** In one piece when it ends soon. What breaks until then is answered as any other refusal. */
function streamed(node: Dispatch, id: string, method: string, result: JsonStream): Body {
  const pieces = [envelopeHead(id)]
  const broken = (error: unknown) => outward(node, method, error)
  try {
    for (let size = 0; size < WHOLE_ANSWER_BYTES;) {
      const chunk = result.next()
      pieces.push(chunk ?? ENVELOPE_TAIL)
      if (chunk === null) return pieces
      size += chunk.length
    }
  } catch (error) {
    throw broken(error)
  }
  return envelopeStream(pieces, result, broken)
}

/** interface 4.3: only a request that stands alone has an HTTP status of its own. */
function handled(body: Body | null, message: unknown, { tier }: Caller): Handled {
  if (tier !== 'public') return { body }
  const envelope = openEnvelope(message)
  return envelope.kind !== 'invalid' && PUBLIC_REFUSALS.has(envelope.method) ? { body, status: 403 } : { body }
}

// --- one method -----------------------------------------------------------------------------------------------------

/** Throws or rejects with RpcError only. */
function call(node: Dispatch, name: string, params: unknown, caller: Caller): unknown {
  try {
    const method = lookUp(name, caller)
    const args = parseParams(method, params)
    assertControl(method, args, caller)
    return run(node, method, args, caller)
  } catch (error) {
    throw outward(node, name, error)
  }
}

/** Throws or rejects with RpcError only. `args` as the method's schemas make them. */
function run(node: Dispatch, method: Method, args: readonly unknown[], caller: Caller): unknown {
  try {
    const result = method.handler(node.context, args, caller)
    if (!(result instanceof Promise)) return result
    return withTimeLimit(result, method.timeLimitMs ?? node.methodTimeMs).catch((error: unknown) => {
      throw outward(node, method.name, error)
    })
  } catch (error) {
    throw outward(node, method.name, error)
  }
}

/** What a PlainCall calls; strangers may, too. */
const ETH_CALL = lookUp('eth_call', { tier: 'public', session: null })

function lookUp(name: string, caller: Caller): Method {
  const method = METHODS.get(name)
  if (caller.tier === 'public') {
    const refusal = PUBLIC_REFUSALS.get(name)
    if (refusal !== undefined) throw refusal
  }
  if (method === undefined || (caller.tier === 'public' && !PUBLIC_METHODS.has(name))) {
    throw new RpcError(CODE.methodNotFound, `the method ${name.slice(0, 100)} does not exist/is not available`)
  }
  return method
}

const NEEDS_CONTROL =
  'changes the sponsor, and this request has an Origin without the control credential; open a link to /sponsor or /wallet in this browser (the ' +
  'terminal prints them at start, and pocketchain_walletLink with the control token returns another), or send Authorization: Bearer <control token>'

/**
 * A page needs the control credential for methods whose row has `control`. A request with an Origin counts as a page's: browsers send one with
 * every POST and WebSocket, programs send none.
 */
function assertControl({ name, control }: Method, args: readonly unknown[], { origin = null, isControl }: Caller): void {
  if (control === undefined || origin === null || isControl?.() === true) return
  if (control === 'with-arguments' && args.every((value) => value === undefined)) return
  throw new RpcError(CODE.unauthorized, `${name} ${NEEDS_CONTROL}`, { reason: 'control-only' })
}

/** Absent and null params are no params. Named params (an object) were never part of Ethereum's JSON-RPC. */
function parseParams(method: Method, params: unknown): readonly unknown[] {
  const given: unknown = params ?? []
  if (!Array.isArray(given)) throw new RpcError(CODE.invalidParams, 'non-array args')
  if (given.length > method.params.length) {
    throw new RpcError(CODE.invalidParams, `too many arguments, want at most ${method.params.length}`)
  }
  return method.params.map(({ schema, required }, i) => {
    const value: unknown = given[i]
    const path = method.paths[i] ?? ''
    if (value === undefined && required) throw new RpcError(CODE.invalidParams, `missing value for required ${path}`)
    if (!required && (value === undefined || value === null)) return undefined
    return schema.parse(value, path)
  })
}

function withTimeLimit(result: Promise<unknown>, limitMs: number): Promise<unknown> {
  if (limitMs === Infinity) return result
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RpcError(CODE.timeout, `request timed out after ${limitMs} ms`)), limitMs)
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** What is no refusal is a bug. */
function outward(node: Dispatch, method: string, error: unknown): RpcError {
  return refusalOf(error) ?? crash(node, method, error)
}

/** The words of a bug may hold anything, so the client does not get them. */
function crash(node: Dispatch, method: string, error: unknown): RpcError {
  node.onBug(error, method)
  return new RpcError(CODE.internal, 'method handler crashed')
}

function refusal(error: unknown): RpcError {
  return error instanceof RpcError ? error : new RpcError(CODE.internal, 'method handler crashed')
}

// --- subscriptions in process ---------------------------------------------------------------------------------------

/** A session of one subscription. Results that come before `eth_subscribe` answered are for it, too. */
async function subscribe(node: Dispatch, params: readonly unknown[], listener: (result: unknown) => void) {
  const ends: (() => void)[] = []
  const session: Session = {
    notify: (_, result) => {
      listener(result)
      return true
    },
    onClose: (end) => ends.push(end),
  }
  const caller: Caller = { tier: 'dedicated', session }
  const id = await call(node, 'eth_subscribe', params, caller)
  return async () => {
    await call(node, 'eth_unsubscribe', [id], caller)
    for (const end of ends.splice(0)) end()
  }
}
