import { Address } from '../../eth/index.ts'
import type { EntryPointVersion } from '../../eth/index.ts'
import { RpcError, isImageUri, schema } from '../../jsonrpc/index.ts'
import type { OutboundReply } from '../../jsonrpc/index.ts'
import { sponsorFailed } from '../errors.ts'
import { SPONSOR_ICON_CHARS, SPONSOR_NAME_CHARS, SPONSOR_REFUSAL_BYTES, SPONSOR_REFUSAL_CHARS } from '../limits.ts'
import { visibleText } from '../preview/display.ts'

// What comes back from a sponsor: bytes of somebody whom an app has named.

/** Who pays. A limit that is null is left to the estimate. */
export interface PaymasterFields {
  readonly paymaster: Address
  readonly paymasterData: Uint8Array
  readonly paymasterVerificationGasLimit: bigint | null
  readonly paymasterPostOpGasLimit: bigint | null
}

export interface StubReply extends PaymasterFields {
  readonly sponsor: {
    /** visible text, cut; null: it has none */
    readonly name: string | null
    /** a data: uri of an image; null: it has none that may be shown */
    readonly icon: string | null
  }
  /** true: these are the final data as well, and `final` need not be asked */
  readonly isFinal: boolean
}

/** The result of the answer. Throws RpcError 4300 for a refusal, and for what is no answer to that request. */
export function resultIn(reply: OutboundReply, id: number, host: string): unknown {
  const { status } = reply
  const cause = errorIn(reply)
  if (cause !== null) throw sponsorFailed('refused', `${host} refused it: ${cause.message}`, { host, status, cause })
  if (status < 200 || status > 299) throw malformed(host, status, 'without an error of JSON-RPC that says why')
  const answer = answerIn(reply)
  if (answer === null) throw malformed(host, status, 'which is no answer of JSON-RPC')
  if (answer['id'] !== id) throw malformed(host, status, 'and the answer to another request')
  if (!('result' in answer)) throw malformed(host, status, 'with neither a result nor an error')
  return answer['result']
}

/** The error of JSON-RPC that it holds, as far as it is handed on, whatever its status is; null: none. */
export function errorIn(reply: OutboundReply): SponsorError | null {
  const error = answerIn(reply)?.['error']
  if (typeof error !== 'object' || error === null) return null
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown } // any object; looked at below
  return {
    code: typeof code === 'number' && Number.isSafeInteger(code) ? code : null,
    message: typeof message === 'string' ? visibleText(message, SPONSOR_REFUSAL_CHARS) : 'it does not say why',
    ...boundedData(data),
  }
}

/** What a sponsor says itself. */
export interface SponsorError {
  /** null: it has none */
  readonly code: number | null
  readonly message: string
  /** absent: it has none, or too much */
  readonly data?: unknown
}

function boundedData(data: unknown): Pick<SponsorError, 'data'> {
  if (data === undefined || data === null) return {}
  const text = textOf(data)
  return text === null || new TextEncoder().encode(text).length > SPONSOR_REFUSAL_BYTES ? {} : { data }
}

/** Null: it nests deeper than can be written, though it could be read. */
function textOf(data: unknown): string | null {
  try {
    return JSON.stringify(data)
  } catch {
    return null
  }
}

function answerIn({ body }: OutboundReply): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(TEXT.decode(body))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : null // any JSON object has this shape
  } catch {
    return null
  }
}

const TEXT = new TextDecoder('utf-8', { fatal: true })

function malformed(host: string, status: number, what: string): RpcError {
  return sponsorFailed('malformed', `${host} answered HTTP ${status} ${what}`, { host, status })
}

// --- results ------------------------------------------------------------------------------------------------------------

const { address, anything, boolean, bytes, maybe, object, quantity, refused } = schema

const inParts = object({
  paymaster: address,
  paymasterData: bytes,
  paymasterVerificationGasLimit: maybe(quantity),
  paymasterPostOpGasLimit: maybe(quantity),
})
const unpacked = object({ paymasterAndData: bytes })
const stubOnly = object({ sponsor: anything, isFinal: maybe(boolean) })

/** Throws RpcError 4300. */
export function readFinal(result: unknown, version: EntryPointVersion, host: string): PaymasterFields {
  return reading(host, () => FIELDS[version](result))
}

/** Throws RpcError 4300. */
export function readStub(result: unknown, version: EntryPointVersion, host: string): StubReply {
  return reading(host, () => {
    const fields = FIELDS[version](result)
    const { sponsor, isFinal = false } = stubOnly.parse(result, RESULT)
    return { ...fields, sponsor: sponsorOf(sponsor), isFinal }
  })
}

const RESULT = 'result'
const PACKED_PAYMASTER_BYTES = 20
/** The EntryPoint adds limits up in words that hold no more (AA94). */
const GAS_BITS = 120n

const FIELDS: Readonly<Record<EntryPointVersion, (result: unknown) => PaymasterFields>> = {
  '0.6': (result) => {
    const { paymasterAndData } = unpacked.parse(result, RESULT)
    if (paymasterAndData.length < PACKED_PAYMASTER_BYTES)
      throw refused(`${RESULT}.paymasterAndData`, `begins with a paymaster (20 bytes), and has ${paymasterAndData.length}`)
    const paymaster = named(Address.from(paymasterAndData.subarray(0, PACKED_PAYMASTER_BYTES)), 'paymasterAndData')
    const paymasterData = paymasterAndData.subarray(PACKED_PAYMASTER_BYTES)
    return { paymaster, paymasterData, paymasterVerificationGasLimit: null, paymasterPostOpGasLimit: null }
  },
  '0.7': parts,
  '0.8': parts,
}

function parts(result: unknown): PaymasterFields {
  const read = inParts.parse(result, RESULT)
  return {
    paymaster: named(read.paymaster, 'paymaster'),
    paymasterData: read.paymasterData,
    paymasterVerificationGasLimit: limit(read.paymasterVerificationGasLimit, 'paymasterVerificationGasLimit'),
    paymasterPostOpGasLimit: limit(read.paymasterPostOpGasLimit, 'paymasterPostOpGasLimit'),
  }
}

/** With the address of nobody the account itself would pay, whatever was shown. */
function named(paymaster: Address, field: string): Address {
  if (paymaster === Address.zero) throw refused(`${RESULT}.${field}`, 'is the address of nobody, so that the account would pay')
  return paymaster
}

function limit(gas: bigint | undefined, field: string): bigint | null {
  if (gas === undefined) return null
  if (gas >> GAS_BITS !== 0n) throw refused(`${RESULT}.${field}`, `is more than ${GAS_BITS} bits of gas`)
  return gas
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

/** Who it says it is. Nothing of it is believed but that it can be drawn. */
function sponsorOf(sponsor: unknown): StubReply['sponsor'] {
  if (typeof sponsor !== 'object' || sponsor === null) return { name: null, icon: null }
  const { name, icon } = sponsor as { name?: unknown; icon?: unknown } // any object; looked at here
  return {
    name: typeof name === 'string' && name.trim() !== '' ? visibleText(name.trim(), SPONSOR_NAME_CHARS) : null,
    icon: typeof icon === 'string' && icon.length <= SPONSOR_ICON_CHARS && isImageUri(icon) ? icon : null,
  }
}
