import { Hex } from '../../eth/index.ts'
import { A_BALANCE, A_CODE_HASH, A_FLAGS, A_NONCE, DIRTY_ACCOUNTS, DIRTY_SLOTS, EXISTS, S_VALUE } from '../runtime/layout.ts'
import { distrust } from './forms.ts'
import { tier1 } from './settings.ts'
import type { Host, Tier } from './tier.ts'

/** What of a run's result both tiers have to agree on. */
export interface Comparable {
  readonly outcome: { readonly kind: string }
  readonly output: Uint8Array
  readonly gasUsed: bigint
  readonly refund: bigint
  readonly logs: readonly unknown[]
  readonly destroyed: readonly string[]
}

interface Runtime {
  checkpoint(): number
  revertTo(mark: number): void
  dirtyAccounts(): number
  dirtySlots(): number
  setLogs(top: number, count: number): void
  setRefund(refund: bigint): void
  readonly logTop: { readonly value: number }
  readonly logCount: { readonly value: number }
  readonly refund: { readonly value: bigint }
}

/** An instance that can be put back to where it was. */
export interface ShadowedHost extends Host {
  readonly runtime: Host['runtime'] & Runtime
  word(at: number): bigint
}

/**
 * Runs a message in the interpreter, takes everything back, runs it with compiled code and compares. What the interpreter says holds; when
 * they differ, somebody is told and the codes that took part are interpreted from then on.
 */
export function inShadow<Result extends Comparable>(host: ShadowedHost, tier: Tier, rules: Uint8Array, run: () => Result): Result {
  const { runtime } = host
  const [logTop, logCount, refund] = [runtime.logTop.value, runtime.logCount.value, runtime.refund.value]
  const mark = runtime.checkpoint()
  const putBack = () => {
    runtime.revertTo(mark)
    runtime.setLogs(logTop, logCount)
    runtime.setRefund(refund)
  }
  const interpret = () => {
    tier.prepare(rules, true)
    return run()
  }
  const wanted = interpret()
  const wantedState = stateOf(host)
  putBack()
  tier.prepare(rules)
  const found = run()
  const difference = differenceOf(wanted, found) ?? stateDifference(wantedState, stateOf(host))
  if (difference === null) return wanted
  report(tier, difference)
  putBack()
  return interpret()
}

/** For traps too: what ran compiled in the last message is interpreted from now on. */
export function report(tier: Tier, difference: string): void {
  const hashes = [...tier.ranLast()]
  for (const hash of hashes) distrust(hash)
  tier.dismissAll()
  tier1.settings.onDifference(`${difference}; interpreted from now on: ${hashes.join(', ')}`)
}

const FIELDS: readonly (readonly [string, (result: Comparable) => string])[] = [
  ['outcome', ({ outcome }) => outcome.kind],
  ['output', ({ outcome, output }) => (outcome.kind === 'halt' ? '' : Hex.fromBytes(output))],
  ['gas', ({ gasUsed }) => String(gasUsed)],
  ['refund', ({ refund }) => String(refund)],
  ['logs', ({ logs }) => JSON.stringify(logs, (_, value: unknown) => (value instanceof Uint8Array ? [...value] : value))],
  ['destroyed accounts', ({ destroyed }) => destroyed.toSorted().join()],
]

/** The reason of a halt may differ: compiled code pays for a stretch before it runs it. */
function differenceOf(wanted: Comparable, found: Comparable): string | null {
  for (const [name, text] of FIELDS) {
    const [a, b] = [text(wanted), text(found)]
    if (a !== b) return `compiled code comes to another ${name}: ${cut(b)} instead of ${cut(a)}`
  }
  return null
}

/** Values of all entries that were changed since the table was settled, by the place of the entry. */
function stateOf(host: ShadowedHost): Map<number, string> {
  const state = new Map<number, string>()
  for (let i = host.runtime.dirtyAccounts() - 1; i >= 0; i--) {
    const entry = host.u32(DIRTY_ACCOUNTS + 4 * i)
    const exists = (host.u32(entry + A_FLAGS) & EXISTS) !== 0
    const fields = [host.u32(entry + A_NONCE), host.u32(entry + A_NONCE + 4), host.word(entry + A_BALANCE), host.word(entry + A_CODE_HASH)]
    state.set(entry, exists ? fields.join() : '')
  }
  for (let i = host.runtime.dirtySlots() - 1; i >= 0; i--) {
    const entry = host.u32(DIRTY_SLOTS + 4 * i)
    state.set(entry, String(host.word(entry + S_VALUE)))
  }
  return state
}

function stateDifference(wanted: ReadonlyMap<number, string>, found: ReadonlyMap<number, string>): string | null {
  for (const [entry, value] of found) {
    if (wanted.get(entry) !== value)
      return `compiled code writes another state: ${value} instead of ${wanted.get(entry) ?? 'what was there'}`
  }
  return null
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
