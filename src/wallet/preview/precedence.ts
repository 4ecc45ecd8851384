import { Address, Hex } from '../../eth/index.ts'
import type { Call } from '../batches/call.ts'
import { decodeCall } from './abis.ts'
import { PERMIT2 } from './labels.ts'
import type { AssetMovement, Grant, Movements } from './movements.ts'

/** Movements in the order in which they are read and shown. */
export interface OrderedMovements extends Movements {
  /** number of grants, at the beginning, that the calls themselves request, at most one for each call */
  readonly requestedCount: number
}

/**
 * Orders movements so that contracts that log forged ones cannot push real ones over a limit. A real allowance comes from a call of the account to the
 * token, or from a signature: first are grants to the spenders that the calls name, then those of tokens that the account calls and of Permit2, whose logs are
 * its own, then all others. Each group, and the outflows and inflows of assets, have one of each token in turn.
 */
export function orderedMovements({ ether, assets, grants }: Movements, calls: readonly Call[]): OrderedMovements {
  const requested = new Set(calls.flatMap(requestedGrant))
  const called = new Set(calls.map(({ to }) => to))
  const own = grants.filter((grant) => requested.has(keyOf(grant)))
  const others = grants.filter((grant) => !requested.has(keyOf(grant)))
  const isCalled = ({ kind, token }: Grant): boolean => kind === 'permit2' || called.has(token)
  return {
    ether,
    assets: assetsInOrder(assets, called),
    grants: [
      ...inTurn(own, keyOf),
      ...inTurn(others.filter(isCalled), tokenOf),
      ...inTurn(
        others.filter((grant) => !isCalled(grant)),
        tokenOf,
      ),
    ],
    requestedCount: new Set(own.map(keyOf)).size,
  }
}

/** One item of each key in turn, the keys and the items of one key in their order. */
export function inTurn<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const counts = new Map<string, number>()
  const turns = items.map((item) => {
    const turn = counts.get(keyOf(item)) ?? 0
    counts.set(keyOf(item), turn + 1)
    return { item, turn }
  })
  return turns.toSorted((a, b) => a.turn - b.turn).map(({ item }) => item)
}

/** Outflows first. */
function assetsInOrder(assets: readonly AssetMovement[], called: ReadonlySet<Address | null>): readonly AssetMovement[] {
  const groups = [true, false].flatMap((isOutflow) =>
    [true, false].map((isCalled) => assets.filter(({ token, amount }) => amount <= 0n === isOutflow && called.has(token) === isCalled)),
  )
  return groups.flatMap((group) => inTurn(group, tokenOf))
}

function tokenOf({ token }: Pick<Grant, 'token'>): Address {
  return token
}

/** The key of the grant that a call requests by its arguments; empty if it requests none, or in an unknown way. */
function requestedGrant({ to, data }: Call): readonly string[] {
  const args = to === null || data.length < 4 ? [] : (decodeCall(Hex.fromBytes(data))?.args ?? [])
  const spender = args.find(({ name }) => name === 'spender' || name === 'operator')?.value
  return Address.isAddress(spender) ? [`${to} ${Address.from(spender)}`] : []
}

/** Contract and spender: several items of one collection have one key. */
function keyOf({ kind, token, spender }: Grant): string {
  return `${kind === 'permit2' ? PERMIT2 : token} ${spender}`
}
