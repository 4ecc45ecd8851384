import { grouped, shortened, sizeOf, units } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { AddressLink } from './parts.tsx'
import type { StateDiffJson } from './trace.ts'

/** Slots of one account that are shown. */
const SHOWN_SLOTS = 100

interface Change {
  readonly what: string
  readonly key?: string
  readonly before: string
  readonly after: string
  readonly note?: string
}

/** The accounts that a transaction changed. */
export function StateDiff({ diff }: { diff: StateDiffJson }) {
  const accounts = Object.keys({ ...diff.pre, ...diff.post })
    .map((address) => ({ address, changes: changesOf(address, diff) }))
    .filter(({ changes }) => changes.length > 0)
  if (accounts.length === 0) return <p class="soft">It changed no account.</p>
  return (
    <div class="diff" data-testid="state-diff">
      {accounts.map(({ address, changes }) => (
        <section key={address} data-testid="changed-account" data-address={address}>
          <h3>
            <AddressLink address={address} whole />
          </h3>
          <dl class="rows">
            {changes.slice(0, SHOWN_SLOTS).map(({ what, key, before, after, note }) => (
              <div class="row" key={`${what} ${key}`} data-testid="change" data-what={what}>
                <dt>{what}</dt>
                <dd>
                  {key !== undefined && (
                    <span class="slot">
                      <Copy text={key} what="slot" shown={slotText(key)} />
                    </span>
                  )}
                  <Shown text={before} /> → <Shown text={after} /> {note !== undefined && <span class="soft">{note}</span>}
                </dd>
              </div>
            ))}
          </dl>
          {changes.length > SHOWN_SLOTS && <p class="soft">and {grouped(String(changes.length - SHOWN_SLOTS))} more changes</p>}
        </section>
      ))}
    </div>
  )
}

function Shown({ text }: { text: string }) {
  return text.startsWith('0x') && text.length > 20 ? <Copy text={text} what="value" shown={text} /> : <span class="amount">{text}</span>
}

function changesOf(address: string, { pre, post }: StateDiffJson): readonly Change[] {
  const [before, after] = [pre[address], post[address]]
  const isDeleted = after === undefined
  const changes: Change[] = []
  const balances = [BigInt(before?.balance ?? '0x0'), BigInt(after?.balance ?? (isDeleted ? '0x0' : (before?.balance ?? '0x0')))] as const
  if (balances[0] !== balances[1]) {
    const difference = balances[1] - balances[0]
    changes.push({
      what: 'balance',
      before: `${units(balances[0], 18)} ETH`,
      after: `${units(balances[1], 18)} ETH`,
      note: `${difference > 0n ? '+' : ''}${units(difference, 18)}`,
    })
  }
  const nonces = [before?.nonce ?? 0, after?.nonce ?? before?.nonce ?? 0] as const
  if (nonces[0] !== nonces[1]) changes.push({ what: 'nonce', before: String(nonces[0]), after: String(nonces[1]) })
  if (after?.code !== undefined && after.code !== before?.code) {
    changes.push({ what: 'code', before: sizeText(before?.code), after: sizeText(after.code), ...delegateNote(after.code) })
  }
  const slots = new Set([...Object.keys(before?.storage ?? {}), ...Object.keys(after?.storage ?? {})])
  for (const key of slots) {
    const values = [wordOf(before?.storage?.[key]), wordOf(after?.storage?.[key])] as const
    if (values[0] !== values[1]) changes.push({ what: 'slot', key, before: values[0], after: values[1] })
  }
  return changes
}

/** The slots of variables are small numbers, those of mappings are hashes. */
function slotText(key: string): string {
  return BigInt(key) < SMALL ? BigInt(key).toString() : shortened(key)
}

/** A slot without a value is zero: the tracer omits it. */
function wordOf(value: string | undefined): string {
  if (value === undefined || BigInt(value) === 0n) return '0'
  const number = BigInt(value)
  return number < SMALL ? number.toString() : value
}

/** Smaller values are shown as numbers. */
const SMALL = 2n ** 64n

function sizeText(code: string | undefined): string {
  return code === undefined || code === '0x' ? 'none' : `${grouped(String(sizeOf(code)))} bytes`
}

/** EIP-7702 */
function delegateNote(code: string): { readonly note?: string } {
  return code.startsWith('0xef0100') ? { note: `delegates to 0x${code.slice(8)}` } : {}
}
