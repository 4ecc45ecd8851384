import { Address, visibleText } from '../../eth/index.ts'

export { visibleText }

/** `0x7099…79C8`, in the letter case of its checksum. */
export function shortAddress(address: Address): string {
  const text = Address.checksum(address)
  return `${text.slice(0, 6)}…${text.slice(-4)}`
}

/** With a capital first letter, for a sentence that begins with a label. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** `1.5` for 1500000 with 6 decimals; commas between thousands, no rounding. null: in the smallest unit. */
export function amountText(amount: bigint, decimals: number | null): string {
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart((decimals ?? 0) + 1, '0')
  const whole = digits.slice(0, digits.length - (decimals ?? 0))
  const fraction = digits.slice(digits.length - (decimals ?? 0)).replace(/0+$/, '')
  return `${sign}${whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')}${fraction === '' || decimals === null ? '' : `.${fraction}`}`
}

/** A decoded ABI value on one line of about `maxChars` characters at most. */
export function valueText(value: unknown, maxChars: number): string {
  return Array.isArray(value) || (typeof value === 'object' && value !== null) ? listText(value, maxChars) : scalarText(value, maxChars)
}

function scalarText(value: unknown, maxChars: number): string {
  return visibleText(String(value), maxChars)
}

function listText(value: object, maxChars: number): string {
  const isList = Array.isArray(value)
  const parts: string[] = []
  let left = maxChars
  for (const [name, item] of Object.entries(value)) {
    if (left <= 0) {
      parts.push('…')
      break
    }
    const text = typeof item === 'string' && !item.startsWith('0x') ? JSON.stringify(valueText(item, left)) : valueText(item, left)
    parts.push(isList ? text : `${name}: ${text}`)
    left -= text.length + 2
  }
  return isList ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`
}
