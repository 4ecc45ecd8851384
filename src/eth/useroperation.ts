import { Address } from './address.ts'
import type { Authorization } from './authorization.ts'
import { Bytes } from './bytes.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'

/** The version of the EntryPoint (ERC-4337). */
export type EntryPointVersion = '0.6' | '0.7' | '0.8' | '0.9'

/** A user operation of any EntryPoint version: `initCode` and `paymasterAndData` of 0.6 are split, and its two paymaster limits are 0. */
export interface UserOperation {
  readonly sender: Address
  /** key (192 bits) and sequence (64) */
  readonly nonce: bigint
  /** `null` if the account exists; `UserOperation.DELEGATION` for an account that delegates by EIP-7702 (since 0.8) */
  readonly factory: Address | null
  /** call data of the factory, or of the new delegate's initialisation */
  readonly factoryData: Uint8Array
  readonly callData: Uint8Array
  readonly callGasLimit: bigint
  readonly verificationGasLimit: bigint
  readonly preVerificationGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly paymaster: Address | null
  readonly paymasterVerificationGasLimit: bigint
  readonly paymasterPostOpGasLimit: bigint
  readonly paymasterData: Uint8Array
  /** part of `paymasterAndData`, but not of the hash (since 0.9); empty if the paymaster signs in `paymasterData` */
  readonly paymasterSignature: Uint8Array
  readonly signature: Uint8Array
  /** the sender's authorization for the bundle's transaction (EIP-7702) */
  readonly authorization: Authorization | null
}

/** Since 0.7: the argument of handleOps, and the input of the hash. */
export interface PackedUserOperation {
  readonly sender: Address
  readonly nonce: bigint
  readonly initCode: Uint8Array
  readonly callData: Uint8Array
  /** verificationGasLimit and callGasLimit, 16 bytes each */
  readonly accountGasLimits: Hash
  readonly preVerificationGas: bigint
  /** maxPriorityFeePerGas and maxFeePerGas, 16 bytes each */
  readonly gasFees: Hash
  readonly paymasterAndData: Uint8Array
  readonly signature: Uint8Array
}

/** Missing fields are 0, empty or null. */
export type UserOperationFields = Partial<UserOperation> & Pick<UserOperation, 'sender' | 'nonce'>

/** The EntryPoint that executes a user operation. */
export interface UserOperationDomain {
  readonly version: EntryPointVersion
  readonly entryPoint: Address
  readonly chainId: number
  /** the sender's delegate, for operations whose factory is `DELEGATION`; by default its authorization's */
  readonly delegate?: Address
}

/** Marks an account that its own authorization creates, in place of a factory (ERC-4337, "Support for EIP-7702 authorizations"). */
const DELEGATION = Address.from(`0x7702${'0'.repeat(36)}`)

export const UserOperation = { DELEGATION, of, pack, initCode, paymasterAndData, splitPaymasterSignature, hasSignatureMagic, hash }

function of(fields: UserOperationFields): UserOperation {
  return { ...DEFAULTS, ...fields }
}

const EMPTY = new Uint8Array(0)

const DEFAULTS: Omit<UserOperation, 'sender' | 'nonce'> = {
  factory: null,
  factoryData: EMPTY,
  callData: EMPTY,
  callGasLimit: 0n,
  verificationGasLimit: 0n,
  preVerificationGas: 0n,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
  paymaster: null,
  paymasterVerificationGasLimit: 0n,
  paymasterPostOpGasLimit: 0n,
  paymasterData: EMPTY,
  paymasterSignature: EMPTY,
  signature: EMPTY,
  authorization: null,
}

/** Throws DecodeError if a limit or a fee does not fit 16 bytes. */
function pack(operation: UserOperation): PackedUserOperation {
  return {
    sender: operation.sender,
    nonce: operation.nonce,
    initCode: initCode(operation),
    callData: operation.callData,
    accountGasLimits: halves(operation, 'verificationGasLimit', 'callGasLimit'),
    preVerificationGas: operation.preVerificationGas,
    gasFees: halves(operation, 'maxPriorityFeePerGas', 'maxFeePerGas'),
    paymasterAndData: paymasterAndData(operation, '0.7'),
    signature: operation.signature,
  }
}

type Amount = { [K in keyof UserOperation]: UserOperation[K] extends bigint ? K : never }[keyof UserOperation]

function halves(operation: UserOperation, high: Amount, low: Amount): Hash {
  return Hash.fromBigint((half(operation, high) << 128n) | half(operation, low))
}

function half(operation: UserOperation, name: Amount): bigint {
  const value = operation[name]
  if (value < 0n || value >> 128n !== 0n) throw new DecodeError(`user operation.${name}`, 'does not fit 16 bytes')
  return value
}

/** Returns factory and data, empty if the account exists. */
function initCode({ factory, factoryData }: UserOperation): Uint8Array {
  return factory === null ? EMPTY : Bytes.concat([Address.toBytes(factory), factoryData])
}

