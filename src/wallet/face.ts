import { Endpoint, JSON_WRITER } from '../jsonrpc/index.ts'
import type { CallsStatus } from './batches/batches.ts'
import type { WalletContext } from './context.ts'
import type { Control } from './control.ts'
import { unauthorized, walletErrors } from './errors.ts'
import { REQUEST_BATCH_ITEMS, STATUS_WAIT_MS } from './limits.ts'
import type { Provider } from './provider.ts'
import type { AnswerRequest } from './request.ts'
import { LOCAL_ORIGIN } from './sites.ts'

/** Who asks, as the server found out. */
export interface FaceCaller {
  /** what the browser says it is; null: no browser, or one that does not say */
  readonly origin: string | null
  /** holds the control credential */
  readonly isControl: boolean
  /** message of the 4100 for a caller without the control credential; null: the general one */
  readonly refusal?: string | null
  /** aborted when the one who asked has gone */
  readonly signal: AbortSignal | null
  /** of that origin, over a connection that can be told things: what it asks is asked through it, subscriptions too */
  readonly provider?: Provider | null
}

/** The wallet as a server talks to it: texts in, texts out. */
export interface WalletFace {
  /** Answers one JSON-RPC body (call, batch, notification). Never rejects. null: nothing to answer. */
  readonly handle: (body: string | Uint8Array, caller: FaceCaller) => Promise<string | null>
  /** A connection that can be told things. */
  readonly provider: (origin: string) => Provider
  readonly control: Control
  /**
   * wallet_getCallsStatus as a node is asked for it: a batch of that origin, or any under an id that the wallet made, for whoever knows it.
   * Throws RpcError 5730.
   */
  readonly callsStatus: (id: string, origin: string | null) => Promise<CallsStatus>
}

export function createFace(wallet: WalletContext, answer: AnswerRequest, parts: Pick<WalletFace, 'provider' | 'control'>): WalletFace {
  const endpoint = new Endpoint<FaceCaller>({
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

/** A page learns nothing of control methods, not even which there are. */
function answerCaller(
  answer: AnswerRequest,
  control: Control,
  request: { readonly method: string; readonly params: unknown },
  { origin, isControl, refusal = null, signal, provider = null }: FaceCaller,
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
