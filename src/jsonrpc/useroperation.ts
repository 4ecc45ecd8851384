import { Address, Authorization, Hex, UserOperation } from '../eth/index.ts'
import type { EntryPointVersion } from '../eth/index.ts'
import { component, listOf } from './jsonschema.ts'
import { MIN_VERIFICATION_GAS, OPERATION_BYTES } from './limits.ts'
import * as schema from './schema.ts'
import type { JsonSchema } from './schema.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, QUANTITY, jsonField, optionalField, wireObject } from './wireobject.ts'
import type { WireField, WireValues } from './wireobject.ts'

// User operations and their receipts in JSON (ERC-7769): 0.6 with initCode and paymasterAndData, later versions in parts.

const { refused } = schema

/** Limits, fees and signature may be missing in an estimate, and only there. */
const SIGNED = {
  callGasLimit: optionalField(QUANTITY),
  verificationGasLimit: optionalField(QUANTITY),
  preVerificationGas: optionalField(QUANTITY),
  maxFeePerGas: optionalField(QUANTITY),
  maxPriorityFeePerGas: optionalField(QUANTITY),
  signature: optionalField(BYTES),
}

const COMMON = { sender: ADDRESS, nonce: QUANTITY, callData: BYTES, ...SIGNED }

const UNPACKED = { initCode: optionalField(BYTES), paymasterAndData: optionalField(BYTES) }

/** Clients may abbreviate `DELEGATION` to `0x7702`. */
const FACTORY: WireField<Address> = {
  schema: {
    json: ADDRESS.schema.json,
    parse: (value, path) => (value === '0x7702' ? UserOperation.DELEGATION : ADDRESS.schema.parse(value, path)),
  },
  toJson: (factory) => (factory === UserOperation.DELEGATION ? '0x7702' : Address.checksum(factory)),
}

const PARTS = {
  factory: optionalField(FACTORY),
  factoryData: optionalField(BYTES),
  paymaster: optionalField(ADDRESS),
  paymasterVerificationGasLimit: optionalField(QUANTITY),
  paymasterPostOpGasLimit: optionalField(QUANTITY),
  paymasterData: optionalField(BYTES),
  paymasterSignature: optionalField(BYTES),
}

/** `v` instead of `yParity` is accepted and not written. */
const authorization = wireObject('authorization', {
  chainId: QUANTITY,
  address: ADDRESS,
  nonce: { schema: schema.uint64, toJson: Hex.fromQuantity },
  yParity: optionalField(QUANTITY),
  v: optionalField(QUANTITY),
  r: QUANTITY,
  s: QUANTITY,
})

const AUTHORIZATION: WireField<Authorization> = {
  schema: {
    json: authorization.schema.json,
    parse: (value, path) => {
      const { v = 0n, ...fields } = authorization.schema.parse(value, path)
      const yParity = Number(fields.yParity ?? (v >= 27n ? v - 27n : v))
      if (fields.address === Address.zero)
        throw refused(`${path}.address`, 'Invalid EIP-7702 authorization: Cannot delegate to the zero address.')
      if (yParity > 1) throw refused(`${path}.yParity`, 'Invalid EIP-7702 authorization: The yParity value must be either 0 or 1')
      return { ...fields, yParity, authority: Authorization.recover({ ...fields, yParity }) }
    },
  },
  toJson: (signed) => authorization.toJson({ ...signed, yParity: BigInt(signed.yParity), v: undefined }),
}

const AUTHORIZED = { eip7702Auth: optionalField(AUTHORIZATION) }

const TITLE = 'user operation'
const unpacked = wireObject(TITLE, { ...COMMON, ...UNPACKED, ...AUTHORIZED })
const inParts = wireObject(TITLE, { ...COMMON, ...PARTS, ...AUTHORIZED })
const { json: partialSchema } = wireObject(TITLE, { ...COMMON, ...UNPACKED, ...PARTS, ...AUTHORIZED }).schema

/** User operations as parameters and results of bundlers and paymaster services. */
export const UserOperationJson = {
  read,
  write,
  authorization: AUTHORIZATION.toJson,
  /** JSON Schema of an operation of any EntryPoint version */
  schema: { ...partialSchema, required: Object.keys(COMMON) } satisfies JsonSchema,
  /** as `schema`, without limits, fees and signature among the required keys */
  partialSchema,
}