/** Returns empty bytes if the account pays. 0.6 has no limits between paymaster and data. Throws DecodeError as `pack`. */
function paymasterAndData(operation: UserOperation, version: EntryPointVersion): Uint8Array {
  const { paymaster, paymasterData } = operation
  if (paymaster === null) return EMPTY
  if (version === '0.6') return Bytes.concat([Address.toBytes(paymaster), paymasterData])
  const limits = Hash.toBytes(halves(operation, 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'))
  return Bytes.concat([Address.toBytes(paymaster), limits, paymasterData, suffix(operation.paymasterSignature)])
}

/** keccak256("PaymasterSignature")[:8], which ends `paymasterAndData` with a signature outside the hash (EntryPoint 0.9). */
const PAYMASTER_SIGNATURE_MAGIC = Hex.toBytes('0x22e325a297439656')

/** Signature, its length in 2 bytes, and the magic; empty without a signature. Throws DecodeError for more than 65,535 bytes. */
function suffix(paymasterSignature: Uint8Array): Uint8Array {
  const { length } = paymasterSignature
  if (length === 0) return EMPTY
  if (length > 0xffff) throw new DecodeError('user operation.paymasterSignature', 'has more than 65,535 bytes')
  return Bytes.concat([paymasterSignature, Uint8Array.of(length >> 8, length & 0xff), PAYMASTER_SIGNATURE_MAGIC])
}

/** Splits the signature from the paymaster's data of an operation of EntryPoint 0.9. */
function splitPaymasterSignature(operation: UserOperation): UserOperation {
  const { paymasterData: data } = operation
  const end = data.length - PAYMASTER_SIGNATURE_MAGIC.length - 2
  if (end < 0 || !hasSignatureMagic(operation)) return operation
  const start = end - (((data[end] ?? 0) << 8) | (data[end + 1] ?? 0))
  if (start < 0 || start === end) return operation
  return { ...operation, paymasterData: data.subarray(0, start), paymasterSignature: data.subarray(start, end) }
}

/** Returns whether the paymaster's data ends as if a signature came before it (EntryPoint 0.9). */
function hasSignatureMagic({ paymasterData: data }: UserOperation): boolean {
  const start = data.length - PAYMASTER_SIGNATURE_MAGIC.length
  return start >= 0 && PAYMASTER_SIGNATURE_MAGIC.every((byte, i) => byte === data[start + i])
}

/** Returns the hash of EntryPoint's getUserOpHash, which the account signs. Throws DecodeError as `pack`, and for a delegation without a delegate. */
function hash(operation: UserOperation, domain: UserOperationDomain): Hash {
  return HASHES[domain.version](operation, domain)
}

const HASHES: Readonly<Record<EntryPointVersion, (operation: UserOperation, domain: UserOperationDomain) => Hash>> = {
  '0.6': (operation, domain) => inDomain(unpackedWords(operation), domain),
  '0.7': (operation, domain) => inDomain(packedWords(pack(operation), Hash.keccak(initCode(operation))), domain),
  '0.8': hashTyped,
  '0.9': hashTyped,
}

/** 0.6 and 0.7: keccak(fields), EntryPoint, chain id. */
function inDomain(fields: readonly Hash[], { entryPoint, chainId }: UserOperationDomain): Hash {
  return hashWords([hashWords(fields), word(BigInt(entryPoint)), word(BigInt(chainId))])
}

function unpackedWords(operation: UserOperation): readonly Hash[] {
  return [
    word(BigInt(operation.sender)),
    word(operation.nonce),
    Hash.keccak(initCode(operation)),
    Hash.keccak(operation.callData),
    word(operation.callGasLimit),
    word(operation.verificationGasLimit),
    word(operation.preVerificationGas),
    word(operation.maxFeePerGas),
    word(operation.maxPriorityFeePerGas),
    Hash.keccak(paymasterAndData(operation, '0.6')),
  ]
}

function packedWords(
  packed: PackedUserOperation,
  initCodeHash: Hash,
  paymasterHash = Hash.keccak(packed.paymasterAndData),
): readonly Hash[] {
  return [
    word(BigInt(packed.sender)),
    word(packed.nonce),
    initCodeHash,
    Hash.keccak(packed.callData),
    packed.accountGasLimits,
    word(packed.preVerificationGas),
    packed.gasFees,
    paymasterHash,
  ]
}

const PACKED_TYPE = Hash.ofText(
  'PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)',
)
const DOMAIN_TYPE = Hash.ofText('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)')
const DOMAIN_NAME = Hash.ofText('ERC4337')
const DOMAIN_VERSION = Hash.ofText('1')

/** Since 0.8: EIP-712, with the delegate's address in place of the marker, and the magic in place of the paymaster's signature. */
function hashTyped(operation: UserOperation, domain: UserOperationDomain): Hash {
  const separator = hashWords([DOMAIN_TYPE, DOMAIN_NAME, DOMAIN_VERSION, word(BigInt(domain.chainId)), word(BigInt(domain.entryPoint))])
  const struct = hashWords([
    PACKED_TYPE,
    ...packedWords(pack(operation), Hash.keccak(hashedInitCode(operation, domain)), Hash.keccak(hashedPaymaster(operation))),
  ])
  return Hash.keccak(Bytes.concat([Uint8Array.of(0x19, 0x01), Hash.toBytes(separator), Hash.toBytes(struct)]))
}

function hashedPaymaster(operation: UserOperation): Uint8Array {
  if (operation.paymasterSignature.length === 0) return paymasterAndData(operation, '0.8')
  return Bytes.concat([paymasterAndData({ ...operation, paymasterSignature: EMPTY }, '0.9'), PAYMASTER_SIGNATURE_MAGIC])
}

function hashedInitCode(operation: UserOperation, domain: UserOperationDomain): Uint8Array {
  if (operation.factory !== DELEGATION) return initCode(operation)
  const delegate = domain.delegate ?? operation.authorization?.address
  if (delegate === undefined) throw new DecodeError('user operation.factory', 'is 0x7702, and the delegate of the sender is unknown')
  return Bytes.concat([Address.toBytes(delegate), operation.factoryData])
}

function word(value: bigint): Hash {
  return Hash.from(Hex.fromBytes32(value))
}

function hashWords(words: readonly Hash[]): Hash {
  return Hash.keccak(Bytes.concat(words.map(Hash.toBytes)))
}
