import { ABSENT_METHODS } from './absent.ts'
import type { Body } from './body.ts'
import { bodyWriter, jsonOf } from './bodywriter.ts'
import type { Caller, Context, Session } from './context.ts'
import { interceptOnFork } from './fork.ts'
import { Filters } from './logs/filters.ts'
import { feedsOf } from './logs/subscriptions.ts'
import {
  BATCH_ITEMS,
  CODE,
  Endpoint,
  Router,
  RpcError,
  failureText,
  invalidParams,
  methodNotFound,
  openEnvelope,
  parseBody,
  refusedBatch,
  routesOf,
  toRpcErrorBy,
} from '../jsonrpc/index.ts'
import type { Envelope, Intercept, Route, Rpc, RpcRequest } from '../jsonrpc/index.ts'
import { withJsonNumbers } from './jsonnumbers.ts'
import { METHOD_TIME_MS, PUBLIC_BATCH_MS } from './limits.ts'
import type { RequestObserver } from './observer.ts'
import { PUBLIC_METHODS, PUBLIC_REFUSALS } from './public.ts'
import { QuotaError } from './quota.ts'
import { SenderRecovery } from './recovery/senders.ts'
import type { StartRecoveryThread } from './recovery/senders.ts'
import { refusalOf } from './refusals.ts'
import { RequestCounters } from './requestcounters.ts'
import { TransactionSearch } from './search/search.ts'
import { HEX_METHODS, METHODS } from './table.ts'
import { BlockTexts } from './texts.ts'

export interface RpcOptions extends Omit<
  Context,
  'filters' | 'texts' | 'search' | 'fork' | 'workers' | 'offloadPolicy' | 'senders' | 'methodNames'
> {
  /** none unless given */
  readonly workers?: Context['workers']
  /** shares the recovery of senders; null unless given: none does */
  readonly recoveryThread?: StartRecoveryThread | null
  /** policy of `workers`; without it nothing is offloaded */
  readonly offloadPolicy?: Context['offloadPolicy']
  /** methods of other modules that the same endpoint serves; none by default */
  readonly routes?: readonly Route<Caller>[]
  /** the chain cannot be a fork unless given */
  readonly fork?: Context['fork']
  /** runs every handler: a replica of a fleet passes requests on. Nothing unless given */
  readonly intercept?: () => Intercept<Caller> | null
  /** receives every error that is a bug; the client reads only "method handler crashed" */
  readonly onBug: (error: unknown, method: string) => void
  /** milliseconds of a monotonic clock, by which filters become idle and batches yield; the machine's unless given */
  readonly now?: () => number
  /** time limit of a method whose row sets none; METHOD_TIME_MS by default */
  readonly methodTimeMs?: number
}

/**
 * The response to one body; null if there is none. A stream must be ended when its reader disconnects. A stream that throws (an RpcError) has sent an
 * incomplete response. `status`: HTTP status other than 200.
 */
export interface Handled {
  readonly body: Body | null
  readonly status?: number
  /** further HTTP headers: names and values in turn */
  readonly headers?: readonly string[]
}

/** A node's methods, with and without the JSON-RPC envelope; no socket involved. */
export interface NodeRpc extends Rpc {
  /** Executes one HTTP body or WebSocket message, synchronously unless a method has to wait. Never throws or rejects. */
  readonly handle: (body: string | Uint8Array, caller: Caller) => Handled | Promise<Handled>
  /** counts what `handle` answered */
  readonly counters: RequestCounters
  /** In process: without envelope and without serialising. The result belongs to the caller. Throws RpcError. */
  readonly request: (request: RpcRequest, caller?: Caller) => Promise<unknown>
  /** Ends the subscriptions to the chain, and the thread that recovers senders. */
  readonly close: () => Promise<void>
}

