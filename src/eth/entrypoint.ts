import { Abi } from './abi.ts'
import type { AbiReader, AbiValue } from './abi.ts'
import { Address } from './address.ts'
import type { Hash } from './hash.ts'
import { Hex } from './hex.ts'
import { UserOperation } from './useroperation.ts'
import type { EntryPointVersion } from './useroperation.ts'

/** The differences between EntryPoint versions: shapes and gas sums. */
export interface EntryPoint {
  readonly version: EntryPointVersion
  readonly address: Address
  /** calls factories in place of the EntryPoint */
  readonly senderCreator: Address
  readonly handleOps: (operations: readonly UserOperation[], beneficiary: Address) => Uint8Array
  /** the calls to the account, its paymaster, and the account's own call */
  readonly validateAccount: (operation: UserOperation, hash: Hash, missing: bigint) => Uint8Array
  readonly validatePaymaster: (operation: UserOperation, hash: Hash, maxCost: bigint) => Uint8Array
  readonly execute: (operation: UserOperation, hash: Hash) => Uint8Array
  readonly postOp: (context: Uint8Array, gasCost: bigint, feePerGas: bigint) => Uint8Array
  /** gas that is paid in advance */
  readonly prefundGas: (operation: UserOperation) => bigint
  /** gas that the EntryPoint requires for its calls (AA95) */
  readonly gasLimits: (operation: UserOperation) => bigint
  /** Returns the operations of a handleOps call, `null` for other calls. Throws DecodeError. */
  readonly readOps: (callData: Uint8Array) => readonly UserOperation[] | null
}

type Version = Pick<EntryPoint, 'version' | 'prefundGas' | 'gasLimits'> & {
  readonly tuple: (operation: UserOperation) => readonly AbiValue[]
  readonly read: (tuple: AbiReader) => UserOperation
  readonly signature: string
  readonly postOpSignature: string
}

const UNPACKED = '(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)'
const PACKED = '(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)'

const V06: Version = {
  version: '0.6',
  signature: UNPACKED,
  postOpSignature: 'postOp(uint8,bytes,uint256)',
  tuple: (operation) => [
    operation.sender,
    operation.nonce,
    UserOperation.initCode(operation),
    operation.callData,
    operation.callGasLimit,
    operation.verificationGasLimit,
    operation.preVerificationGas,
    operation.maxFeePerGas,
    operation.maxPriorityFeePerGas,
    UserOperation.paymasterAndData(operation, '0.6'),
    operation.signature,
  ],
  read: (tuple) =>
    UserOperation.of({
      sender: tuple.address(0),
      nonce: tuple.word(1),
      ...factoryOf(tuple.bytes(2)),
      callData: tuple.bytes(3),
      callGasLimit: tuple.word(4),
      verificationGasLimit: tuple.word(5),
      preVerificationGas: tuple.word(6),
      maxFeePerGas: tuple.word(7),
      maxPriorityFeePerGas: tuple.word(8),
      ...paymasterOf(tuple.bytes(9)),
      signature: tuple.bytes(10),
    }),
  // The paymaster is called with the account's limit, before and after; postOp reserves the verification limit with or without a paymaster.
  gasLimits: ({ callGasLimit, verificationGasLimit, paymaster }) => callGasLimit + verificationGasLimit * (paymaster === null ? 2n : 3n),
  prefundGas: ({ callGasLimit, verificationGasLimit, preVerificationGas, paymaster }) =>
    callGasLimit + verificationGasLimit * (paymaster === null ? 1n : 3n) + preVerificationGas,
}

const V07: Version = {
  version: '0.7',
  signature: PACKED,
  postOpSignature: 'postOp(uint8,bytes,uint256,uint256)',
  tuple: (operation) => {
    const packed = UserOperation.pack(operation)
    return [
      packed.sender,
      packed.nonce,
      packed.initCode,
      packed.callData,
      packed.accountGasLimits,
      packed.preVerificationGas,
      packed.gasFees,
      packed.paymasterAndData,
      packed.signature,
    ]
  },
  read: (tuple) => {
    const [verificationGasLimit, callGasLimit] = halves(tuple.word(4))
    const [maxPriorityFeePerGas, maxFeePerGas] = halves(tuple.word(6))
    return UserOperation.of({
      sender: tuple.address(0),
      nonce: tuple.word(1),
      ...factoryOf(tuple.bytes(2)),
      callData: tuple.bytes(3),
      callGasLimit,
      verificationGasLimit,
      preVerificationGas: tuple.word(5),
      maxFeePerGas,
      maxPriorityFeePerGas,
      ...limitedPaymasterOf(tuple.bytes(7)),
      signature: tuple.bytes(8),
    })
  },
  gasLimits: (operation) =>
    operation.callGasLimit + operation.verificationGasLimit + operation.paymasterVerificationGasLimit + operation.paymasterPostOpGasLimit,
  prefundGas: (operation) =>
    operation.callGasLimit +
    operation.verificationGasLimit +
    operation.preVerificationGas +
    operation.paymasterVerificationGasLimit +
    operation.paymasterPostOpGasLimit,
}

