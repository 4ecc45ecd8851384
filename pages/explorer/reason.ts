import { IDS, grouped } from '../wallet/format.ts'
import { decodeError, errorSentence } from './abi.ts'
import type { Decoded } from './abi.ts'
import type { CallJson } from './trace.ts'

/** Characters of a reason that are shown; the output of the call has all of them. */
const REASON_CHARACTERS = 2_000

/** Returns the contract whose ABI would decode the revert data of a failed call, or null if they are decoded or absent. */
export function undecodedOrigin(call: CallJson): string | null {
  const { output = '0x' } = call
  if (output.length < 10) return null
  const origins = originsOf(call)
  return origins.some((address) => decodeError(address, output) !== null) ? null : (origins.at(-1) ?? null)
}

/** Returns the reason of a failed call in words: its revert data decoded, else the error of the tracer. */
export function reasonOf(call: CallJson): string {
  const { output, error = '', revertReason } = call
  for (const address of originsOf(call)) {
    const decoded = decodeError(address, output ?? '0x')
    if (decoded !== null) return clipped(textOf(decoded))
  }
  return clipped(revertReason === undefined ? error : `${error}: ${revertReason}`)
}

/** Returns the reason that revert data give. `address`: the contract whose ABI may describe them. */
export function reasonOfData(address: string, data: string): string {
  const decoded = /^0x([0-9a-f]{2})*$/i.test(data) ? decodeError(address, data) : null
  if (decoded !== null) return clipped(textOf(decoded))
  return data === '' || data === '0x' ? 'It reverted without data.' : clipped(data)
}

/** Returns the reason that the revert data of a user operation give, also if the EntryPoint wraps those of postOp. `sender`: the account. */
export function reasonOfOperation(sender: string, data: string): string {
  const ofPostOp = POST_OP_REVERTED.exec(data)
  if (ofPostOp === null) return reasonOfData(sender, data)
  const [, chars = '', rest = ''] = ofPostOp
  return `AA50 postOp reverted: ${reasonOfData(sender, `0x${rest.slice(0, 2 * Number(`0x${chars}`))}`)}`
}

/** PostOpReverted(bytes): selector, offset, length, bytes. */
const POST_OP_REVERTED = /^0xad7954bc0{62}20([0-9a-f]{64})([0-9a-f]*)$/i

/** The called contract and those inside whose revert data it forwarded: the ABI of each may describe them. */
function originsOf(call: CallJson): readonly (string | null)[] {
  const origins: (string | null)[] = []
  for (let at: CallJson | undefined = call; at !== undefined;) {
    origins.push(at.to ?? null)
    const { output }: CallJson = at
    at =
      output === undefined || output === '0x'
        ? undefined
        : at.calls?.findLast((inner) => inner.error !== undefined && inner.output === output)
  }
  return origins
}

function textOf(decoded: Decoded): string {
  const sentence = errorSentence(decoded)
  if (sentence === null) return customErrorText(decoded)
  return `${decoded.name === 'Error' ? 'reverted: ' : ''}${sentence}`
}

/** Such as `TooDear(1,500, 100)`, with the digits grouped as in the arguments of a call. */
export function customErrorText({ name, inputs }: Decoded): string {
  return `${name}(${inputs.map((input) => valueText(input.value, input.name)).join(', ')})`
}

function valueText(value: unknown, name: string): string {
  if (Array.isArray(value)) return `[${value.map((item) => valueText(item, name)).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `(${Object.entries(value)
      .map(([field, each]) => valueText(each, field))
      .join(', ')})`
  const isQuantity = (typeof value === 'bigint' || typeof value === 'number') && !IDS.has(name)
  return isQuantity ? grouped(String(value)) : String(value)
}

function clipped(text: string): string {
  return text.length > REASON_CHARACTERS ? `${text.slice(0, REASON_CHARACTERS)} …` : text
}
