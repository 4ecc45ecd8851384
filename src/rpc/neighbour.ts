import { CODE, RpcError } from './errors.ts'
import { method } from './method.ts'
import type { JsonSchema, Method, PageControl, Param, Schema } from './method.ts'
import { anything } from './schema.ts'

/** A room beside the node that answers rows of its table. */
export type Neighbour = 'bundler' | 'sponsor'

export interface NeighbourRow {
  readonly name: string
  readonly doc: string
  readonly params: readonly Param<unknown>[]
  readonly result: JsonSchema
  readonly example: Method['example']
  readonly errors?: Readonly<Record<number, string>>
  readonly control?: PageControl
}

/** Makes rows that a neighbour answers, as it was asked. Whoever that is, what it calls hex may hold anything. */
export function rowsOf(neighbour: Neighbour): (row: NeighbourRow) => Method {
  return ({ errors, ...row }) => ({
    ...method({
      ...row,
      errors: {
        ...errors,
        ...(row.control === undefined ? undefined : { [CODE.unauthorized]: CONTROL_ERRORS[row.control] }),
        [CODE.methodNotFound]: `the node runs without a ${neighbour}`,
      },
      handler: ({ [neighbour]: port }, params) => {
        if (port !== null) return port.request({ method: row.name, params })
        throw new RpcError(CODE.methodNotFound, `the method ${row.name} is not available: there is no ${neighbour}`)
      },
    }),
    isHex: false,
  })
}

const CONTROL_ERRORS: Readonly<Record<PageControl, string>> = {
  always: 'the request has an Origin and no control credential',
  'with-arguments': 'the request has an Origin and no control credential, and an argument is given',
}

/** What a parameter is: told here, checked by the neighbour. */
export function told(json: JsonSchema): Schema<unknown> {
  return { json, parse: anything.parse }
}
