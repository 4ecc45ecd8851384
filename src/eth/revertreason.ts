import { Abi } from './abi.ts'
import { DecodeError, Hex } from './hex.ts'

export const RevertReason = { text }

const ERROR = Abi.selector('Error(string)')
const POST_OP_REVERTED = Abi.selector('PostOpReverted(bytes)')
const TEXT = new TextDecoder()

/** Returns the text of Error(string), also if an EntryPoint wraps it as the failure of postOp (since 0.7); `null` for other data. */
function text(revertData: Uint8Array): string | null {
  const ofPostOp = argumentOf(POST_OP_REVERTED, revertData)
  const bytes = argumentOf(ERROR, ofPostOp ?? revertData)
  if (bytes === null) return null
  return ofPostOp === null ? TEXT.decode(bytes) : `AA50 postOp reverted: ${TEXT.decode(bytes)}`
}

/** Returns the bytes or the string of an error with one argument; `null` for another error. */
function argumentOf(selector: Hex, revertData: Uint8Array): Uint8Array | null {
  if (Hex.fromBytes(revertData.subarray(0, 4)) !== selector) return null
  try {
    return Abi.Reader(revertData.subarray(4)).bytes(0)
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}
