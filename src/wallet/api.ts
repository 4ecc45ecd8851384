import { Endpoint, JSON_WRITER } from '../jsonrpc/index.ts'
import type { CallsStatus } from './batches/batches.ts'
import type { WalletContext } from './context.ts'
import type { Control } from './control.ts'
import { unauthorized, walletErrors } from './errors.ts'
import { REQUEST_BATCH_ITEMS, STATUS_WAIT_MS } from './limits.ts'
import type { Provider } from './provider.ts'
import type { AnswerRequest } from './request.ts'
import { LOCAL_ORIGIN } from './sites.ts'

/** The sender of a request, as the server authenticated it. */
export interface ApiCaller {
  /** the Origin header; null if the request has none */
  readonly origin: string | null
  /** holds the control credential */
  readonly isControl: boolean
  /** message of the 4100 for a caller without the control credential; null: the general one */
  readonly refusal?: string | null
  /** aborted when the sender disconnects */
  readonly signal: AbortSignal | null
  /** provider of that origin, over a connection that receives events: requests and subscriptions then go through it */
  readonly provider?: Provider | null
}

/** The wallet as a server uses it: JSON-RPC texts in and out. */
export interface WalletApi {
  /** Answers one JSON-RPC body (call, batch, notification); null if it has only notifications. Never rejects. */
  readonly handle: (body: string | Uint8Array, caller: ApiCaller) => Promise<string | null>
  /** Opens a connection of this origin that receives events. */
  readonly provider: (origin: string) => Provider
  readonly control: Control
  /**
   * The node's wallet_getCallsStatus: a batch of that origin, or of any origin if the wallet generated the id, which is then a secret.
   * Throws RpcError 5730.
   */
  readonly callsStatus: (id: string, origin: string | null) => Promise<CallsStatus>
}

export function createApi(wallet: WalletContext, answer: AnswerRequest, parts: Pick<WalletApi, 'provider' | 'control'>): WalletApi {
  const endpoint = new Endpoint<ApiCaller>({
    call: (method, params, caller) => answerCaller(answer, parts.control, { method, params }, caller),
    toRpcError: walletErrors(wallet.onError),
    writer: JSON_WRITER,
    maxItems: REQUEST_BATCH_ITEMS,
  })
  return {
    ...parts,
    handle: async (body, caller) => endpoint.handle(body, caller),
    callsStatus: async (id, origin) => {
      const isOwn = origin !== null && isKnown(wallet, id, origin)
      return wallet.batches.status(id, { origin: isOwn ? origin : null, waitMs: STATUS_WAIT_MS })
    },
  }
}

function isKnown({ batches }: WalletContext, id: string, origin: string): boolean {
  try {
    batches.assertKnown(id, origin)
    return true
  } catch {
    return false
  }
}

/** Without the control credential every `pocketchain_` name has the same refusal, so a page cannot find out which exist. */
function answerCaller(
  answer: AnswerRequest,
  control: Control,
  request: { readonly method: string; readonly params: unknown },
  { origin, isControl, refusal = null, signal, provider = null }: ApiCaller,
): Promise<unknown> {
  if (request.method.startsWith('pocketchain_')) {
    if (isControl) return control.request(request, { signal })
    const detail = refusal ?? `${request.method.slice(0, 100)} is not for apps; it takes the control token`
    throw unauthorized({ reason: 'control-only' }, detail)
  }
  const site = origin ?? (isControl ? LOCAL_ORIGIN : null)
  if (site === null) throw unauthorized({ reason: 'no-origin' }, NO_ORIGIN)
  return provider === null ? answer(request, { origin: site, signal }) : provider.request(request, { signal })
}

const NO_ORIGIN =
  'the request names no Origin, as pages do; programs send the control token (Authorization: Bearer …), which the start line of --json names as wallet.controlToken'
