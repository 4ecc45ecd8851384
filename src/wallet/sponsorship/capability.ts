import { schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { SPONSOR_CONTEXT_BYTES } from '../limits.ts'

/** Of a batch, by name (ERC-7677). */
export const PAYMASTER_SERVICE = 'paymasterService'

/** Who is asked to pay, as an app names it (interface 2.9). */
export interface PaymasterCapability {
  /** as it was written; whether it may be asked is seen when it is */
  readonly url: string
  /** what the service wants to know, JSON of the app's own; null: nothing */
  readonly context: unknown
  /** true: the batch may also be paid by the account */
  readonly isOptional: boolean
}

const given = schema.object({ url: schema.string, context: schema.maybe(schema.anything), optional: schema.maybe(schema.anything) })

/** Throws RpcError -32602 without a url, or for a context that is no JSON or too long. */
export const paymasterCapability: Schema<PaymasterCapability> = {
  json: {
    type: 'object',
    required: ['url'],
    properties: { url: { type: 'string', format: 'uri' }, context: {}, optional: { type: 'boolean' } },
  },
  parse: (value, path) => {
    const { url, context, optional } = given.parse(value, path)
    return { url, context: contextOf(context, `${path}.context`), isOptional: optional === true }
  },
}

/** A copy: what an app changes afterwards is no part of what was asked. */
function contextOf(context: unknown, path: string): unknown {
  const text = jsonOf(context)
  if (text === null) throw schema.refused(path, 'is no JSON')
  if (text === undefined) return null
  const sizeBytes = new TextEncoder().encode(text).length
  if (sizeBytes > SPONSOR_CONTEXT_BYTES)
    throw schema.refused(path, `has ${sizeBytes} bytes as JSON, at most ${SPONSOR_CONTEXT_BYTES} are sent`)
  return JSON.parse(text)
}

/** Undefined: there is nothing. Null: it cannot be written, because it holds itself or a bigint. */
function jsonOf(value: unknown): string | undefined | null {
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}
