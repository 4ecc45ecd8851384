import { Address, Authorization, Hex, UserOperation } from '../eth/index.ts'
import type { EntryPointVersion } from '../eth/index.ts'
import { LEAST_VERIFICATION_GAS, OPERATION_BYTES } from './limits.ts'
import * as schema from './schema.ts'

// User operations in JSON: 0.6 with initCode and paymasterAndData, later versions with separate fields (ERC-7769).

const { address, bytes, maybe, object, quantity, refused, uint64 } = schema

const AMOUNTS = {
  callGasLimit: maybe(quantity),
  verificationGasLimit: maybe(quantity),
  preVerificationGas: maybe(quantity),
  maxFeePerGas: maybe(quantity),
  maxPriorityFeePerGas: maybe(quantity),
} as const

const authorization = object({
  chainId: quantity,
  address,
  nonce: uint64,
  yParity: maybe(quantity),
  v: maybe(quantity),
  r: quantity,
  s: quantity,
})

const COMMON = {
  sender: address,
  nonce: quantity,
  callData: bytes,
  signature: maybe(bytes),
  eip7702Auth: maybe(authorization),
  ...AMOUNTS,
} as const
const unpacked = object({ ...COMMON, initCode: maybe(bytes), paymasterAndData: maybe(bytes) })
const inParts = object({
  ...COMMON,
  factory: maybe({ json: address.json, parse: factory }),
  factoryData: maybe(bytes),
  paymaster: maybe(address),
  paymasterVerificationGasLimit: maybe(quantity),
  paymasterPostOpGasLimit: maybe(quantity),
  paymasterData: maybe(bytes),
})

/** `0x7702` is padded to 20 bytes, as the EntryPoint requires. */
function factory(value: unknown, path: string): Address {
  return value === '0x7702' ? UserOperation.DELEGATION : address.parse(value, path)
}

/** User operations as parameters of bundlers and paymaster services. */
export const UserOperationJson = { read, write, authorization: authorizationJson }

export interface ReadOptions {
  /** an estimate: limits, fees and signature may be missing */
  readonly partial: boolean
}

const PATH = 'argument 0 (userOperation)'

/** Throws RpcError -32602 that names the field. */
function read(value: unknown, version: EntryPointVersion, options: ReadOptions): UserOperation {
  const operation = version === '0.6' ? readUnpacked(value) : readParts(value)
  assertWidths(operation)
  if (!options.partial) assertComplete(value, operation, version)
  return operation
}

function readUnpacked(value: unknown): UserOperation {
  const read = unpacked.parse(value, PATH)
  const { initCode = EMPTY, paymasterAndData = EMPTY } = read
  if (initCode.length > 0 && initCode.length < 20) throw refused(`${PATH}.initCode`, 'must be empty or begin with a factory (20 bytes)')
  if (paymasterAndData.length > 0 && paymasterAndData.length < 20)
    throw refused(`${PATH}.paymasterAndData`, 'must be empty or begin with a paymaster (20 bytes)')
  return UserOperation.of({
    ...commonOf(read),
    factory: initCode.length === 0 ? null : Address.from(initCode.subarray(0, 20)),
    factoryData: initCode.subarray(20),
    paymaster: paymasterAndData.length === 0 ? null : Address.from(paymasterAndData.subarray(0, 20)),
    paymasterData: paymasterAndData.subarray(20),
  })
}

const EMPTY = new Uint8Array(0)

function readParts(value: unknown): UserOperation {
  const read = inParts.parse(value, PATH)
  if (read.factory === undefined && (read.factoryData?.length ?? 0) > 0)
    throw refused(`${PATH}.factoryData`, 'comes without a factory; they stand together or not at all')
  if (read.factory !== undefined && read.factoryData === undefined && read.factory !== UserOperation.DELEGATION)
    throw refused(`${PATH}.factoryData`, 'is missing beside the factory; they stand together or not at all')
  const rest = [
    read.paymasterVerificationGasLimit,
    read.paymasterPostOpGasLimit,
    read.paymasterData?.length === 0 ? undefined : read.paymasterData,
  ]
  if (read.paymaster === undefined && rest.some((part) => part !== undefined && part !== 0n))
    throw refused(`${PATH}.paymaster`, 'is missing beside the other paymaster fields; they stand together or not at all')
  return UserOperation.of({
    ...commonOf(read),
    factory: read.factory ?? null,
    factoryData: read.factoryData ?? EMPTY,
    paymaster: read.paymaster ?? null,
    paymasterVerificationGasLimit: read.paymasterVerificationGasLimit ?? 0n,
    paymasterPostOpGasLimit: read.paymasterPostOpGasLimit ?? 0n,
    paymasterData: read.paymasterData ?? EMPTY,
  })
}

