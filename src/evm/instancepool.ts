import { Instance } from './instance.ts'
import { INVALIDATED_KEYS_MAX, IDLE_GROWTH_BYTES_MAX, IDLE_INSTANCES_MAX, IDLE_BEFORE_REUSE } from './limits.ts'
import { MEMORY } from './runtime/layout.ts'
import type { StateReader } from './state.ts'

/** Idle instances, most recently used last. */
const idle: Record<'fast' | 'traced', Instance[]> = { fast: [], traced: [] }

/**
 * Returns an instance whose tables agree with `reader`: preferably one that read the same state last; otherwise the least recently used
 * one, with the changed keys invalidated. So `latest` and `pending` keep one instance each.
 */
export function acquireInstance(reader: StateReader, isTraced: boolean): Instance {
  const idleInstances = idle[isTraced ? 'traced' : 'fast']
  for (let i = idleInstances.length - 1; i >= 0; i--) {
    const instance = idleInstances[i] as Instance // below its length
    if (!readsSameState(instance, reader)) continue
    if (i === idleInstances.length - 1) idleInstances.pop()
    else idleInstances.splice(i, 1)
    instance.reader = reader
    return instance
  }
  const reused = idleInstances.length < IDLE_BEFORE_REUSE ? undefined : idleInstances.shift()
  const instance = reused ?? new Instance(isTraced)
  switchState(instance, reader)
  return instance
}

/** Reverts the instance to its reader's state and returns it to the pool. */
export function releaseInstance(instance: Instance): void {
  // Wasm memory never shrinks: an instance that has grown large is replaced by a new one.
  if (!instance.release() || instance.bytes.length > MEMORY + IDLE_GROWTH_BYTES_MAX) return
  const idleInstances = idle[instance.isTraced ? 'traced' : 'fast']
  idleInstances.push(instance)
  if (idleInstances.length > IDLE_INSTANCES_MAX) idleInstances.shift()
}

function readsSameState(instance: Instance, reader: StateReader): boolean {
  return reader.identity !== undefined && instance.reader.identity === reader.identity
}

/** Invalidates the keys that may differ at `reader`; all of them if the difference is unknown. */
function switchState(instance: Instance, reader: StateReader): void {
  const changed = reader.changedSince?.(instance.reader, INVALIDATED_KEYS_MAX) ?? null
  instance.reader = reader
  if (changed === null) return instance.clear()
  for (const { address, slot } of changed) instance.invalidate(address, slot)
}