/** The result of eth_getUserOperationReceipt. */
export const UserOperationReceiptJson = wireObject('receipt of a user operation', {
  userOpHash: HASH,
  entryPoint: ADDRESS,
  sender: ADDRESS,
  nonce: QUANTITY,
  paymaster: ADDRESS,
  actualGasCost: QUANTITY,
  actualGasUsed: QUANTITY,
  success: BOOLEAN,
  logs: jsonField(listOf(component('Log'))),
  receipt: jsonField(component('Receipt')),
  /** revert data of the account's call (ERC-7769: a byte array), as other bundlers return it */
  reason: optionalField(BYTES),
})

interface ReadOptions {
  /** for an estimate: limits, fees and signature may be missing */
  readonly partial: boolean
}

const PATH = 'argument 0 (userOperation)'

/** Throws RpcError -32602 that names the field. */
function read(value: unknown, version: EntryPointVersion, options: ReadOptions): UserOperation {
  const operation = version === '0.6' ? readUnpacked(value) : readParts(value, version)
  assertOwnFields(value, version)
  assertWidths(operation)
  if (!options.partial) assertComplete(value, operation, version)
  return operation
}

/** If the paymaster that a client names were ignored, the account would pay. */
function assertOwnFields(value: unknown, version: EntryPointVersion): void {
  const given = value as Readonly<Record<string, unknown>> // parsed as an object before
  const isGiven = (name: string) => given[name] !== undefined && given[name] !== null && given[name] !== '0x'
  const name = (version === '0.6' ? PARTS_WITHOUT_LIMITS : Object.keys(UNPACKED)).find(isGiven)
  if (name === undefined) return
  const why =
    version === '0.6'
      ? 'does not exist in EntryPoint 0.6, which has initCode and paymasterAndData'
      : `exists in EntryPoint 0.6 only, this is ${version}, which has factory and paymaster with their data`
  throw refused(`${PATH}.${name}`, why)
}

/** Some clients send the limits for 0.6 too. */
const PARTS_WITHOUT_LIMITS = ['factory', 'factoryData', 'paymaster', 'paymasterData', 'paymasterSignature'] as const

function readUnpacked(value: unknown): UserOperation {
  const fields = unpacked.schema.parse(value, PATH)
  const { initCode = EMPTY, paymasterAndData = EMPTY } = fields
  if (initCode.length > 0 && initCode.length < 20) throw refused(`${PATH}.initCode`, 'must be empty or begin with a factory (20 bytes)')
  if (paymasterAndData.length > 0 && paymasterAndData.length < 20)
    throw refused(`${PATH}.paymasterAndData`, 'must be empty or begin with a paymaster (20 bytes)')
  return UserOperation.of({
    ...commonOf(fields),
    factory: initCode.length === 0 ? null : Address.from(initCode.subarray(0, 20)),
    factoryData: initCode.subarray(20),
    paymaster: paymasterAndData.length === 0 ? null : Address.from(paymasterAndData.subarray(0, 20)),
    paymasterData: paymasterAndData.subarray(20),
  })
}

const EMPTY = new Uint8Array(0)

function readParts(value: unknown, version: EntryPointVersion): UserOperation {
  const fields = inParts.schema.parse(value, PATH)
  if (fields.factory === undefined && (fields.factoryData?.length ?? 0) > 0)
    throw refused(`${PATH}.factoryData`, 'comes without a factory; both are required together')
  if (fields.factory !== undefined && fields.factoryData === undefined && fields.factory !== UserOperation.DELEGATION)
    throw refused(`${PATH}.factoryData`, 'is missing beside the factory; both are required together')
  const { paymasterVerificationGasLimit = 0n, paymasterPostOpGasLimit = 0n, paymasterData = EMPTY, paymasterSignature = EMPTY } = fields
  if (paymasterSignature.length > 0 && version !== '0.9')
    throw refused(`${PATH}.paymasterSignature`, `exists since EntryPoint 0.9, this is ${version}; put the signature into paymasterData`)
  const hasPaymasterField =
    paymasterVerificationGasLimit > 0n || paymasterPostOpGasLimit > 0n || paymasterData.length > 0 || paymasterSignature.length > 0
  if (fields.paymaster === undefined && hasPaymasterField)
    throw refused(`${PATH}.paymaster`, 'is missing beside the other paymaster fields; they are required together')
  const operation = UserOperation.of({
    ...commonOf(fields),
    factory: fields.factory ?? null,
    factoryData: fields.factoryData ?? EMPTY,
    paymaster: fields.paymaster ?? null,
    paymasterVerificationGasLimit,
    paymasterPostOpGasLimit,
    paymasterData,
    paymasterSignature,
  })
  if (version !== '0.9' || paymasterSignature.length > 0) return operation
  const split = UserOperation.splitPaymasterSignature(operation)
  if (split === operation && UserOperation.hasSignatureMagic(operation))
    throw refused(`${PATH}.paymasterData`, 'ends with PAYMASTER_SIG_MAGIC without a signature; put the signature into paymasterSignature')
  return split
}

