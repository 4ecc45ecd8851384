import { Bytes, Hash, Hex, Secp256k1, TypedData, UserOperation } from '../eth/index.ts'
import type { Address, EntryPointVersion, PrivateKey } from '../eth/index.ts'
import { LEAST_PAYMASTER_GAS } from './limits.ts'

/** Where a promise to pay holds. */
export interface SponsorDomain {
  readonly version: EntryPointVersion
  readonly chainId: number
  readonly paymaster: Address
}

/** What our paymasters read behind their address (and gas limits): validAfter (6 bytes) ‖ validUntil (6) ‖ signature (65). */
export const PaymasterData = { BYTES: 77, STUB: stub(), sign, digest, verificationGas }

/**
 * With which gas is estimated. It takes the way of a final one through the contract up to the comparison of two addresses, never ends, and has
 * 6 zero bytes, where a final one has 8 at least: what is estimated with it is enough.
 */
function stub(): Uint8Array {
  const signature = Hex.toBytes(`0x${'ff'.repeat(15)}${'12'.repeat(17)}${'7a'.repeat(32)}1c`)
  // The highest bit would say that these are numbers of blocks, and with that bit in one of them only the contract looks no further.
  return Bytes.concat([uint48(0), uint48(2 ** 47 - 1), signature])
}

/** From ever on and until `validUntil` (Unix seconds). Throws DecodeError for limits or fees that do not fit 16 bytes. */
function sign(operation: UserOperation, domain: SponsorDomain, validUntil: number, key: PrivateKey): Uint8Array {
  const { r, s, yParity } = Secp256k1.sign(digest(operation, domain, validUntil), key)
  const signature = [r, s].map((word) => Hash.toBytes(Hash.fromBigint(word)))
  return Bytes.concat([uint48(0), uint48(validUntil), ...signature, Uint8Array.of(27 + yParity)])
}

/** What the signer signs: all of an operation but the account's signature and the paymaster's own data. */
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

/** Gas that the contract takes to look at an operation: what it hashes it copies into its memory before. */
function verificationGas({ callData, factoryData }: UserOperation): bigint {
  return LEAST_PAYMASTER_GAS + BigInt(callData.length + factoryData.length)
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
