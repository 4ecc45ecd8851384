import type { EntryPoint, Hash } from '../eth/index.ts'
import { JsonRecords, RpcError, UserOperationJson, schema } from '../jsonrpc/index.ts'
import type { Records, Schema } from '../jsonrpc/index.ts'
import { STORED_REFUSALS } from './limits.ts'
import type { Candidate } from './validation.ts'

/** An accepted operation that is not final yet, or was refused later. */
export interface StoredOperation {
  readonly candidate: Candidate
  readonly isBoosted: boolean
  /** `null` for one that waits or is in a block that a reorg may remove */
  readonly refusal: Refusal | null
}

/** Why an operation was refused after it had been accepted. */
export interface Refusal {
  readonly reason: RpcError
  readonly failedBundles: number
  readonly replacedBy: Hash | null
}

/** The operations of a bundler as records, so that a restart loses none. */
export class PoolRecords {
  readonly #records: Records
  #lastOrder = 0
  /** hashes of refused operations, oldest first */
  readonly #refused = new Set<Hash>()

  constructor(records: Records) {
    this.#records = records
  }

  /** Returns the stored operations, the last changed last. Unreadable ones are removed and reported, those of other EntryPoints are kept and reported. */
  load(entryPoints: readonly EntryPoint[], onNote: (line: string) => void): readonly StoredOperation[] {
    const found: (StoredOperation & { readonly order: number })[] = []
    for (const [key] of [...this.#records.entries(PREFIX)]) {
      try {
        const stored = read(key, JsonRecords.get(this.#records, key), entryPoints)
        if (stored !== null) found.push(stored)
        else onNote(`the stored user operation ${key} has an EntryPoint that is not supported; it waits for a start with it`)
      } catch (error) {
        onNote(`the stored user operation ${key} cannot be read and is dropped: ${error instanceof Error ? error.message : String(error)}`)
        this.#records.put(key, null)
      }
    }
    const sorted = found.toSorted((a, b) => a.order - b.order)
    this.#lastOrder = sorted.at(-1)?.order ?? this.#lastOrder
    for (const { candidate, refusal } of sorted) if (refusal !== null) this.#refused.add(candidate.hash)
    return sorted
  }

  /** Writes all puts and removals of `work` in one transaction. */
  together(work: () => void): void {
    JsonRecords.together(this.#records, work)
  }

  put({ candidate: { entryPoint, operation, hash }, isBoosted, refusal }: StoredOperation): void {
    JsonRecords.put(this.#records, PREFIX + hash, {
      order: ++this.#lastOrder,
      entryPoint: entryPoint.address,
      operation: UserOperationJson.write(operation, entryPoint.version),
      isBoosted,
      ...(refusal === null ? undefined : { refusal: refusalJson(refusal) }),
    })
    this.#refused.delete(hash)
    if (refusal === null) return
    this.#refused.add(hash)
    const [oldest] = this.#refused
    if (this.#refused.size > STORED_REFUSALS && oldest !== undefined) this.remove(oldest)
  }

  remove(hash: Hash): void {
    this.#refused.delete(hash)
    this.#records.put(PREFIX + hash, null)
  }

  clear(): void {
    this.#refused.clear()
    this.together(() => {
      for (const [key] of [...this.#records.entries(PREFIX)]) this.#records.put(key, null)
    })
  }
}

const PREFIX = 'bundler/operations/'

const { address, anything, boolean, maybe, mismatch, object, string, wholeNumber } = schema

/** Codes are negative. */
const errorCode: Schema<number> = {
  json: { type: 'integer' },
  parse: (value, path) => {
    if (typeof value !== 'number') throw mismatch(path, 'an error code', value)
    return value
  },
}
const REFUSAL = object({ code: errorCode, message: string, data: anything, failedBundles: wholeNumber, replacedBy: maybe(schema.hash) })
const STORED = object({
  order: wholeNumber,
  entryPoint: address,
  operation: anything,
  isBoosted: boolean,
  refusal: maybe(REFUSAL),
})

/** Returns `null` for another EntryPoint. Throws RpcError for a malformed record. */
function read(key: string, value: unknown, entryPoints: readonly EntryPoint[]): (StoredOperation & { readonly order: number }) | null {
  const { order, entryPoint: at, operation, isBoosted, refusal } = STORED.parse(value, 'record')
  const entryPoint = entryPoints.find((each) => each.address === at)
  if (entryPoint === undefined) return null
  return {
    order,
    candidate: {
      entryPoint,
      operation: UserOperationJson.read(operation, entryPoint.version, { partial: false }),
      hash: schema.hash.parse(key.slice(PREFIX.length), 'record'),
    },
    isBoosted,
    refusal: refusal === undefined ? null : readRefusal(refusal),
  }
}

function readRefusal({ code, message, data, failedBundles, replacedBy }: schema.Infer<typeof REFUSAL>): Refusal {
  return { reason: new RpcError(code, message, data), failedBundles, replacedBy: replacedBy ?? null }
}

function refusalJson({ reason: { code, message, data }, failedBundles, replacedBy }: Refusal) {
  return { code, message, data, failedBundles, ...(replacedBy === null ? undefined : { replacedBy }) }
}
