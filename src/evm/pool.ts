import { Instance } from './instance.ts'
import { FOLLOWED_KEYS_MAX, GROWN_BYTES_MAX, IDLE_INSTANCES_MAX, INSTANCES_BEFORE_MOVING } from './limits.ts'
import { MEMORY } from './runtime/layout.ts'
import type { StateReader } from './state.ts'

/** Instances that nobody has, the one that was used last at the end. */
const idle: Record<'fast' | 'traced', Instance[]> = { fast: [], traced: [] }

/**
 * An instance whose tables hold nothing but what `reader` says. Best is one that was at this very state last; then the
 * one that has rested longest follows, key by key, what changed since. So `latest` and `pending` keep one each.
 */
export function lease(reader: StateReader, isTraced: boolean): Instance {
  const resting = idle[isTraced ? 'traced' : 'fast']
  for (let i = resting.length - 1; i >= 0; i--) {
    const instance = resting[i] as Instance // below its length
    if (!isAt(instance, reader)) continue
    if (i === resting.length - 1) resting.pop()
    else resting.splice(i, 1)
    instance.reader = reader
    return instance
  }
  const rested = resting.length < INSTANCES_BEFORE_MOVING ? undefined : resting.shift()
  const instance = rested ?? new Instance(isTraced)
  follow(instance, reader)
  return instance
}

/** Takes back what ran, whereupon its tables hold what its reader says, and puts it into the pool. */
export function giveBack(instance: Instance): void {
  // Wasm memory never shrinks, so one that had to hold very much makes way for a new one.
  if (!instance.release() || instance.bytes.length > MEMORY + GROWN_BYTES_MAX) return
  const resting = idle[instance.isTraced ? 'traced' : 'fast']
  resting.push(instance)
  if (resting.length > IDLE_INSTANCES_MAX) resting.shift()
}

function isAt({ reader }: Instance, wanted: StateReader): boolean {
  return wanted.moment !== undefined && reader.moment === wanted.moment
}

/** What may differ at `reader` is asked for again when it is needed; when nobody knows what differs, everything is. */
function follow(instance: Instance, reader: StateReader): void {
  const changed = reader.changedSince?.(instance.reader, FOLLOWED_KEYS_MAX) ?? null
  instance.reader = reader
  if (changed === null) return instance.forget()
  for (const { address, slot } of changed) instance.stale(address, slot)
}
