import { Hex } from '../../eth/index.ts'

/** 16 random bytes as a quantity, as geth names filters and subscriptions; unguessable, so that one client cannot use the id of another. */
export function randomId(): Hex {
  const words = crypto.getRandomValues(new BigUint64Array(2))
  return Hex.fromQuantity(((words[0] ?? 0n) << 64n) | (words[1] ?? 0n))
}