const V09: Version = { ...V07, version: '0.9', read: (tuple) => UserOperation.splitPaymasterSignature(V07.read(tuple)) }

const VERSIONS: Readonly<Record<EntryPointVersion, Version>> = { '0.6': V06, '0.7': V07, '0.8': { ...V07, version: '0.8' }, '0.9': V09 }

/** The addresses are the same on every chain. */
export const ENTRY_POINTS: Readonly<Record<EntryPointVersion, Address>> = {
  '0.6': Address.from('0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789'),
  '0.7': Address.from('0x0000000071727de22e5e9d8baf0edac6f37da032'),
  '0.8': Address.from('0x4337084d9e255ff0702461cf8895ce9e3b5ff108'),
  '0.9': Address.from('0x433709009b8330fda32311df1c2afa402ed8d009'),
}

/** Returns `null` if the address is not a known EntryPoint. */
export function entryPointVersion(address: Address): EntryPointVersion | null {
  const versions: readonly EntryPointVersion[] = ['0.6', '0.7', '0.8', '0.9']
  return versions.find((version) => ENTRY_POINTS[version] === address) ?? null
}

const EXECUTE_USER_OP = Abi.selector(`executeUserOp(${PACKED},bytes32)`)

export function entryPoint(version: EntryPointVersion, address: Address = ENTRY_POINTS[version]): EntryPoint {
  const { tuple, read, signature, postOpSignature, prefundGas, gasLimits } = VERSIONS[version]
  const handle = Abi.selector(`handleOps(${signature}[],address)`)
  const account = Abi.selector(`validateUserOp(${signature},bytes32,uint256)`)
  const paymaster = Abi.selector(`validatePaymasterUserOp(${signature},bytes32,uint256)`)
  const post = Abi.selector(postOpSignature)
  return {
    version,
    address,
    // the first contract that the EntryPoint's constructor creates
    senderCreator: Address.create(address, 1n),
    handleOps: (operations, beneficiary) => Abi.call(handle, [{ list: operations.map(tuple) }, beneficiary]),
    validateAccount: (operation, hash, missing) => Abi.call(account, [tuple(operation), hash, missing]),
    validatePaymaster: (operation, hash, maxCost) => Abi.call(paymaster, [tuple(operation), hash, maxCost]),
    execute: (operation, hash) => {
      const wantsAll = version !== '0.6' && Hex.fromBytes(operation.callData.subarray(0, 4)) === EXECUTE_USER_OP
      return wantsAll ? Abi.call(EXECUTE_USER_OP, [tuple(operation), hash]) : operation.callData
    },
    postOp: (context, gasCost, feePerGas) => Abi.call(post, version === '0.6' ? [0n, context, gasCost] : [0n, context, gasCost, feePerGas]),
    prefundGas,
    gasLimits,
    readOps: (callData) => {
      if (Hex.fromBytes(callData.subarray(0, 4)) !== handle) return null
      return Abi.Reader(callData.subarray(4)).tuples(0).map(read)
    },
  }
}

function factoryOf(initCode: Uint8Array): Pick<UserOperation, 'factory' | 'factoryData'> {
  if (initCode.length < 20) return { factory: null, factoryData: new Uint8Array(0) }
  return { factory: Address.from(initCode.subarray(0, 20)), factoryData: initCode.subarray(20) }
}

function paymasterOf(bytes: Uint8Array): Pick<UserOperation, 'paymaster' | 'paymasterData'> {
  if (bytes.length < 20) return { paymaster: null, paymasterData: new Uint8Array(0) }
  return { paymaster: Address.from(bytes.subarray(0, 20)), paymasterData: bytes.subarray(20) }
}

function limitedPaymasterOf(bytes: Uint8Array): Partial<UserOperation> {
  if (bytes.length < 52) return {}
  const [paymasterVerificationGasLimit, paymasterPostOpGasLimit] = halves(BigInt(Hex.fromBytes(bytes.subarray(20, 52))))
  return {
    paymaster: Address.from(bytes.subarray(0, 20)),
    paymasterVerificationGasLimit,
    paymasterPostOpGasLimit,
    paymasterData: bytes.subarray(52),
  }
}

function halves(word: bigint): readonly [high: bigint, low: bigint] {
  return [word >> 128n, BigInt.asUintN(128, word)]
}
