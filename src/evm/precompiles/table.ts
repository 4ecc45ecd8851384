import type { Rules } from '../forks.ts'
import { inputLimit, p256Gas, activePrecompiles } from './addresses.ts'
import { BLAKE2F } from './blake2.ts'
import { BLS12_381 } from './bls12381.ts'
import { BN254 } from './bn254.ts'
import { CURVES } from './curve.ts'
import { ECRECOVER, IDENTITY, RIPEMD160, SHA256 } from './frontier.ts'
import { POINT_EVALUATION } from './kzg.ts'
import { loadCurve } from './mcl.ts'
import { MODEXP } from './modexp.ts'
import { verifyP256 } from './p256.ts'
import { fixedPrice } from './precompile.ts'
import type { Precompile } from './precompile.ts'

export type { Precompile } from './precompile.ts'
export { PrecompileNotLoaded, canReadCurves } from './mcl.ts'

/** By number. Entries whose gas depends on the fork are functions of the rules. */
const TABLE: ReadonlyMap<number, Precompile | ((rules: Rules) => Precompile)> = new Map<
  number,
  Precompile | ((rules: Rules) => Precompile)
>([
  [0x01, ECRECOVER],
  [0x02, SHA256],
  [0x03, RIPEMD160],
  [0x04, IDENTITY],
  [0x05, (rules) => (rules.has('osaka') ? MODEXP.eip7883 : rules.has('berlin') ? MODEXP.eip2565 : MODEXP.eip198)],
  [0x06, (rules) => bn254(rules).add],
  [0x07, (rules) => bn254(rules).multiply],
  [0x08, (rules) => bn254(rules).pair],
  [0x09, BLAKE2F],
  [0x0a, POINT_EVALUATION],
  [0x0b, BLS12_381.addG1],
  [0x0c, BLS12_381.sumG1],
  [0x0d, BLS12_381.addG2],
  [0x0e, BLS12_381.sumG2],
  [0x0f, BLS12_381.pair],
  [0x10, BLS12_381.mapG1],
  [0x11, BLS12_381.mapG2],
  [0x100, (rules) => fixedPrice(Number(p256Gas(rules)), (input) => verifyP256(input))],
])

const known = new WeakMap<Rules, ReadonlyMap<number, Precompile>>()

/** Returns the precompiles under these rules by number (1 to 0x11, 0x100): the same map for the same rules. */
export function precompiledContracts(rules: Rules): ReadonlyMap<number, Precompile> {
  let found = known.get(rules)
  if (found === undefined) known.set(rules, (found = new Map(active(rules))))
  return found
}

/** Loads the curves before their first use (50 ms in total, at most 30 ms at a time). */
export async function loadPrecompiles(): Promise<void> {
  for (const name of CURVES) {
    await loadCurve(name)
    await new Promise((resolve) => setTimeout(resolve)) // yields to the event loop
  }
}

function* active(rules: Rules): Iterable<[number, Precompile]> {
  for (const address of activePrecompiles(rules)) {
    const number = Number(address)
    const entry = TABLE.get(number)
    if (entry === undefined) throw new Error(`there is no precompile at ${address}`)
    const precompile = typeof entry === 'function' ? entry(rules) : entry
    const limit = inputLimit(rules, address)
    yield [number, limit === null ? precompile : limited(precompile, limit)]
  }
}

/** OP chains limit the input size so that fault proofs remain computable. */
function limited({ gas, run }: Precompile, limit: number): Precompile {
  return { gas, run: (input, checkDeadline) => (input.length > limit ? 'input length exceeds the limit' : run(input, checkDeadline)) }
}

function bn254(rules: Rules): (typeof BN254)['istanbul'] {
  return rules.has('istanbul') ? BN254.istanbul : BN254.byzantium
}