export function createRpc(options: RpcOptions): NodeRpc {
  const { onBug, methodTimeMs = METHOD_TIME_MS, fork = null, intercept = () => null } = options
  const clock = performance // Node's getter creates the object at each access
  const now = options.now ?? (() => clock.now())
  const workers = options.workers ?? null
  // From now on it keeps the events from which subscriptions continue, also those of clients that were connected to another process.
  feedsOf(options.chain)
  const senders = new SenderRecovery(options.recoveryThread ?? null, (error) => onBug(error, 'eth_sendRawTransaction'))
  const context: Context = {
    ...options,
    fork,
    workers,
    offloadPolicy: options.offloadPolicy ?? null,
    filters: new Filters(options.chain, now),
    texts: new BlockTexts(),
    search: new TransactionSearch({ chain: options.chain, workers }),
    senders,
    methodNames: (tier) => namesOf(routes, tier),
  }
  const routes: ReadonlyMap<string, Route<Caller>> = new Map(
    [
      ...routesOf(METHODS.values(), context).map((route) => (context.compat.jsonNumbers ? withJsonNumbers(route) : route)),
      ...(options.routes ?? []),
    ].map((route) => [route.name, route]),
  )
  const toRpcError = toRpcErrorBy({ refusalOf: (error) => refusalOf(error, context.compat), onBug })
  const find = (name: string, { tier }: Caller): Route<Caller> => {
    const route = routes.get(name)
    if (tier === 'public') assertPublic(name)
    if (route === undefined) throw methodNotFound(name, ABSENT_METHODS.get(name))
    return route
  }
  const onFork = fork === null ? null : interceptOnFork(options.chain, context.compat, fork, context.filters)
  const router = new Router<Caller>({
    find,
    toRpcError,
    authorize: assertControl,
    timeLimitMs: methodTimeMs,
    intercept: () => intercept() ?? (fork?.isFork === true ? onFork : null),
  })
  const counters = new RequestCounters((name) => routes.has(name))
  const call: EndpointCall = (name, params, caller, isAlone) => {
    counters.addCall(caller.tier, name)
    // A request outside of a batch was counted before, because its refusal has a status of its own.
    if (!isAlone) admit(name, caller)
    return router.call(name, params, caller, isAlone)
  }
  const endpoint = new Endpoint<Caller, Body>({
    call: options.observer === undefined ? call : observed(call, options.observer),
    onFailure: (code, { tier }) => counters.addError(tier, code),
    toRpcError,
    writer: bodyWriter(toRpcError, HEX_METHODS),
    batchMs: ({ tier }) => (tier === 'public' ? PUBLIC_BATCH_MS : Infinity),
    now,
  })
  const request = async (given: RpcRequest, caller = IN_PROCESS): Promise<unknown> => {
    const { method, params } = checkedRequest(given)
    const result = await router.call(method, params, caller, false)
    try {
      return jsonOf(result)
    } catch (error) {
      throw toRpcError(error, method)
    }
  }
  return {
    handle: (body, caller) => {
      const startMs = now()
      const handled = caller.tier === 'public' ? handlePublic(endpoint, counters, body, caller) : handle(endpoint.handle(body, caller))
      if (handled instanceof Promise) void handled.then(() => counters.addDuration(caller.tier, now() - startMs))
      else counters.addDuration(caller.tier, now() - startMs)
      return handled
    },
    counters,
    request,
    subscribe: (params, listener) => subscribe(router, params, listener),
    close: async () => {
      context.filters.close()
      context.search.close()
      await senders.close()
    },
  }
}

/** Throws RpcError for a value without a method, such as the name alone, in a caller without a type check. */
function checkedRequest(request: Partial<RpcRequest> | null | undefined): RpcRequest {
  const { method, params } = request ?? {}
  if (typeof method !== 'string') throw invalidParams("a request is one object: { method: 'eth_chainId', params: [] }")
  return params === undefined ? { method } : { method, params }
}

const IN_PROCESS: Caller = { tier: 'dedicated', session: null, isInProcess: true }

type EndpointCall = (method: string, params: unknown, caller: Caller, isAlone: boolean) => unknown

function observed(call: EndpointCall, { onRequest, onFailure }: RequestObserver): EndpointCall {
  return (method, params, caller, isAlone) => {
    const { requestId = null } = caller
    onRequest?.(method, requestId)
    const onError = (error: unknown): never => {
      onFailure?.(method, params, error as RpcError, requestId) // the router throws no other
      throw error
    }
    try {
      const result = call(method, params, caller, isAlone)
      return result instanceof Promise ? result.catch(onError) : result
    } catch (error) {
      return onError(error)
    }
  }
}

type Response = ReturnType<Endpoint<Caller, Body>['handle']>

