import { CODE, RpcError, invalidParams, methodNotFound } from './errors.ts'
import type { ToRpcError } from './errors.ts'
import type { Handler, Method, PageControl, Param } from './method.ts'

/** A row bound to the context of its handler. All routes have the same keys in the same order, so that they have one hidden class in V8. */
export interface Route<Caller> {
  readonly name: string
  readonly params: readonly Param<unknown>[]
  /** how messages name each param: `argument 0 (block)` */
  readonly paths: readonly string[]
  readonly isBare: boolean
  readonly control: PageControl | null
  /** null: the router's */
  readonly timeLimitMs: number | null
  readonly context: never
  readonly handler: Handler<never, Caller, readonly unknown[]>
}

/** Binds a module's rows to the context that their handlers get. */
export function routesOf<Context, Caller>(methods: Iterable<Method<Context, Caller>>, context: Context): readonly Route<Caller>[] {
  return Array.from(methods, ({ name, params, isBare = false, control = null, timeLimitMs = null, handler }) => ({
    name,
    params,
    paths: params.map((param, i) => `argument ${i} (${param.name})`),
    isBare,
    control,
    timeLimitMs,
    context: context as never, // the handler of the same row is the only reader
    handler,
  }))
}

/** A lookup by name that throws RpcError -32601 for other names. */
export function tableOf<Caller>(routes: readonly Route<Caller>[]): (name: string) => Route<Caller> {
  const byName = new Map(routes.map((route) => [route.name, route]))
  return (name) => {
    const route = byName.get(name)
    if (route === undefined) throw methodNotFound(name)
    return route
  }
}

export interface RouterOptions<Caller> {
  /** Returns the route of a method for this caller. Throws RpcError, -32601 for a method that the caller cannot use. */
  readonly find: (name: string, caller: Caller) => Route<Caller>
  readonly toRpcError: ToRpcError
  /** throws RpcError -32602: parseParams */
  readonly readParams?: (route: Route<Caller>, params: unknown) => readonly unknown[]
  /** throws RpcError for a caller that may not call the method with these arguments; absent: every caller may */
  readonly authorize?: (route: Route<Caller>, args: readonly unknown[], caller: Caller) => void
  /** time limit of a handler whose row sets none; Infinity by default */
  readonly timeLimitMs?: number
  /** Returns what runs every handler, or null: a fork repeats those that read what is not local. */
  readonly intercept?: () => Intercept<Caller> | null
}

/** Calls `run`, which executes the route's handler, and returns its result. `params`: as they were sent; `run` takes others in their place. */
export type Intercept<Caller> = (route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown) => unknown

/** The dispatcher: method name and params in, result out. It parses the params and ends handlers that wait too long. */
export class Router<Caller> {
  readonly #find: RouterOptions<Caller>['find']
  readonly #toRpcError: ToRpcError
  readonly #authorize: RouterOptions<Caller>['authorize']
  readonly #readParams: (route: Route<Caller>, params: unknown) => readonly unknown[]
  readonly #timeLimitMs: number
  readonly #intercept: RouterOptions<Caller>['intercept']

  constructor({ find, toRpcError, readParams = parseParams, authorize, timeLimitMs = Infinity, intercept }: RouterOptions<Caller>) {
    this.#find = find
    this.#toRpcError = toRpcError
    this.#readParams = readParams
    this.#authorize = authorize
    this.#timeLimitMs = timeLimitMs
    this.#intercept = intercept
  }

  /** Returns the result, or a Promise of it if the method has to wait. Throws or rejects with RpcError only. */
  call(name: string, params: unknown, caller: Caller, isAlone: boolean): unknown {
    try {
      const route = this.#find(name, caller)
      const args = this.#readParams(route, params)
      this.#authorize?.(route, args, caller)
      const intercept = this.#intercept?.() ?? null
      const result =
        intercept === null
          ? route.handler(route.context, args, caller, isAlone)
          : intercept(route, params, (other) =>
              route.handler(route.context, other === undefined ? args : this.#readParams(route, other), caller, isAlone),
            )
      return result instanceof Promise ? this.#awaited(route, result) : result
    } catch (error) {
      throw this.#toRpcError(error, name)
    }
  }

  #awaited({ name, timeLimitMs }: Route<Caller>, result: Promise<unknown>): Promise<unknown> {
    return withTimeLimit(result, timeLimitMs ?? this.#timeLimitMs).catch((error: unknown) => {
      throw this.#toRpcError(error, name)
    })
  }
}

/** Absent and null params are the empty list. Ethereum's JSON-RPC has no named params. Throws RpcError -32602. */
export function parseParams(
  { params, paths, isBare }: Pick<Route<unknown>, 'params' | 'paths' | 'isBare'>,
  value: unknown,
): readonly unknown[] {
  const given = listOf(value ?? [], isBare)
  if (given.length > params.length && given.findLastIndex((each) => each !== undefined) >= params.length) {
    throw invalidParams(`too many arguments, want at most ${params.length}`)
  }
  return params.map(({ schema, required }, i) => {
    const each: unknown = given[i]
    const path = paths[i] ?? ''
    if (each === undefined && required) throw invalidParams(`missing value for required ${path}`)
    if (!required && (each === undefined || each === null)) return undefined
    return schema.parse(each, path)
  })
}

function listOf(value: unknown, isBare: boolean): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (isBare && typeof value === 'object') return [value]
  throw invalidParams('non-array args')
}

function withTimeLimit(result: Promise<unknown>, limitMs: number): Promise<unknown> {
  if (limitMs === Infinity) return result
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new RpcError(CODE.timeout, `request timed out after ${limitMs} ms`)), limitMs)
    result.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
