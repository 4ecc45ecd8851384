import { Hex } from '../../eth/index.ts'

/** An account as prestateTracer writes it. */
interface Prestate {
  readonly balance?: Hex
  /** a number; absent: 0 */
  readonly nonce?: number
  readonly code?: Hex
  /** words that are not zero */
  readonly storage?: Readonly<Record<string, Hex>>
}

/** The result of prestateTracer with diffMode: what changed, before and after. */
interface PrestateDiff {
  readonly pre: Readonly<Record<string, Prestate>>
  readonly post: Readonly<Record<string, Prestate>>
}

/** OpenEthereum's form of a change: unchanged, added, removed, changed. */
type Change = '=' | { readonly '+': Hex } | { readonly '-': Hex } | { readonly '*': { readonly from: Hex; readonly to: Hex } }

interface AccountDiff {
  readonly balance: Change
  readonly code: Change
  readonly nonce: Change
  readonly storage: Readonly<Record<string, Change>>
}

export type ParityStateDiff = Readonly<Record<string, AccountDiff>>

const ZERO_WORD: Hex = `0x${'0'.repeat(64)}`

export function stateDiffOf({ pre, post }: PrestateDiff): ParityStateDiff {
  const addresses = [...new Set([...Object.keys(pre), ...Object.keys(post)])].toSorted()
  return Object.fromEntries(addresses.map((address) => [address, accountDiff(pre[address], post[address])]))
}

function accountDiff(before: Prestate | undefined, after: Prestate | undefined): AccountDiff {
  const isNew = before === undefined || isEmpty(before)
  if (isNew && after !== undefined) return whole(after, '+')
  if (after === undefined) return whole(before ?? {}, '-')
  const { balance = '0x0', nonce = 0, code = '0x', storage = {} } = before ?? {}
  const slots = [...new Set([...Object.keys(storage), ...Object.keys(after.storage ?? {})])].toSorted()
  return {
    balance: changed(balance, after.balance),
    code: changed(code, after.code),
    nonce: changed(Hex.fromQuantity(nonce), after.nonce === undefined ? undefined : Hex.fromQuantity(after.nonce)),
    storage: Object.fromEntries(
      slots.map((slot) => [slot, { '*': { from: storage[slot] ?? ZERO_WORD, to: after.storage?.[slot] ?? ZERO_WORD } }]),
    ),
  }
}

function isEmpty({ balance = '0x0', nonce = 0, code = '0x', storage = {} }: Prestate): boolean {
  return BigInt(balance) === 0n && nonce === 0 && code === '0x' && Object.keys(storage).length === 0
}

function whole({ balance = '0x0', nonce = 0, code = '0x', storage = {} }: Prestate, sign: '+' | '-'): AccountDiff {
  const of = (value: Hex) => ({ [sign]: value }) as unknown as Change // one of its two forms
  return {
    balance: of(balance),
    code: of(code),
    nonce: of(Hex.fromQuantity(nonce)),
    storage: Object.fromEntries(Object.entries(storage).map(([slot, word]) => [slot, of(word)])),
  }
}

/** `after`: absent if it is unchanged. */
function changed(before: Hex, after: Hex | undefined): Change {
  return after === undefined || after === before ? '=' : { '*': { from: before, to: after } }
}