function handle(body: Response): Handled | Promise<Handled> {
  return body instanceof Promise ? body.then((awaited) => ({ body: awaited })) : { body }
}

/** A refusal outside of a batch has its own HTTP status (interface 4.3). */
function handlePublic(
  endpoint: Endpoint<Caller, Body>,
  counters: RequestCounters,
  body: string | Uint8Array,
  caller: Caller,
): Handled | Promise<Handled> {
  const message = parseBody(body)
  const envelope = openEnvelope(message)
  const refused = quotaErrorOf(message, envelope, caller)
  if (refused !== null) {
    if (envelope.kind !== 'invalid') counters.addCall(caller.tier, envelope.method)
    counters.addError(caller.tier, refused.code)
    return beyondQuota(envelope, refused)
  }
  const response = endpoint.handleMessage(message, caller)
  if (envelope.kind === 'invalid' || !PUBLIC_REFUSALS.has(envelope.method)) return handle(response)
  return response instanceof Promise ? response.then((awaited) => ({ body: awaited, status: 403 })) : { body: response, status: 403 }
}

/** A call in a batch is admitted when its turn comes. */
function quotaErrorOf(message: unknown, envelope: Envelope, caller: Caller): QuotaError | null {
  try {
    if (envelope.kind !== 'invalid') admit(envelope.method, caller)
    else for (let left = invalidRequests(message); left > 0; left--) admit('', caller)
    return null
  } catch (error) {
    if (error instanceof QuotaError) return error
    throw error
  }
}

/** The number of requests that a body counts as because they are refused without a call: itself, or items of a batch. */
function invalidRequests(message: unknown): number {
  if (!Array.isArray(message) || refusedBatch(message, BATCH_ITEMS) !== null) return 1
  return message.filter((item) => openEnvelope(item).kind === 'invalid').length
}

function beyondQuota(envelope: Envelope, error: QuotaError): Handled {
  const { status, retryAfterSeconds } = error
  const headers = retryAfterSeconds === null ? [] : ['retry-after', String(retryAfterSeconds)]
  return { body: envelope.kind === 'notification' ? null : failureText(envelope.id, error), status, headers }
}

/** Throws QuotaError. */
function admit(name: string, { quota }: Caller): void {
  quota?.admit(name, PUBLIC_METHODS.get(name) ?? null)
}

function assertPublic(name: string): void {
  if (PUBLIC_METHODS.has(name)) return
  throw PUBLIC_REFUSALS.get(name) ?? methodNotFound(name)
}

const NEEDS_CONTROL =
  'requires the control credential, and this request has an Origin without it; open a link to /sponsor or /wallet in this browser (the ' +
  'terminal prints them at start, and a browser that has the wallet open, or pocketchain_walletLink with the control token, creates another), or send Authorization: Bearer <control token>'

/** Browsers send an Origin with every POST and WebSocket, programs send none: a request with an Origin needs the control credential. */
function assertControl({ name, control }: Route<Caller>, args: readonly unknown[], { origin = null, isControl }: Caller): void {
  if (control === null || origin === null || isControl?.() === true) return
  if (control === 'with-arguments' && args.every((value) => value === undefined)) return
  throw new RpcError(CODE.unauthorized, `${name} ${NEEDS_CONTROL}`, { reason: 'control-only' })
}

function namesOf(routes: ReadonlyMap<string, unknown>, tier: Caller['tier']): readonly string[] {
  const names = [...routes.keys()]
  return tier === 'dedicated' ? names : names.filter((name) => PUBLIC_METHODS.has(name) || PUBLIC_REFUSALS.has(name))
}

// --- subscriptions in process ---------------------------------------------------------------------------------------

/** A session of one subscription, which also receives results that arrive before `eth_subscribe` returns. Each listener receives a copy. */
async function subscribe(router: Router<Caller>, params: readonly unknown[], listener: (result: unknown) => void) {
  const ends: (() => void)[] = []
  const session: Session = {
    notify: (_, result) => {
      listener(jsonOf(result))
      return true
    },
    onClose: (end) => ends.push(end),
  }
  const caller: Caller = { tier: 'dedicated', session, isInProcess: true }
  const id = await router.call('eth_subscribe', params, caller, false)
  return async () => {
    await router.call('eth_unsubscribe', [id], caller, false)
    for (const end of ends.splice(0)) end()
  }
}
