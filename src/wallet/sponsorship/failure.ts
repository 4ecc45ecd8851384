import type { RpcError } from '../../jsonrpc/index.ts'
import { sponsorFailed } from '../errors.ts'
import { REASON_CHARS } from '../limits.ts'
import { visibleText } from '../preview/display.ts'

/** Returns an error of the bundler or the node as plain data, for `data.cause`. */
export function causeOf({ code, message, data }: RpcError) {
  return { code, message, ...(data === undefined ? {} : { data }) }
}

/** Returns 4300 for an error of a bundler or an EntryPoint that is the paymaster's fault (codes of ERC-7769, AA30 to AA36 and AA50); any other unchanged. */
export function toPaymasterError(error: RpcError): RpcError {
  if (!isPaymasterFault(error)) return error
  return sponsorFailed('paymaster-refused', `the sponsor's signed data is not valid: ${error.message}`, { cause: causeOf(error) })
}

function isPaymasterFault({ code, message, data }: RpcError): boolean {
  if (PAYMASTER_CODES.has(code) || /\bAA(3\d|50)\b/.test(message)) return true
  const named = typeof data === 'object' && data !== null && 'paymaster' in data && typeof data.paymaster === 'string'
  return named && REFUSAL_CODES.has(code)
}

/** ERC-7769: the paymaster's validation, and its deposit. */
const PAYMASTER_CODES: ReadonlySet<number> = new Set([-32_501, -32_508])
/** ERC-7769: rules, time range, reputation, stake and signature of any entity; `data` names the paymaster if it is at fault. */
const REFUSAL_CODES: ReadonlySet<number> = new Set([-32_502, -32_503, -32_504, -32_505, -32_507])

/** Returns why a sponsor does not pay, as a clause of a sentence for the user. */
export function failureText({ message, data }: RpcError): string {
  const detail = typeof data === 'object' && data !== null && 'detail' in data ? data.detail : undefined
  const text = typeof detail === 'string' && detail !== '' ? detail : message
  return visibleText(text.replace(/[.\s]+$/, ''), REASON_CHARS)
}
