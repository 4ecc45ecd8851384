import type { Hex } from '../eth/index.ts'
import { CODE, RpcError, invalidParams, toRpcErrorBy } from '../jsonrpc/index.ts'
import type { ToRpcError } from '../jsonrpc/index.ts'

/** Codes of EIP-1193, EIP-5792 and interface 7.2-7.4 beyond those of JSON-RPC. */
export const WALLET_CODE = {
  rejected: 4001,
  unauthorized: 4100,
  unsupportedMethod: 4200,
  /** paymaster service error */
  paymaster: 4300,
  disconnected: 4900,
  chainDisconnected: 4901,
  unrecognizedChain: 4902,
  unsupportedCapability: 5700,
  unsupportedChain: 5710,
  duplicateId: 5720,
  unknownBatch: 5730,
  batchTooLarge: 5740,
  upgradeRejected: 5750,
  atomicityUnsupported: 5760,
} as const

/** Messages of interface 7.2 and 7.3, verbatim. `data.reason` distinguishes the meanings of a code. */
export function rejected(message = 'User rejected the request', reason = 'rejected'): RpcError {
  return new RpcError(WALLET_CODE.rejected, message, { reason })
}

/** The error of a request that was cancelled by this signal: its reason if that is an RpcError, else that the sender disconnected. */
export function cancelled({ reason }: AbortSignal): RpcError {
  return reason instanceof RpcError ? reason : withdrawn('the app disconnected')
}

/** 4001 for a question that ends without an answer. */
export function withdrawn(why: string): RpcError {
  return rejected(`the question was withdrawn: ${why}`, 'withdrawn')
}

export function walletClosed(): RpcError {
  return new RpcError(WALLET_CODE.disconnected, 'the wallet is closed', { reason: 'wallet-closed' })
}

/** 4001 for the requests of a page whose user closed the window of the wallet that it had opened. */
export function windowClosed(): RpcError {
  return rejected('User rejected the request: the window of the wallet was closed', 'window-closed')
}

export function unauthorized(data: { readonly reason: string; readonly [key: string]: unknown }, detail?: string): RpcError {
  const message = 'The requested account and/or method has not been authorized by the user'
  return new RpcError(WALLET_CODE.unauthorized, detail === undefined ? message : `${message}: ${detail}`, data)
}

/** interface 7.2. `asked` and `answered` are chain ids as quantities. */
export function unrecognizedChain(
  detail: string,
  data: { readonly reason: string; readonly asked: Hex; readonly answered: Hex | null; readonly url?: string },
): RpcError {
  return new RpcError(WALLET_CODE.unrecognizedChain, `Unrecognized chain ID: ${detail}`, data)
}

/** interface 7.3: the message of the contract, then the detail. */
export function unparsableRequest(detail: string, reason = 'invalid-request', data: Readonly<Record<string, unknown>> = {}): RpcError {
  return invalidParams(`The wallet cannot parse the request: ${detail}`, { reason, ...data })
}

/** Converts a schema's -32602 without data to an unparsableRequest. */
export function convertSchemaErrors<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const isBare = error instanceof RpcError && error.code === CODE.invalidParams && error.data === undefined
    throw isBare ? unparsableRequest(error.message) : error
  }
}

/** A bug is reported to `onError`; its message may contain anything, so the client does not get it. */
export function walletErrors(onError: (error: unknown) => void): ToRpcError {
  const message = 'internal error of the wallet; see its log'
  return toRpcErrorBy({ onBug: onError, bug: { message, data: { reason: 'internal' } } })
}

/** interface 7.3 */
export function unsupportedCapability(
  capability: string,
  message = 'The wallet does not support a capability that was not marked as optional',
): RpcError {
  return new RpcError(WALLET_CODE.unsupportedCapability, message, { reason: 'unsupported-capability', capability })
}

/** interface 7.4: sponsorship is switched off; the app may send the same batch without a sponsor. */
export function sponsorshipOff(reason: 'sponsorship-off' | 'sponsorship-off-for-site', detail: string): RpcError {
  return new RpcError(WALLET_CODE.unauthorized, 'Paymaster service not supported', { reason, capability: 'paymasterService', detail })
}

/** interface 7.4: the url is malformed, forbidden or unreachable. `detail` never contains its path or query, which may contain API keys. */
export function invalidSponsorUrl(reason: string, detail: string): RpcError {
  return new RpcError(WALLET_CODE.unsupportedMethod, 'Invalid paymaster URL', { reason, detail })
}

/** interface 7.4: the service refuses, fails, or sends an invalid reply. `cause` is its error. */
export function sponsorFailed(reason: string, detail: string, more: Readonly<Record<string, unknown>> = {}): RpcError {
  return new RpcError(WALLET_CODE.paymaster, 'Paymaster service error', { reason, detail, ...more })
}

/** interface 7.4. `why`: machine-readable reason. */
export function sponsorRequired(why: string): RpcError {
  const data = { reason: 'unsupported-capability', capability: 'paymasterService', why }
  return new RpcError(WALLET_CODE.unsupportedCapability, 'Paymaster capability required', data)
}

/** The sentence of an error for a person. */
export function failureText(error: unknown): string {
  return error instanceof RpcError ? error.message : 'an internal error; nothing was sent'
}
