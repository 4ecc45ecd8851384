import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Intercept } from '../jsonrpc/index.ts'
import type { Chain } from '../chain/index.ts'
import { Fields, Rlp } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import { PUBLIC_METHODS } from '../rpc/index.ts'
import type { Caller, NodeRpc } from '../rpc/index.ts'
import { UNCERTAIN } from './bus.ts'
import type { Bus, Service } from './bus.ts'
import { FleetError } from './errors.ts'
import { FAILOVER_MS, FORWARD_MS, HEARTBEAT_MS, LEASE_CHECK_MS, READ_YOUR_WRITES_MS } from './limits.ts'
import type { FrameFollower } from './framefollower.ts'

/** Methods that read the chain beyond those of the public tier. A replica answers them itself, and passes all others to the sequencer. */
const READS = /^(debug_(?!clearTxpool|bundler_)|trace_|ots_|erigon_|eth_getBlockReceipts$|eth_syncing$|eth_mining$|eth_hashrate$)/
const SENDS: ReadonlySet<string> = new Set([
  'eth_sendRawTransaction',
  'eth_sendRawTransactionSync',
  'eth_sendTransaction',
  'eth_sendUnsignedTransaction',
  'eth_sendTransactionSync',
  'eth_sendRawTransactionConditional',
  'eth_resend',
])
/** The pool is the sequencer's: a transaction that a replica does not find may be there. */
const POOL_READS: ReadonlySet<string> = new Set([
  'eth_getTransactionByHash',
  'eth_getRawTransactionByHash',
  'debug_getRawTransaction',
  'base_transactionStatus',
])

interface ForwardDeps {
  readonly bus: Pick<Bus, 'request'>
  readonly follower: Pick<FrameFollower, 'applied' | 'newestEpoch' | 'onEpoch' | 'silenceMs'>
  readonly chain: Chain
}

/** Returns true for a method that a replica answers itself. */
export function isLocal(method: string): boolean {
  return !SENDS.has(method) && (PUBLIC_METHODS.has(method) || READS.test(method))
}

/**
 * Passes requests that a replica cannot serve to the sequencer. The result comes when the replica has applied what the sequencer announced until then, and for
 * a transaction the flashblock that includes it, within READ_YOUR_WRITES_MS: a client reads what it wrote.
 */
export function forwarding(deps: ForwardDeps): Intercept<Caller> {
  return ({ name }, params, run) => {
    if (!isLocal(name) || countsPool(name, params)) return forward(deps, name, params)
    const result = run()
    if (!POOL_READS.has(name)) return result
    return isUnknown(result) ? forward(deps, name, params) : result
  }
}

/** A sender's next nonce is after those of its transactions in the pool. */
function countsPool(method: string, params: unknown): boolean {
  return method === 'eth_getTransactionCount' && Array.isArray(params) && params[1] === 'pending'
}

/** The sequencer's answer; after its loss that of the next one. Rejects as Bus.request. */
export function requestSequencer({ bus, follower }: Omit<ForwardDeps, 'chain'>, service: Service, body: Uint8Array): Promise<Uint8Array> {
  return whenServed(() => inOneEpoch(follower, (signal) => bus.request(service, body, FORWARD_MS, signal)))
}

/** Repeats a request that no process received, until a standby has taken over. */
async function whenServed<T>(request: () => Promise<T>): Promise<T> {
  for (const endMs = performance.now() + FAILOVER_MS; ;) {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof FleetError) || error.reason !== 'no-sequencer' || performance.now() > endMs) throw error
      await new Promise((resolve) => setTimeout(resolve, LEASE_CHECK_MS))
    }
  }
}

/** A sequencer that was replaced or has vanished does not respond: NATS continues to deliver to its connection for minutes. */
async function inOneEpoch<T>(follower: ForwardDeps['follower'], request: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | null = null
  const unsubscribe = follower.onEpoch(() => {
    timer = setTimeout(
      () => controller.abort(new FleetError('unavailable', `the sequencer was replaced during the request; ${UNCERTAIN}`)),
      ANSWER_MS,
    )
  })
  const begunMs = performance.now()
  const check = setInterval(() => {
    if (Math.min(follower.silenceMs, performance.now() - begunMs) < FAILOVER_MS) return
    controller.abort(new FleetError('unavailable', `nothing has come from the sequencer for ${FAILOVER_MS} ms; ${UNCERTAIN}`))
  }, LEASE_CHECK_MS)
  try {
    return await request(controller.signal)
  } finally {
    unsubscribe()
    clearInterval(check)
    if (timer !== null) clearTimeout(timer)
  }
}

/** Milliseconds to wait for an answer that was sent before the sequencer changed. */
const ANSWER_MS = 500

function isUnknown(result: unknown): boolean {
  return result === null || (typeof result === 'object' && (result as { status?: unknown }).status === 'Unknown')
}

async function forward(deps: ForwardDeps, method: string, params: unknown): Promise<unknown> {
  const request = Buffer.from(JSON.stringify({ method, params: params ?? [] }))
  const { epoch, frame, response } = await answerOf(deps, request)
  await within(deps.follower.applied(epoch, frame), READ_YOUR_WRITES_MS)
  const { error, result } = response
  if (error !== undefined) throw new RpcError(error.code, error.message, error.data)
  if (!SENDS.has(method) || typeof result !== 'string') return result
  const hash = result as Hash // of a transaction
  if ((await isKept(deps, hash, epoch)) || (await isKnown(deps, hash))) return hash
  // The transaction was lost with the pool of the sequencer. Sent twice it has the same hash.
  if (method.startsWith('eth_sendRaw')) return forward(deps, method, params)
  throw new RpcError(CODE.server, `the sequencer was replaced, and the next one does not have transaction ${hash}; ${UNCERTAIN}`)
}

