import { visibleText } from '../../eth/index.ts'
import type { DecodedArgument } from './abis.ts'
import { LINE_CHARS } from './limits.ts'

/** `to: 0x7099…, amount: 5`; parameters without a name have their value only. */
export function argumentsText(args: readonly DecodedArgument[]): string {
  return shortened(
    args.map(({ name, type, value }) => (isUnnamed(name) ? valueText(value, type) : `${name}: ${valueText(value, type)}`)).join(', '),
  )
}

/** A decoded ABI value on one line, with control characters escaped and strings in quotes. */
export function valueText(value: unknown, type: string): string {
  if (Array.isArray(value))
    return shortened(
      `[${value
        .slice(0, LINE_CHARS)
        .map((item) => valueText(item, type.replace(/\[\d*\]$/, '')))
        .join(', ')}]`,
    )
  if (typeof value === 'object' && value !== null) {
    return shortened(
      `{ ${Object.entries(value)
        .map(([name, item]) => `${name}: ${valueText(item, typeof item === 'string' && !item.startsWith('0x') ? 'string' : '')}`)
        .join(', ')} }`,
    )
  }
  return type === 'string' ? `"${visibleText(String(value), LINE_CHARS)}"` : shortened(String(value))
}

/** Cuts text that has no control characters. */
export function shortened(text: string): string {
  return text.length > LINE_CHARS ? `${text.slice(0, LINE_CHARS)}…` : text
}

function isUnnamed(name: string): boolean {
  return /^arg\d+$/.test(name)
}
