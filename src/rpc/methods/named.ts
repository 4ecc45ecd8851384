import { method } from '../method.ts'
import type { Method, MethodRow, Param } from '../method.ts'
import { BOOLEAN, NULL } from '../../jsonrpc/jsonschema.ts'

// Other dev nodes have the same methods under different prefixes. Each name has a row of its own, made from one description.

/** The prefixes under which viem's test client asks in its three modes. */
const FAMILIES = ['anvil', 'hardhat', 'ganache']

/** `anvil_x`, `hardhat_x` and `ganache_x`. */
export function familiar(name: string): readonly string[] {
  return FAMILIES.map((family) => `${family}_${name}`)
}

/** One row under each of its names. */
export function named<const P extends readonly Param<unknown>[]>(
  names: readonly string[],
  row: Omit<MethodRow<P>, 'name'>,
): readonly Method[] {
  return names.map((name) => method({ ...row, name }))
}

/** A command without the parts that all commands share. */
type Command<P extends readonly Param<unknown>[]> = Omit<MethodRow<P>, 'name' | 'result' | 'example'> & {
  readonly example: readonly unknown[]
}

/** Methods without a result: they answer null like anvil, and under the other prefixes `true` like those nodes. */
export function commands<const P extends readonly Param<unknown>[]>(
  names: readonly string[],
  { example, handler, ...row }: Command<P>,
): readonly Method[] {
  return names.map((name) => {
    const answer = ANSWERS_TRUE.test(name) ? true : null
    return method<P>({
      ...row,
      name,
      result: answer === null ? NULL : BOOLEAN,
      example: { params: example, result: answer },
      handler: async (context, args, caller, isAlone) => {
        await handler(context, args, caller, isAlone)
        return answer
      },
    })
  })
}

/** The whole families of hardhat and ganache, and what only ganache had. */
const ANSWERS_TRUE = /^(hardhat_|ganache_|miner_|evm_setAccount)/
