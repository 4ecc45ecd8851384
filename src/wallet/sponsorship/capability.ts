import { schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { SPONSOR_CONTEXT_BYTES } from '../limits.ts'

/** The name of the capability (ERC-7677). */
export const PAYMASTER_SERVICE = 'paymasterService'

/** The sponsor that an app names for a batch (interface 2.9). */
export interface PaymasterCapability {
  /** as in the request; checked when the sponsor is requested */
  readonly url: string
  /** JSON of the app for the sponsor; null: none */
  readonly context: unknown
  /** true: the account may pay instead */
  readonly isOptional: boolean
}

const given = schema.object({ url: schema.string, context: schema.maybe(schema.anything), optional: schema.maybe(schema.anything) })

/** Throws RpcError -32602 without a url, or for a context that is no JSON or longer than SPONSOR_CONTEXT_BYTES. */
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

/** Returns a copy, which later changes by the app do not affect. */
function contextOf(context: unknown, path: string): unknown {
  const text = jsonOf(context)
  if (text === null) throw schema.refused(path, 'is no JSON')
  if (text === undefined) return null
  const sizeBytes = new TextEncoder().encode(text).length
  if (sizeBytes > SPONSOR_CONTEXT_BYTES)
    throw schema.refused(path, `has ${sizeBytes} bytes as JSON, at most ${SPONSOR_CONTEXT_BYTES} are sent`)
  return JSON.parse(text)
}

/** Undefined: absent. Null: not serializable, because of a cycle or a bigint. */
function jsonOf(value: unknown): string | undefined | null {
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}
