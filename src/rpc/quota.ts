import { RpcError } from '../jsonrpc/index.ts'
import type { MethodClass } from './public.ts'

/** The methods and rate that an API key may use on the public tier. */
export interface Quota {
  /** Counts one request. `methodClass`: null for a method that is not public. Throws QuotaError. */
  readonly admit: (method: string, methodClass: MethodClass | null) => void
}

/** A request beyond its quota. */
export class QuotaError extends RpcError {
  /** HTTP status of a request that is not in a batch */
  readonly status: 401 | 403 | 429
  /** seconds until a request is admitted again; null: it never is */
  readonly retryAfterSeconds: number | null

  constructor(
    code: number,
    message: string,
    { status, retryAfterMs }: { readonly status: 401 | 403 | 429; readonly retryAfterMs?: number },
  ) {
    super(code, message, retryAfterMs === undefined ? undefined : { retryAfterMs })
    this.status = status
    this.retryAfterSeconds = retryAfterMs === undefined ? null : Math.ceil(retryAfterMs / 1_000)
  }
}
