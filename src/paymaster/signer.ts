import { Bytes, Hash, Hex, Secp256k1, TypedData, UserOperation } from '../eth/index.ts'
import type { Address, EntryPointVersion, PrivateKey } from '../eth/index.ts'
import { MIN_PAYMASTER_GAS } from './limits.ts'

/** The chain and contract that a signature is valid for. */
interface SponsorDomain {
  readonly version: EntryPointVersion
  readonly chainId: number
  readonly paymaster: Address
}

/** The data after the paymaster's address and gas limits: validAfter (6 bytes) ‖ validUntil (6) ‖ signature (65). */
export const PaymasterData = { BYTES: 77, STUB: stub(), sign, digest, verificationGas }

/**
 * The stub for gas estimates. The contract processes it like a valid signature up to the comparison of two addresses; it has 6 zero bytes,
 * where a signed one has at least 8, so that its calldata costs no less.
 */
function stub(): Uint8Array {
  const signature = Hex.toBytes(`0x${'ff'.repeat(15)}${'12'.repeat(17)}${'7a'.repeat(32)}1c`)
  // The highest bit would mark block numbers, and the contract returns early if only one of them has it.
  return Bytes.concat([uint48(0), uint48(2 ** 47 - 1), signature])
}

/** Signs for use until `validUntil` (Unix seconds). Throws DecodeError for limits or fees that do not fit 16 bytes. */
function sign(operation: UserOperation, domain: SponsorDomain, validUntil: number, key: PrivateKey): Uint8Array {
  const { r, s, yParity } = Secp256k1.sign(digest(operation, domain, validUntil), key)
  const signature = [r, s].map((word) => Hash.toBytes(Hash.fromBigint(word)))
  return Bytes.concat([uint48(0), uint48(validUntil), ...signature, Uint8Array.of(27 + yParity)])
}

/** Returns the hash that the signer signs: all fields but the account's signature and the paymaster's data. */
function digest(operation: UserOperation, { version, chainId, paymaster }: SponsorDomain, validUntil: number): Hash {
  const validity = { validAfter: 0, validUntil }
  return TypedData.hash({
    types: version === '0.6' ? UNPACKED : PACKED,
    primaryType: 'UserOperationRequest',
    domain: { name: 'PocketPaymaster', version, chainId, verifyingContract: paymaster },
    message: { ...operation, initCode: UserOperation.initCode(operation), ...(version === '0.6' ? null : packed(operation)), ...validity },
  })
}

function packed(operation: UserOperation) {
  const { accountGasLimits, gasFees } = UserOperation.pack(operation)
  return { accountGasLimits, gasFees }
}

/** Returns the gas of the contract's validation, which copies the hashed data into memory. */
function verificationGas({ callData, factoryData }: UserOperation): bigint {
  return MIN_PAYMASTER_GAS + BigInt(callData.length + factoryData.length)
}

function uint48(value: number): Uint8Array {
  return Hex.toBytes(`0x${value.toString(16).padStart(12, '0')}`)
}

const field = (type: string) => (name: string) => ({ name, type })
const HEAD = [field('address')('sender'), field('uint256')('nonce'), ...['initCode', 'callData'].map(field('bytes'))]
const VALIDITY = ['validAfter', 'validUntil'].map(field('uint48'))

const UNPACKED = {
  UserOperationRequest: [
    ...HEAD,
    ...['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas', 'maxPriorityFeePerGas'].map(field('uint256')),
    ...VALIDITY,
  ],
}
const PACKED = {
  UserOperationRequest: [
    ...HEAD,
    field('bytes32')('accountGasLimits'),
    field('uint256')('preVerificationGas'),
    field('bytes32')('gasFees'),
    ...['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'].map(field('uint256')),
    ...VALIDITY,
  ],
}
