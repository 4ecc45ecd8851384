import type { LogFilter } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'

/** A LogFilter in bytes. `null` accepts any value and absence; an empty list accepts nothing. */
export interface ByteFilter {
  /** 20 bytes each */
  readonly addresses: readonly Uint8Array[] | null
  /** 32 bytes each */
  readonly topics: readonly (readonly Uint8Array[] | null)[]
}

/** Accepts the same logs as `matches` of the chain. */
export function byteFilter({ addresses, topics }: LogFilter): ByteFilter {
  return { addresses: accepted(addresses), topics: topics.map(accepted) }
}

/** Returns whether the filter accepts all logs. */
export function acceptsAll({ addresses, topics }: ByteFilter): boolean {
  return addresses === null && topics.every((values) => values === null)
}

function accepted(values: ReadonlySet<Hex> | null): readonly Uint8Array[] | null {
  return values === null ? null : Array.from(values, (value) => Hex.toBytes(value))
}
