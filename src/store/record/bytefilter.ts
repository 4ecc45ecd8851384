import type { LogFilter } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'

/** A LogFilter in bytes: null accepts anything, also that a log has no topic there; an empty list accepts nothing. */
export interface ByteFilter {
  /** 20 bytes each */
  readonly addresses: readonly Uint8Array[] | null
  /** 32 bytes each */
  readonly topics: readonly (readonly Uint8Array[] | null)[]
}

/** Matches what `matches` of the chain does with the filter itself. */
export function byteFilter({ addresses, topics }: LogFilter): ByteFilter {
  return { addresses: accepted(addresses), topics: topics.map(accepted) }
}

function accepted(values: ReadonlySet<Hex> | null): readonly Uint8Array[] | null {
  return values === null ? null : Array.from(values, (value) => Hex.toBytes(value))
}
