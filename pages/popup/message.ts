/**
 * The messages between an app that uses the Base Account SDK and the wallet page that it opens (`preference.walletUrl`), as the SDK 2.5 sends
 * and reads them. They are structured clones, not JSON.
 */
export type Incoming =
  /** the response to PopupLoaded: metadata of the app */
  | { readonly kind: 'config' }
  /** begins a session, before there is a shared key */
  | (Envelope & { readonly kind: 'handshake'; readonly action: Action })
  | (Envelope & { readonly kind: 'encrypted'; readonly encrypted: Encrypted })

/** The fields of every request. */
export interface Envelope {
  readonly id: string
  readonly correlationId: unknown
  /** the app's public key, P-256, SPKI as hex without 0x */
  readonly sender: string
}

export interface Action {
  readonly method: string
  readonly params?: unknown
}

/** AES-256-GCM */
export interface Encrypted {
  readonly iv: Uint8Array<ArrayBuffer>
  readonly cipherText: ArrayBuffer
}

/** The plaintext of a request. */
interface PlainRequest {
  readonly action: Action
  /** the chain that the app considers selected */
  readonly chainId: number | null
}

/** The plaintext of an answer. */
export interface PlainResponse {
  readonly result: { readonly value: unknown } | { readonly error: Failure }
  readonly data?: WalletData
}

/** For the SDK: the rpc url of each chain, and the wallet's capabilities. */
export interface WalletData {
  readonly chains: Readonly<Record<number, string>>
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly nativeCurrencies: Readonly<Record<number, { readonly name: string; readonly symbol: string; readonly decimal: number }>>
}

export interface Failure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** null if it is not a message of this protocol. */
export function readMessage(data: unknown): Incoming | null {
  if (!isRecord(data)) return null
  const { id, requestId, correlationId, sender, content } = data
  if (typeof requestId === 'string') return { kind: 'config' }
  if (typeof id !== 'string' || typeof sender !== 'string' || !isRecord(content)) return null
  const envelope = { id, correlationId, sender }
  const action = readAction(content['handshake'])
  if (action !== null) return { kind: 'handshake', ...envelope, action }
  const encrypted = readEncrypted(content['encrypted'])
  return encrypted === null ? null : { kind: 'encrypted', ...envelope, encrypted }
}

/** Throws an Error for anything else. */
export function readRequest(text: string): PlainRequest {
  const request: unknown = JSON.parse(text)
  const action = isRecord(request) ? readAction(request['action']) : null
  if (!isRecord(request) || action === null) throw new Error('a request is { action: { method, params }, chainId }')
  const { chainId } = request
  return { action, chainId: typeof chainId === 'number' && Number.isSafeInteger(chainId) ? chainId : null }
}

function readAction(value: unknown): Action | null {
  if (!isRecord(value) || typeof value['method'] !== 'string') return null
  const { method, params } = value
  return params === undefined ? { method } : { method, params }
}

function readEncrypted(value: unknown): Encrypted | null {
  if (!isRecord(value)) return null
  const { iv, cipherText } = value
  return iv instanceof Uint8Array && cipherText instanceof ArrayBuffer ? { iv: new Uint8Array(iv), cipherText } : null
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
