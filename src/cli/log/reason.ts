import { Hex, visibleText } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { AbiTable } from './abis.ts'
import { LINE_CHARS } from './limits.ts'
import { argumentsText, shortened } from './values.ts'

/** Characters of revert data that are shown when no ABI has its selector. */
const DATA_CHARS = 2 + 2 * 68

/** True for data that can be decoded only with an ABI. */
export function isCustomError(data: Uint8Array): boolean {
  return data.length >= 4 && revertReason(data) === null
}

/** Returns the meaning of revert data on one line: the text of Error(string), the panic, the custom error with its arguments, or the data. */
export function reasonText(data: Uint8Array, abis: AbiTable): string {
  if (data.length === 0) return 'reverted without a reason'
  const reason = revertReason(data)
  const hex = Hex.fromBytes(data)
  if (reason !== null) return hex.startsWith(PANIC) ? panicText(reason, hex) : visibleText(reason, LINE_CHARS)
  const decoded = abis.decode('error', hex)
  if (decoded !== null) return shortened(`${decoded.fragment.name}(${argumentsText(decoded.args)})`)
  const shown = hex.length > DATA_CHARS ? `${hex.slice(0, DATA_CHARS)}…` : hex
  return data.length < 4 ? `reverted with ${shown}` : `unknown error ${hex.slice(0, 10)}, data ${shown} (give its ABI with --abi)`
}

const PANIC = '0x4e487b71'

/** As forge prints it: `panic: arithmetic underflow or overflow (0x11)`. */
function panicText(reason: string, hex: Hex): string {
  const code = BigInt(`0x${hex.slice(PANIC.length, PANIC.length + 64)}`).toString(16)
  return `panic: ${reason} (0x${code.padStart(2, '0')})`
}
