import type { RpcError } from '../../jsonrpc/index.ts'
import { sponsorFailed } from '../errors.ts'
import { REASON_CHARS } from '../limits.ts'
import { visibleText } from '../preview/display.ts'

/** What came from elsewhere, for `data.cause`. */
export function causeOf({ code, message, data }: RpcError) {
  return { code, message, ...(data === undefined ? {} : { data }) }
}

/** What a bundler or an EntryPoint refuses, as 4300 when it is the paymaster's fault (ERC-7769's codes, AA30 to AA36 and AA50); as it is when not. */
export function blamed(error: RpcError): RpcError {
  if (!isPaymasterFault(error)) return error
  return sponsorFailed('paymaster-refused', `what the sponsor signed does not hold: ${error.message}`, { cause: causeOf(error) })
}

function isPaymasterFault({ code, message, data }: RpcError): boolean {
  if (PAYMASTER_CODES.has(code) || /\bAA(3\d|50)\b/.test(message)) return true
  const named = typeof data === 'object' && data !== null && 'paymaster' in data && typeof data.paymaster === 'string'
  return named && REFUSAL_CODES.has(code)
}

/** The paymaster's validation, and its deposit. */
const PAYMASTER_CODES: ReadonlySet<number> = new Set([-32_501, -32_508])
/** Rules, time, reputation, stake and signature may be anybody's: `data` names whose. */
const REFUSAL_CODES: ReadonlySet<number> = new Set([-32_502, -32_503, -32_504, -32_505, -32_507])

/** Why a sponsor does not pay, for a person, to be put into a sentence. */
export function failureText({ message, data }: RpcError): string {
  const detail = typeof data === 'object' && data !== null && 'detail' in data ? data.detail : undefined
  const text = typeof detail === 'string' && detail !== '' ? detail : message
  return visibleText(text.replace(/[.\s]+$/, ''), REASON_CHARS)
}
