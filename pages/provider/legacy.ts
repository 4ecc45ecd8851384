import { ProviderRpcError } from './error.ts'

// The methods of MetaMask's provider that predate EIP-1193, as in @metamask/providers 22.1.

interface JsonRpcRequest {
  readonly id?: unknown
  readonly jsonrpc?: unknown
  readonly method: string
  readonly params?: unknown
}

interface JsonRpcResponse {
  readonly id: unknown
  readonly jsonrpc: '2.0'
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Called with (null, response) or (error, response that holds the error); for a batch always with (null, responses). */
type Callback = (error: ProviderRpcError | null, response: JsonRpcResponse | readonly JsonRpcResponse[]) => void

/** The provider behind the methods. */
interface LegacySource {
  readonly request: (request: { readonly method: string; readonly params?: unknown }) => Promise<unknown>
  readonly accounts: () => readonly string[]
  /** decimal; null before the wallet has named its chain */
  readonly networkVersion: () => string | null
}

export interface LegacyMethods {
  enable(): Promise<unknown>
  /** One request, or a list of them; the callback may be absent. */
  sendAsync(payload: JsonRpcRequest | readonly JsonRpcRequest[], callback?: Callback): void
  /**
   * `send(method, params?)` resolves with the JSON-RPC response and rejects with its error; `send(payload, callback)` is `sendAsync`;
   * `send(payload)` returns the response synchronously, for the four methods that allow it.
   */
  send(methodOrPayload: unknown, paramsOrCallback?: unknown): unknown
}

export function legacyMethods({ request, accounts, networkVersion }: LegacySource): LegacyMethods {
  const answer = async (payload: JsonRpcRequest): Promise<Answer> => {
    const { id, method, params } = isObject(payload) ? payload : ({} as JsonRpcRequest) // refused below, as it has no method
    try {
      const result = await request({ method, params })
      return { error: null, response: { id, jsonrpc: '2.0', result } }
    } catch (thrown) {
      const error = asProviderError(thrown)
      const { code, message, data } = error
      return { error, response: { id, jsonrpc: '2.0', error: data === undefined ? { code, message } : { code, message, data } } }
    }
  }

  const reply = async (payload: JsonRpcRequest | readonly JsonRpcRequest[], callback: Callback | undefined): Promise<void> => {
    if (isList(payload)) {
      const responses = await answerBatch(payload, answer)
      callback?.(null, responses)
    } else {
      const { error, response } = await answer(payload)
      callback?.(error, response)
    }
  }

  const sendAsync: LegacyMethods['sendAsync'] = (payload, callback) => {
    if (callback !== undefined && typeof callback !== 'function') throw new TypeError('the callback of sendAsync must be a function')
    void reply(payload, callback)
  }

  const immediate: Readonly<Record<string, (payload: JsonRpcRequest) => unknown>> = {
    eth_accounts: () => accounts().slice(0, 1),
    eth_coinbase: () => accounts()[0] ?? null,
    eth_uninstallFilter: (payload) => {
      sendAsync(payload)
      return true
    },
    net_version: () => networkVersion(),
  }

  return {
    enable: async () => request({ method: 'eth_requestAccounts', params: [] }),
    sendAsync,
    send: (methodOrPayload, paramsOrCallback) => {
      if (
        typeof methodOrPayload === 'string' &&
        (paramsOrCallback === undefined || paramsOrCallback === null || isList(paramsOrCallback))
      ) {
        return responseOf(answer({ method: methodOrPayload, params: paramsOrCallback ?? [] }))
      }
      if (isObject(methodOrPayload) && typeof paramsOrCallback === 'function') {
        return sendAsync(methodOrPayload as unknown as JsonRpcRequest, paramsOrCallback as Callback)
      }
      const payload = isObject(methodOrPayload) ? (methodOrPayload as unknown as JsonRpcRequest) : { method: String(methodOrPayload) }
      const { id, jsonrpc, method } = payload
      if (!Object.hasOwn(immediate, method)) throw unsupportedSync(method)
      return { id, jsonrpc, result: immediate[method]?.(payload) }
    },
  }
}

interface Answer {
  readonly error: ProviderRpcError | null
  readonly response: JsonRpcResponse
}

/** JSON-RPC 2.0, section 6: an empty batch is one invalid request. */
async function answerBatch(
  payloads: readonly JsonRpcRequest[],
  answer: (payload: JsonRpcRequest) => Promise<Answer>,
): Promise<readonly JsonRpcResponse[]> {
  if (payloads.length === 0) {
    return [{ id: null, jsonrpc: '2.0', error: { code: -32600, message: 'the batch is empty: send at least one request' } }]
  }
  const answers = await Promise.all(payloads.map(answer))
  return answers.map(({ response }) => response)
}

async function responseOf(answer: Promise<Answer>): Promise<JsonRpcResponse> {
  const { error, response } = await answer
  if (error !== null) throw error
  return response
}

function unsupportedSync(method: unknown): ProviderRpcError {
  return new ProviderRpcError(
    4200,
    `${String(method)} cannot be answered synchronously: pass a callback as second argument, or use request()`,
  )
}

function asProviderError(error: unknown): ProviderRpcError {
  if (error instanceof ProviderRpcError) return error
  return new ProviderRpcError(-32603, error instanceof Error ? error.message : String(error))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isList<T>(value: T | readonly T[] | null): value is readonly T[] {
  return Array.isArray(value)
}
