import type { Address } from '../../eth/index.ts'
import { CODE, RpcError, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import type { Call } from './call.ts'
import type { WalletSettings } from '../settings.ts'
import { WALLET_CODE, convertSchemaErrors, sponsorRequired, unparsableRequest, unsupportedCapability } from '../errors.ts'
import { BATCH_ID_CHARS, REQUESTED_CAPABILITIES, TRANSACTION_BYTES } from '../limits.ts'
import { PAYMASTER_SERVICE, paymasterCapability } from '../sponsorship/capability.ts'
import type { PaymasterCapability } from '../sponsorship/capability.ts'

/** The parsed parameter of wallet_sendCalls (interface 2.6, EIP-5792). */
export interface CallsRequest {
  /** null: the wallet generates one */
  readonly id: string | null
  /** null: the selected account */
  readonly from: Address | null
  /** as in the request; ids of the wallet's chains are below 2^53 */
  readonly chainId: string
  readonly isAtomic: boolean
  readonly calls: readonly Call[]
  /** true: a gasLimitOverride is not marked as optional */
  readonly requiresLimits: boolean
  /** null: the account pays */
  readonly paymaster: PaymasterCapability | null
  /** names of unsupported capabilities that are not marked as optional */
  readonly required: readonly string[]
}

const VERSION = '2.0.0'
/** interface 2.6 */
const CHAIN_ID = /^0x([1-9a-f]+[0-9a-f]*|0)$/
const GAS_LIMIT_OVERRIDE = 'gasLimitOverride'

/** An object of named capabilities; undefined and null count as absent, for it and for each of them. */
const capabilities: Schema<ReadonlyMap<string, unknown>> = {
  json: { type: 'object' },
  parse: (value, path) => {
    const parsed = schema.mapOf(schema.string, schema.anything, REQUESTED_CAPABILITIES).parse(value, path)
    return new Map([...parsed].filter(([, capability]) => capability !== undefined && capability !== null))
  },
}

/** A quantity of gas above zero (ERC-8132). */
const gas: Schema<bigint> = {
  json: schema.quantity.json,
  parse: (value, path) => {
    const parsed = schema.quantity.parse(value, path)
    if (parsed === 0n) throw schema.refused(path, 'a gas limit of zero; a call needs gas')
    return parsed
  },
}

const chainId: Schema<string> = {
  json: { type: 'string', pattern: CHAIN_ID.source },
  parse: (value, path) => {
    const text = schema.string.parse(value, path)
    if (!CHAIN_ID.test(text))
      throw schema.refused(
        path,
        `a chain id is 0x and lower-case hex digits without leading zeros, not ${JSON.stringify(text.slice(0, 80))}`,
      )
    return text
  },
}

/** A batch id of an app or of the wallet. */
export const batchId: Schema<string> = {
  json: { type: 'string', minLength: 1, maxLength: BATCH_ID_CHARS },
  parse: (value, path) => {
    const text = schema.string.parse(value, path)
    if (text.length >= 1 && text.length <= BATCH_ID_CHARS) return text
    throw schema.refused(path, `an id has 1 to ${BATCH_ID_CHARS} characters, not ${text.length}`)
  },
}

const call = schema.object({
  to: schema.address,
  value: schema.maybe(schema.quantity),
  data: schema.maybe(schema.bytes),
  capabilities: schema.maybe(capabilities),
})

const batch = schema.object({
  id: schema.maybe(batchId),
  from: schema.maybe(schema.address),
  chainId,
  atomicRequired: schema.boolean,
  calls: schema.arrayOf(call, Infinity), // too many calls are 5740, not -32602
  capabilities: schema.maybe(capabilities),
})

const override = schema.object({ value: gas })

/** Throws RpcError -32000 for another version before it reads anything else, then -32602. */
export const callsRequest: Schema<CallsRequest> = {
  json: {
    type: 'object',
    required: ['version', 'chainId', 'atomicRequired', 'calls'],
    properties: {
      version: { enum: [VERSION] },
      id: batchId.json,
      from: schema.address.json,
      chainId: chainId.json,
      atomicRequired: schema.boolean.json,
      calls: { type: 'array', items: call.json, minItems: 1 },
      capabilities: { ...capabilities.json, properties: { [PAYMASTER_SERVICE]: paymasterCapability.json } },
    },
  },
  parse: (value, path) => convertSchemaErrors(() => parse(value, path)),
}

/** Throws RpcError 5740. */
export function assertSize(
  { calls }: CallsRequest,
  { maxCalls, maxCallDataBytes }: Pick<WalletSettings, 'maxCalls' | 'maxCallDataBytes'>,
): void {
  if (calls.length > maxCalls) throw tooLarge('too-many-calls', maxCalls, calls.length)
  const sizeBytes = calls.reduce((sum, { data }) => sum + data.length, 0)
  if (sizeBytes > maxCallDataBytes) throw tooLarge('too-much-call-data', maxCallDataBytes, sizeBytes)
}

/** Throws RpcError 5740 for a transaction that is longer than `limit`, by default the limit of nodes' pools. */
export function assertTransactionSize(sizeBytes: number, limit = TRANSACTION_BYTES): void {
  if (sizeBytes > limit) throw tooLarge('transaction-too-large', limit, sizeBytes)
}

/** Throws RpcError 5700 for a required capability that the wallet lacks. */
export function assertCapabilities({ required }: CallsRequest): void {
  const [capability] = required
  if (capability === undefined) return
  // Interface 7.4 has its own message for a paymasterService of a single call.
  throw capability === PAYMASTER_SERVICE ? sponsorRequired('call-level') : unsupportedCapability(capability)
}

/** Throws RpcError -32602 for a gasLimitOverride above the block gas limit. */
export function assertGasOverrides({ calls }: CallsRequest, blockGasLimit: bigint): void {
  const at = calls.findIndex(({ gasLimitOverride }) => gasLimitOverride !== null && gasLimitOverride > blockGasLimit)
  if (at === -1) return
  throw unparsableRequest(
    `calls[${at}].capabilities.gasLimitOverride.value: ${calls[at]?.gasLimitOverride} gas, a block has ${blockGasLimit}`,
  )
}

function parse(value: unknown, path: string): CallsRequest {
  assertVersion(value, path)
  const parsed = batch.parse(value, path)
  if (parsed.calls.length === 0) throw schema.refused(`${path}.calls`, 'a batch needs at least one call')
  return {
    id: parsed.id ?? null,
    from: parsed.from ?? null,
    chainId: parsed.chainId,
    isAtomic: parsed.atomicRequired,
    calls: parsed.calls.map(({ to, value: wei, data, capabilities: own }, i) => ({
      to,
      value: wei ?? 0n,
      data: data ?? new Uint8Array(),
      gasLimitOverride: overrideOf(own, wei ?? 0n, `${path}.calls[${i}].capabilities.${GAS_LIMIT_OVERRIDE}`),
    })),
    requiresLimits: parsed.calls.some(
      ({ capabilities: own }) => own?.has(GAS_LIMIT_OVERRIDE) === true && !isOptional(own.get(GAS_LIMIT_OVERRIDE)),
    ),
    paymaster: paymasterOf(parsed.capabilities, `${path}.capabilities.${PAYMASTER_SERVICE}`),
    required: [
      ...requiredOf(parsed.capabilities, (name) => name === PAYMASTER_SERVICE),
      ...parsed.calls.flatMap((each) => requiredOf(each.capabilities, (name) => name === GAS_LIMIT_OVERRIDE)),
    ],
  }
}

function assertVersion(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw schema.mismatch(path, 'an object', value)
  const { version } = value as { readonly version?: unknown } // any object may have it
  if (typeof version !== 'string') throw schema.mismatch(`${path}.version`, `"${VERSION}"`, version)
  if (version === VERSION) return
  throw new RpcError(CODE.server, 'Version not supported', { reason: 'version', version: version.slice(0, 80), supported: [VERSION] })
}

/** A call with value has at least the stipend, which no limit can take away (EIP-150). */
function overrideOf(own: ReadonlyMap<string, unknown> | undefined, value: bigint, path: string): bigint | null {
  const given = own?.get(GAS_LIMIT_OVERRIDE)
  if (given === undefined) return null
  const limit = override.parse(given, path).value
  if (value > 0n && limit < STIPEND) throw schema.refused(`${path}.value`, `${limit} gas, a call with value has at least ${STIPEND}`)
  return limit
}

const STIPEND = 2_300n

function paymasterOf(given: ReadonlyMap<string, unknown> | undefined, path: string): PaymasterCapability | null {
  const named = given?.get(PAYMASTER_SERVICE)
  return named === undefined ? null : paymasterCapability.parse(named, path)
}

/** EIP-5792: only `optional: true` makes a capability one that may be ignored. */
function requiredOf(given: ReadonlyMap<string, unknown> | undefined, isSupported: (name: string) => boolean): readonly string[] {
  return [...(given ?? [])].flatMap(([name, capability]) => (isSupported(name) || isOptional(capability) ? [] : [name]))
}

export function isOptional(capability: unknown): boolean {
  return typeof capability === 'object' && capability !== null && 'optional' in capability && capability.optional === true
}

function tooLarge(reason: 'too-many-calls' | 'too-much-call-data' | 'transaction-too-large', limit: number, got: number): RpcError {
  return new RpcError(WALLET_CODE.batchTooLarge, 'The batch is too large for the wallet to process', { reason, limit, got })
}
