import { Address } from '../../eth/index.ts'
import { RpcError, isImageUri, replyObject, schema } from '../../jsonrpc/index.ts'
import type { OutboundReply, Schema } from '../../jsonrpc/index.ts'
import { sponsorFailed } from '../errors.ts'
import { SPONSOR_ICON_CHARS, SPONSOR_NAME_CHARS, SPONSOR_REFUSAL_BYTES, SPONSOR_REFUSAL_CHARS } from '../limits.ts'
import { visibleText } from '../preview/display.ts'

// Responses of sponsors are untrusted: an app chooses the sponsor.

/** Result of pm_getPaymasterData. A limit that is null is taken from the gas estimate. */
export interface PaymasterFields {
  readonly paymaster: Address
  readonly paymasterData: Uint8Array
  readonly paymasterVerificationGasLimit: bigint | null
  readonly paymasterPostOpGasLimit: bigint | null
}

export interface StubReply extends PaymasterFields {
  readonly sponsor: {
    /** visible text of at most SPONSOR_NAME_CHARS; null: absent */
    readonly name: string | null
    /** data: uri of an image; null: absent or not displayable */
    readonly icon: string | null
  }
  /** true: this is also the final data, so `final` is not called */
  readonly isFinal: boolean
}

/** Returns the JSON-RPC result. Throws RpcError 4300 for an error response, or if it is not a response to that request. */
export function resultOf(reply: OutboundReply, id: number, host: string): unknown {
  const { status } = reply
  const cause = errorOf(reply)
  if (cause !== null) throw sponsorFailed('refused', `${host} refused it: ${cause.message}`, { host, status, cause })
  if (status < 200 || status > 299) throw malformed(host, status, 'without a JSON-RPC error')
  const response = replyObject(reply.body)
  if (response === null) throw malformed(host, status, 'without a JSON-RPC response')
  if (response['id'] !== id) throw malformed(host, status, 'with the id of another request')
  if (!('result' in response)) throw malformed(host, status, 'with neither a result nor an error')
  return response['result']
}

/** Returns the JSON-RPC error of a response with any status, cut to the limits; null: none. */
export function errorOf(reply: OutboundReply): SponsorError | null {
  const error = replyObject(reply.body)?.['error']
  if (typeof error !== 'object' || error === null) return null
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown } // any object; checked below
  return {
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : null,
    message: typeof message === 'string' ? visibleText(message, SPONSOR_REFUSAL_CHARS) : 'it does not say why',
    ...boundedData(data),
  }
}

/** The sponsor's own error. */
interface SponsorError {
  /** null: absent */
  readonly code: number | null
  readonly message: string
  /** absent: none, or more than SPONSOR_REFUSAL_BYTES */
  readonly data?: unknown
}

function boundedData(data: unknown): Pick<SponsorError, 'data'> {
  if (data === undefined || data === null) return {}
  const text = textOf(data)
  return text === null || new TextEncoder().encode(text).length > SPONSOR_REFUSAL_BYTES ? {} : { data }
}

/** Null: nested too deeply for JSON.stringify, though not for JSON.parse. */
function textOf(data: unknown): string | null {
  try {
    return JSON.stringify(data)
  } catch {
    return null
  }
}

function malformed(host: string, status: number, what: string): RpcError {
  return sponsorFailed('malformed', `${host} answered HTTP ${status} ${what}`, { host, status })
}

// --- results ------------------------------------------------------------------------------------------------------------

const RESULT = 'result'
/** The EntryPoint refuses larger gas values (AA94). */
const GAS_BITS = 120n

/** With the zero address the account itself would pay. */
const paymaster: Schema<Address> = {
  json: schema.address.json,
  parse: (value, path) => {
    const parsed = schema.address.parse(value, path)
    if (parsed === Address.zero) throw schema.refused(path, 'is the zero address, so that the account would pay')
    return parsed
  },
}

const gasLimit: Schema<bigint> = {
  json: schema.quantity.json,
  parse: (value, path) => {
    const parsed = schema.quantity.parse(value, path)
    if (parsed >> GAS_BITS !== 0n) throw schema.refused(path, `is more than ${GAS_BITS} bits of gas`)
    return parsed
  },
}

const finalResult = schema.object({
  paymaster,
  paymasterData: schema.bytes,
  paymasterVerificationGasLimit: schema.maybe(gasLimit),
  paymasterPostOpGasLimit: schema.maybe(gasLimit),
})
const stubOnly = schema.object({ sponsor: schema.anything, isFinal: schema.maybe(schema.boolean) })

/** Throws RpcError 4300. */
export function readFinal(result: unknown, host: string): PaymasterFields {
  return reading(host, () => {
    const { paymasterVerificationGasLimit = null, paymasterPostOpGasLimit = null, ...rest } = finalResult.parse(result, RESULT)
    return { ...rest, paymasterVerificationGasLimit, paymasterPostOpGasLimit }
  })
}

/** Throws RpcError 4300. */
export function readStub(result: unknown, host: string): StubReply {
  const fields = readFinal(result, host)
  const { sponsor, isFinal = false } = reading(host, () => stubOnly.parse(result, RESULT))
  return { ...fields, sponsor: sponsorOf(sponsor), isFinal }
}

function reading<T>(host: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof RpcError)
      throw sponsorFailed('malformed', `what ${host} answered cannot be used: ${visibleText(error.message, SPONSOR_REFUSAL_CHARS)}`, {
        host,
      })
    throw error
  }
}

/** Returns the sponsor's name and icon, which are for display only. */
function sponsorOf(sponsor: unknown): StubReply['sponsor'] {
  if (typeof sponsor !== 'object' || sponsor === null) return { name: null, icon: null }
  const { name, icon } = sponsor as { name?: unknown; icon?: unknown } // any object; checked here
  return {
    name: typeof name === 'string' && name.trim() !== '' ? visibleText(name.trim(), SPONSOR_NAME_CHARS) : null,
    icon: typeof icon === 'string' && icon.length <= SPONSOR_ICON_CHARS && isImageUri(icon) ? icon : null,
  }
}
