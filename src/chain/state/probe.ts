import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Account, StateKey, StateReader } from '../../evm/index.ts'
import { PROBE_KEYS, PROBE_MS } from '../limits.ts'
import { MissingState } from './basestate.ts'
import type { MissingKey } from './basestate.ts'
import { UpstreamError } from './upstreamerror.ts'

/**
 * Collects the keys that a run misses. The run continues with guesses (no account, a slot of zero), so that one round fetches most of the keys. A guess can
 * lead a program into a loop, so the run ends `limitMs` after its first miss.
 */
export class Probe {
  readonly #keys = new Map<string, MissingKey>()
  readonly #limitMs: number
  #endMs = Number.POSITIVE_INFINITY

  constructor(limitMs: number = PROBE_MS) {
    this.#limitMs = limitMs
  }

  get keys(): readonly MissingKey[] {
    return [...this.#keys.values()]
  }

  /** Runs `work` and collects what it misses. Errors after a guess are ignored, which can cause any. Throws UpstreamError. */
  run(work: () => unknown): void {
    try {
      work()
    } catch (error) {
      if (error instanceof MissingState) this.#add(error)
      else if (error instanceof UpstreamError && this.#keys.size === 0) throw error
    }
  }

  /** Returns the value of `read`, or `guess` if it is missing. Throws MissingState when the run has to end. */
  read<T>(read: () => T, guess: T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof MissingState)) throw error
      this.#add(error)
      if (this.#keys.size >= PROBE_KEYS || performance.now() > this.#endMs) throw error
      return guess
    }
  }

  #add({ keys }: MissingState): void {
    if (this.#keys.size === 0) this.#endMs = performance.now() + this.#limitMs
    for (const key of keys) this.#keys.set(JSON.stringify(key), key)
  }
}

/** Reads through `reader` and guesses what is missing. It has no identity: no cache may hold a guess. */
export class ProbingReader implements StateReader {
  readonly #reader: StateReader
  readonly #probe: Probe

  constructor(reader: StateReader, probe: Probe) {
    this.#reader = reader
    this.#probe = probe
  }

  account(address: Address): Account | null {
    return this.#probe.read(() => this.#reader.account(address), null)
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    return codeHash === EMPTY_CODE_HASH ? new Uint8Array() : this.#reader.code(codeHash, owner)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#probe.read(() => this.#reader.storage(address, slot), 0n)
  }

  slots(address: Address): Iterable<Hash> {
    return this.#reader.slots(address)
  }

  changedSince(): readonly StateKey[] | null {
    return null
  }
}
