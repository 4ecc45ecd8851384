import type { ConsoleCalls } from '../evm/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'

/** Observes the requests that arrive at an endpoint, for a log; requests in process are not observed. Its functions must not throw. */
export interface RequestObserver {
  /** before the request is validated; `method` is the text of the client, `requestId` of its header x-request-id or null */
  readonly onRequest?: (method: string, requestId: string | null) => void
  /** an eth_call or eth_estimateGas called the console address; once per request */
  readonly onConsole?: (method: string, calls: ConsoleCalls) => void
  /** the request was answered with an error; `params` as the client sent them */
  readonly onFailure?: (method: string, params: unknown, error: RpcError, requestId: string | null) => void
}