type Common = ReturnType<typeof unpacked.parse> | ReturnType<typeof inParts.parse>

function commonOf(read: Common) {
  const { eip7702Auth } = read
  return {
    sender: read.sender,
    nonce: read.nonce,
    callData: read.callData,
    signature: read.signature ?? EMPTY,
    callGasLimit: read.callGasLimit ?? 0n,
    verificationGasLimit: read.verificationGasLimit ?? 0n,
    preVerificationGas: read.preVerificationGas ?? 0n,
    maxFeePerGas: read.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: read.maxPriorityFeePerGas ?? 0n,
    authorization: eip7702Auth === undefined ? null : authorizationOf(eip7702Auth),
  }
}

function authorizationOf(read: ReturnType<typeof authorization.parse>): Authorization {
  const { chainId, address: delegate, nonce, r, s, yParity = (read.v ?? 0n) >= 27n ? (read.v ?? 27n) - 27n : (read.v ?? 0n) } = read
  const signed = { chainId, address: delegate, nonce, yParity: Number(yParity), r, s }
  return { ...signed, authority: Authorization.recover(signed) }
}

/** The EntryPoint limits gas and fees to 120 bits (AA94). */
function assertWidths(operation: UserOperation): void {
  const { callData, factoryData, paymasterData, signature } = operation
  const sizeBytes = callData.length + factoryData.length + paymasterData.length + signature.length
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
  const given = value as Readonly<Record<string, unknown>> // it was parsed as an object
  const paymaster =
    operation.paymaster === null || version === '0.6' ? [] : (['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const)
  for (const name of ['signature', ...Object.keys(AMOUNTS), ...paymaster])
    if (given[name] === undefined || given[name] === null) throw refused(`${PATH}.${name}`, 'missing value')
  if (operation.verificationGasLimit < LEAST_VERIFICATION_GAS)
    throw refused(`${PATH}.verificationGasLimit`, `${operation.verificationGasLimit} is less than ${LEAST_VERIFICATION_GAS}`)
  if (operation.preVerificationGas === 0n) throw refused(`${PATH}.preVerificationGas`, 'must be more than 0')
}

/** Returns the JSON that `read` parses. */
function write(operation: UserOperation, version: EntryPointVersion): Readonly<Record<string, unknown>> {
  const head = {
    sender: Address.checksum(operation.sender),
    nonce: Hex.fromQuantity(operation.nonce),
    callData: Hex.fromBytes(operation.callData),
    callGasLimit: Hex.fromQuantity(operation.callGasLimit),
    verificationGasLimit: Hex.fromQuantity(operation.verificationGasLimit),
    preVerificationGas: Hex.fromQuantity(operation.preVerificationGas),
    maxFeePerGas: Hex.fromQuantity(operation.maxFeePerGas),
    maxPriorityFeePerGas: Hex.fromQuantity(operation.maxPriorityFeePerGas),
    signature: Hex.fromBytes(operation.signature),
    ...(operation.authorization === null ? undefined : { eip7702Auth: authorizationJson(operation.authorization) }),
  }
  if (version === '0.6')
    return {
      ...head,
      initCode: Hex.fromBytes(UserOperation.initCode(operation)),
      paymasterAndData: Hex.fromBytes(UserOperation.paymasterAndData(operation, '0.6')),
    }
  return { ...head, ...factoryJson(operation), ...paymasterJson(operation) }
}

function factoryJson({ factory: maker, factoryData }: UserOperation) {
  if (maker === null) return undefined
  return { factory: maker === UserOperation.DELEGATION ? '0x7702' : Address.checksum(maker), factoryData: Hex.fromBytes(factoryData) }
}

function paymasterJson(operation: UserOperation) {
  if (operation.paymaster === null) return undefined
  return {
    paymaster: Address.checksum(operation.paymaster),
    paymasterVerificationGasLimit: Hex.fromQuantity(operation.paymasterVerificationGasLimit),
    paymasterPostOpGasLimit: Hex.fromQuantity(operation.paymasterPostOpGasLimit),
    paymasterData: Hex.fromBytes(operation.paymasterData),
  }
}

function authorizationJson({ chainId, address: delegate, nonce, yParity, r, s }: Authorization) {
  return {
    chainId: Hex.fromQuantity(chainId),
    address: Address.checksum(delegate),
    nonce: Hex.fromQuantity(nonce),
    yParity: Hex.fromQuantity(yParity),
    r: Hex.fromQuantity(r),
    s: Hex.fromQuantity(s),
  }
}
