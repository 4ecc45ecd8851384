import { Abi, DecodeError, Hex, RevertReason } from '../eth/index.ts'
import type { Address, UserOperation } from '../eth/index.ts'
import { RpcError } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import type { Refusal } from './errors.ts'

/** The reason why the EntryPoint reverted a bundle. */
export interface Failure {
  /** index of the operation; `null` if the error does not name one, or not the right one */
  readonly index: number | null
  /** `AA23 reverted` */
  readonly reason: string
  /** revert data of account, factory or paymaster; `null` before 0.7 */
  readonly inner: Uint8Array | null
  /** the EntryPoint halted without revert data, as it does when the bundle's gas ends; the reason is the node's message */
  readonly isHalt?: true
}

const FAILED_OP = Abi.selector('FailedOp(uint256,string)')
const FAILED_OP_WITH_REVERT = Abi.selector('FailedOpWithRevert(uint256,string,bytes)')
const SIGNATURE_FAILED = Abi.selector('SignatureValidationFailed(address)')

/** Decodes the revert data of an EntryPoint of any version; `null` if it is none of its errors. */
export function failureOf(revertData: Uint8Array): Failure | null {
  const selector = Hex.fromBytes(revertData.subarray(0, 4))
  const values = Abi.Reader(revertData.subarray(4))
  try {
    if (selector === FAILED_OP || selector === FAILED_OP_WITH_REVERT) {
      const reason = TEXT.decode(values.bytes(1))
      const index = reason.startsWith('AA13 EIP7702') ? null : Number(values.word(0)) // the SenderCreator of 0.8 and 0.9 reports 0 for each
      return { index, reason, inner: selector === FAILED_OP ? null : values.bytes(2) }
    }
    if (selector === SIGNATURE_FAILED) return { index: 0, reason: 'AA24 signature error', inner: null }
    return null
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

/** Why handleOps failed; `null` as revert data: it halted with this error of the node. */
export function handleOpsFailure(revertData: Uint8Array | null, error: string): Failure {
  if (revertData === null) return { index: null, reason: `the EntryPoint halted: ${error}`, inner: null, isHalt: true }
  return failureOf(revertData) ?? { index: null, reason: 'the EntryPoint reverted without naming an operation', inner: revertData }
}

/** A signature that fails its check, such as the one of an estimate. */
export function isSignatureFailure({ reason }: Pick<Failure, 'reason'>): boolean {
  return /^AA(24|34)/.test(reason)
}

const TEXT = new TextDecoder()

/** By the first error number in the text; all others are errors of the account. */
const KINDS: readonly (readonly [pattern: RegExp, kind: Refusal])[] = [
  [/^AA(22|27|32|37)/, 'time'],
  [/^AA(24|34)/, 'signature'],
  [/^AA31/, 'deposit'],
  [/^AA(3\d|50)/, 'paymaster'],
  [/^AA(93|94|96)/, 'invalid'],
]

/** `period`: of an operation that is out of its time range; `null` if it is not the reason, or not known. */
export function refusalFor(
  { reason, inner }: Pick<Failure, 'reason' | 'inner'>,
  { paymaster }: UserOperation,
  period: Pick<ValidationData, 'validUntil' | 'validAfter'> | null = null,
): RpcError {
  const kind = KINDS.find(([pattern]) => pattern.test(reason))?.[1] ?? 'account'
  const innerReason = inner === null || inner.length === 0 ? null : (RevertReason.text(inner) ?? Hex.fromBytes(inner))
  const ofPaymaster = kind === 'paymaster' || kind === 'deposit' || reason.startsWith('AA3')
  const data = {
    reason,
    ...(inner === null ? undefined : { revertData: Hex.fromBytes(inner) }),
    ...(ofPaymaster && paymaster !== null ? { paymaster } : undefined),
    ...(period === null ? undefined : { validUntil: Hex.fromQuantity(period.validUntil), validAfter: Hex.fromQuantity(period.validAfter) }),
  }
  return refuse(kind, innerReason === null ? reason : `${reason}: ${innerReason}`, data)
}

/** Returns the revert data of an RPC error; `null` if it has none. */
export function revertDataOf(error: unknown): Uint8Array | null {
  if (!(error instanceof RpcError)) return null
  const { data } = error
  const text = typeof data === 'object' && data !== null && 'data' in data ? data.data : data
  return Hex.isHex(text) && text.length % 2 === 0 ? Hex.toBytes(text) : null
}

/** The return value of a validation: authorizer (20 bytes), validUntil (6), validAfter (6), from the lowest. */
export interface ValidationData {
  /** `null` without an aggregator */
  readonly aggregator: Address | null
  readonly signatureFailed: boolean
  /** seconds, or blocks if `BLOCK_RANGE` is set; 0n without an end */
  readonly validUntil: bigint
  readonly validAfter: bigint
}