/**
 * Waits for the block or flashblock with the transaction, and if it is held or has to wait for others, for a sign that its sequencer could have promised
 * it. Returns false if that sequencer was replaced, or nothing comes from it.
 */
async function isKept({ chain, follower }: ForwardDeps, hash: Hash, epoch: number): Promise<boolean> {
  const { head, cadence } = chain
  if (cadence.kind !== 'preconf' && cadence.kind !== 'native') return true
  const isLocated = (): boolean => head.view.locate(hash) !== null
  const begunMs = performance.now()
  if (!isLocated()) await untilHead(head, cadence, isLocated)
  for (const endMs = begunMs + FAILOVER_MS; !isLocated(); await new Promise((resolve) => setTimeout(resolve, SIGN_CHECK_MS))) {
    if (follower.newestEpoch !== epoch || performance.now() > endMs) return false
    if (performance.now() - follower.silenceMs > begunMs + Math.min(slotMsOf(cadence), HEARTBEAT_MS)) return true
  }
  return true
}

/** Returns true if the current sequencer has the transaction, and then waits until this replica has what was announced of it. */
async function isKnown(deps: ForwardDeps, hash: Hash): Promise<boolean> {
  const request = Buffer.from(JSON.stringify({ method: 'eth_getTransactionByHash', params: [hash] }))
  const { epoch, frame, response } = await answerOf(deps, request)
  await within(deps.follower.applied(epoch, frame), READ_YOUR_WRITES_MS)
  return response.error === undefined && response.result !== null
}

/** Repeats the request while it is refused by a process that has just handed over its lease. */
async function answerOf(deps: ForwardDeps, request: Uint8Array): Promise<Reply> {
  for (const endMs = performance.now() + FAILOVER_MS; ; await new Promise((resolve) => setTimeout(resolve, LEASE_CHECK_MS))) {
    try {
      const reply = Reply.decode(await requestSequencer(deps, 'rpc', request))
      if (!isNotSequencer(reply.response.error?.data) || performance.now() > endMs) return reply
    } catch (error) {
      throw error instanceof FleetError ? new RpcError(CODE.server, error.message) : error
    }
  }
}

/** A change that a process refuses because it only follows. Nothing has changed. */
export function notSequencer(): RpcError {
  return new RpcError(CODE.server, 'this process is not the sequencer; repeat the request', { reason: NOT_SEQUENCER })
}

const NOT_SEQUENCER = 'not-sequencer'

function isNotSequencer(data: unknown): boolean {
  return typeof data === 'object' && data !== null && (data as { reason?: unknown }).reason === NOT_SEQUENCER
}

type Scheduled = Extract<Chain['cadence'], { readonly kind: 'preconf' | 'native' }>

function slotMsOf(cadence: Scheduled): number {
  return cadence.kind === 'preconf' ? cadence.flashblockMs : cadence.blockTimeMs
}

/** Waits for an announcement after which the condition holds, for SLOTS at most. */
function untilHead(head: Chain['head'], cadence: Scheduled, condition: () => boolean): Promise<void> {
  let end: () => void = () => undefined
  const seen = new Promise<void>((resolve) => {
    end = head.subscribe(() => {
      if (condition()) resolve()
    })
  })
  return within(seen, Math.min(READ_YOUR_WRITES_MS, SLOTS * slotMsOf(cadence))).finally(end)
}

/** Waits until no transaction waits in the pool, for as long as a forwarded transaction is waited for. */
export function poolPromised({ head, cadence, pool }: Chain): Promise<void> {
  if ((cadence.kind !== 'preconf' && cadence.kind !== 'native') || pool.size === 0) return Promise.resolve()
  return untilHead(head, cadence, () => pool.size === 0)
}

/** A transaction is promised in the slot after its arrival, unless it is held or has to wait. */
const SLOTS = 3
/** Milliseconds between two looks for a sign of the sequencer. */
const SIGN_CHECK_MS = 50

function within(work: Promise<void>, timeMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeMs)
    void work.then(resolve).finally(() => clearTimeout(timer))
  })
}

interface Response {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** The sequencer's answer, with the newest frame that it had sent before. */
interface Reply {
  readonly epoch: number
  readonly frame: number
  readonly response: Response
}

const Reply = {
  encode: ({ epoch, frame, response }: Reply): Uint8Array => Rlp.encode([epoch, frame, Buffer.from(JSON.stringify(response))]),
  decode: (bytes: Uint8Array): Reply => {
    const fields = new Fields(Rlp.decode(bytes, 'reply'), 'reply', 3)
    return {
      epoch: fields.number('epoch'),
      frame: fields.number('frame'),
      response: JSON.parse(Buffer.from(fields.bytes('response')).toString()) as Response, // of the same program
    }
  },
}

interface Sequencing {
  readonly epoch: number
  readonly frame: number
  /** True once another process is to be the sequencer. */
  readonly isHandedOver: boolean
}

/** Answers the requests that replicas forward. */
export function answering(rpc: NodeRpc, sequencing: () => Sequencing) {
  return async (body: Uint8Array): Promise<Uint8Array> => {
    const { method, params } = JSON.parse(Buffer.from(body).toString()) as { method: string; params: readonly unknown[] } // written by `forward`
    let response: Response
    try {
      if (sequencing().isHandedOver && !isLocal(method)) throw notSequencer()
      response = { result: (await rpc.request({ method, params })) ?? null }
    } catch (error) {
      const { code, message, data } = error instanceof RpcError ? error : new RpcError(CODE.internal, 'method handler crashed')
      response = { error: { code, message, ...(data === undefined ? undefined : { data }) } }
    }
    const { epoch, frame } = sequencing()
    return Reply.encode({ epoch, frame, response })
  }
}