type Common = WireValues<typeof COMMON & typeof AUTHORIZED>

function commonOf(fields: Common) {
  const { sender, nonce, callData, signature = EMPTY, eip7702Auth } = fields
  const { callGasLimit = 0n, verificationGasLimit = 0n, preVerificationGas = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = fields
  const gas = { callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas, maxPriorityFeePerGas }
  return { sender, nonce, callData, signature, ...gas, authorization: eip7702Auth ?? null }
}

/** The EntryPoint limits gas and fees to 120 bits (AA94). */
function assertWidths(operation: UserOperation): void {
  const { callData, factoryData, paymasterData, paymasterSignature, signature } = operation
  const sizeBytes = callData.length + factoryData.length + paymasterData.length + paymasterSignature.length + signature.length
  if (paymasterSignature.length > 0xffff) throw refused(`${PATH}.paymasterSignature`, 'has more than 65,535 bytes')
  if (sizeBytes > OPERATION_BYTES) throw refused(PATH, `holds ${sizeBytes} bytes, at most ${OPERATION_BYTES} are sent`)
  for (const name of ['preVerificationGas', ...LIMITS, ...FEES] as const)
    if (operation[name] >> 120n !== 0n) throw refused(`${PATH}.${name}`, 'AA94 gas values overflow: more than 120 bits')
  if (operation.maxPriorityFeePerGas > operation.maxFeePerGas && operation.maxFeePerGas > 0n)
    throw refused(
      `${PATH}.maxPriorityFeePerGas`,
      `${operation.maxPriorityFeePerGas} wei is more than maxFeePerGas (${operation.maxFeePerGas} wei)`,
    )
}

const LIMITS = ['callGasLimit', 'verificationGasLimit', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const
const FEES = ['maxFeePerGas', 'maxPriorityFeePerGas'] as const

function assertComplete(value: unknown, operation: UserOperation, version: EntryPointVersion): void {
  const given = value as Readonly<Record<string, unknown>> // parsed as an object before
  const paymaster =
    operation.paymaster === null || version === '0.6' ? [] : (['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const)
  for (const name of [...Object.keys(SIGNED), ...paymaster])
    if (given[name] === undefined || given[name] === null) throw refused(`${PATH}.${name}`, 'missing value')
  if (operation.verificationGasLimit < MIN_VERIFICATION_GAS)
    throw refused(`${PATH}.verificationGasLimit`, `${operation.verificationGasLimit} is less than ${MIN_VERIFICATION_GAS}`)
  if (operation.preVerificationGas === 0n) throw refused(`${PATH}.preVerificationGas`, 'must be more than 0')
}

function write(operation: UserOperation, version: EntryPointVersion): Readonly<Record<string, unknown>> {
  const { factory, factoryData, paymaster, paymasterSignature } = operation
  const eip7702Auth = operation.authorization ?? undefined
  if (version === '0.6') {
    const paymasterAndData = UserOperation.paymasterAndData(operation, '0.6')
    return unpacked.toJson({ ...operation, initCode: UserOperation.initCode(operation), paymasterAndData, eip7702Auth })
  }
  return inParts.toJson({
    ...operation,
    ...(factory === null ? { factory: undefined, factoryData: undefined } : { factory, factoryData }),
    ...(paymaster === null ? NO_PAYMASTER : { paymaster }),
    paymasterSignature: paymasterSignature.length === 0 ? undefined : paymasterSignature,
    eip7702Auth,
  })
}

const NO_PAYMASTER = {
  paymaster: undefined,
  paymasterVerificationGasLimit: undefined,
  paymasterPostOpGasLimit: undefined,
  paymasterData: undefined,
}
