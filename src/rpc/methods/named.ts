import { method } from '../method.ts'
import type { Method, MethodRow, Param } from '../method.ts'
import { BOOLEAN, NULL } from '../../jsonrpc/jsonschema.ts'

// Other dev nodes have the same methods under different prefixes. Each name has its own row.

/** The prefixes of viem's test client in its three modes. */
const FAMILIES = ['anvil', 'hardhat', 'ganache']

/** `anvil_x`, `hardhat_x` and `ganache_x`. */
export function prefixed(name: string): readonly string[] {
  return FAMILIES.map((family) => `${family}_${name}`)
}

/** Returns one row for each name. */
export function named<const P extends readonly Param<unknown>[]>(
  names: readonly string[],
  row: Omit<MethodRow<P>, 'name'>,
): readonly Method[] {
  return names.map((name) => method({ ...row, name }))
}

type Command<P extends readonly Param<unknown>[]> = Omit<MethodRow<P>, 'name' | 'result' | 'example'> & {
  readonly example: readonly unknown[]
}

/** Returns methods without a result: null as in anvil, `true` under the prefixes of the other nodes. */
export function voidMethods<const P extends readonly Param<unknown>[]>(
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

/** The methods of hardhat and ganache. */
const ANSWERS_TRUE = /^(hardhat_|ganache_|miner_|evm_setAccount)/
