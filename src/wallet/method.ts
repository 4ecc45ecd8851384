import type { JsonSchema, Param, Values } from '../rpc/index.ts'
import type { WalletContext } from './context.ts'
import type { Subscriptions } from './subscriptions.ts'

/** Who asks, and how long the answer is wanted. */
export interface Asker {
  /** as the browser named it; `local` in process */
  readonly origin: string
  /** aborted when the one who asked has gone: a question that waits for an answer is then withdrawn */
  readonly signal: AbortSignal | null
  /** of the asker's provider; absent: it cannot be told anything, as over HTTP */
  readonly subscriptions?: Subscriptions | null
}

/** One method of the provider: everything about it stands in one row. Dispatch and docs are made from it. */
export interface WalletMethodRow<P extends readonly Param<unknown>[]> {
  readonly name: string
  /** one sentence */
  readonly doc: string
  readonly params: P
  /** the first parameter may come without the list around it, as EIP-747 has it */
  readonly isBare?: true
  /** JSON Schema of the result, or a Schema's `json` */
  readonly result: JsonSchema
  readonly example: { readonly params: readonly unknown[]; readonly result: unknown }
  /** codes beyond -32602 that this method answers, with when */
  readonly errors?: Readonly<Record<number, string>>
  /** answers JSON-ready values; may be async; throws RpcError */
  readonly handler: (wallet: WalletContext, args: Values<P>, asker: Asker) => unknown
}

/** A row with its parameter types forgotten: what the table holds. */
export type WalletMethod = Omit<WalletMethodRow<readonly Param<unknown>[]>, 'handler'> & {
  readonly handler: (wallet: WalletContext, args: readonly unknown[], asker: Asker) => unknown
}

/** Types the handler's arguments from the row's params. The cast is safe: dispatch parses with these very schemas. */
export function walletMethod<const P extends readonly Param<unknown>[]>(row: WalletMethodRow<P>): WalletMethod {
  return row as unknown as WalletMethod
}
