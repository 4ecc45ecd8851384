import { Hex } from '../../eth/index.ts'

/** Returns 16 random bytes as a quantity, as geth's ids of filters and subscriptions: the ids of other clients cannot be guessed. */
export function randomId(): Hex {
  const words = crypto.getRandomValues(new BigUint64Array(2))
  return Hex.fromQuantity(((words[0] ?? 0n) << 64n) | (words[1] ?? 0n))
}
