import { Hex } from '../../eth/index.ts'
import { A_BALANCE, A_CODE_HASH, A_FLAGS, A_NONCE, DIRTY_ACCOUNTS, DIRTY_SLOTS, EXISTS, S_VALUE } from '../runtime/layout.ts'
import { markMiscompiled } from './modulecache.ts'
import { tier1 } from './settings.ts'
import type { TierHost, Tier } from './tier.ts'

/** Fields that must be equal in both tiers. */
export interface ComparableResult {
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

/** An instance whose state can be reverted. */
interface ShadowedHost extends TierHost {
  readonly runtime: TierHost['runtime'] & Runtime
  word(at: number): bigint
}

/**
 * Runs a message in the interpreter, reverts it, runs it compiled and compares. On a mismatch the interpreter's result is returned and the
 * codes involved are interpreted from then on.
 */
export function runInShadowMode<Result extends ComparableResult>(
  host: ShadowedHost,
  tier: Tier,
  rules: Uint8Array,
  run: () => Result,
): Result {
  const { runtime } = host
  const [logTop, logCount, refund] = [runtime.logTop.value, runtime.logCount.value, runtime.refund.value]
  const mark = runtime.checkpoint()
  const restore = () => {
    runtime.revertTo(mark)
    runtime.setLogs(logTop, logCount)
    runtime.setRefund(refund)
  }
  const interpret = () => {
    tier.prepare(rules, false)
    return run()
  }
  const expected = interpret()
  const expectedState = stateOf(host)
  restore()
  tier.prepare(rules, true)
  const actual = run()
  const difference = differenceOf(expected, actual) ?? stateDifference(expectedState, stateOf(host))
  if (difference === null) return expected
  reportMismatch(tier, difference)
  restore()
  return interpret()
}

/** Reports a mismatch or a trap. The codes that ran compiled in the last message are interpreted from then on. */
export function reportMismatch(tier: Tier, difference: string): void {
  const hashes = [...tier.ranInLastMessage()]
  for (const hash of hashes) markMiscompiled(hash)
  tier.uninstallAll()
  tier1.settings.onMismatch(`${difference}; interpreted from now on: ${hashes.join(', ')}`)
}

const FIELDS: readonly (readonly [string, (result: ComparableResult) => string])[] = [
  ['outcome', ({ outcome }) => outcome.kind],
  ['output', ({ outcome, output }) => (outcome.kind === 'halt' ? '' : Hex.fromBytes(output))],
  ['gas', ({ gasUsed }) => String(gasUsed)],
  ['refund', ({ refund }) => String(refund)],
  ['logs', ({ logs }) => JSON.stringify(logs, (_, value: unknown) => (value instanceof Uint8Array ? [...value] : value))],
  ['destroyed accounts', ({ destroyed }) => destroyed.toSorted().join()],
]

/** Halt reasons may differ: compiled code charges a segment before running it. */
function differenceOf(expected: ComparableResult, actual: ComparableResult): string | null {
  for (const [name, text] of FIELDS) {
    const [a, b] = [text(expected), text(actual)]
    if (a !== b) return `compiled code comes to another ${name}: ${truncate(b)} instead of ${truncate(a)}`
  }
  return null
}

/** Values of all dirty entries, by entry pointer. */
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

function stateDifference(expected: ReadonlyMap<number, string>, actual: ReadonlyMap<number, string>): string | null {
  for (const [entry, value] of actual) {
    if (expected.get(entry) !== value)
      return `compiled code writes another state: ${value} instead of ${expected.get(entry) ?? 'what was there'}`
  }
  return null
}

function truncate(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
