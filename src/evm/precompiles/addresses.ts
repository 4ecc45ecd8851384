import { Address } from '../../eth/index.ts'
import type { Rules } from '../forks.ts'

const PAIRING = Address.fromBigint(0x08n)
export const BLAKE2F = Address.fromBigint(0x09n)
export const POINT_EVALUATION = Address.fromBigint(0x0an)
const G1_MSM = Address.fromBigint(0x0cn)
const G2_MSM = Address.fromBigint(0x0en)
const BLS_PAIRING = Address.fromBigint(0x0fn)
const P256_VERIFY = Address.fromBigint(0x100n)

/** RIP-7212 on OP chains, EIP-7951 since Osaka. */
const P256_GAS_RIP_7212 = 3_450n
const P256_GAS_EIP_7951 = 6_900n

const known = new WeakMap<Rules, ReadonlySet<Address>>()

/** Returns the addresses of the precompiles under these rules. */
export function activePrecompiles(rules: Rules): ReadonlySet<Address> {
  let found = known.get(rules)
  if (found === undefined) known.set(rules, (found = new Set(addressesUnder(rules))))
  return found
}

function* addressesUnder(rules: Rules): Iterable<Address> {
  const last = rules.has('prague')
    ? 0x11n
    : rules.has('cancun')
      ? 0x0an
      : rules.has('istanbul')
        ? 0x09n
        : rules.has('byzantium')
          ? 0x08n
          : 0x04n
  for (let index = 1n; index <= last; index++) yield Address.fromBigint(index)
  if (rules.has('osaka') || rules.hasOp('fjord')) yield P256_VERIFY
}

export function p256Gas(rules: Rules): bigint {
  return rules.has('osaka') ? P256_GAS_EIP_7951 : P256_GAS_RIP_7212
}

/** Maximum input size of a precompile on an OP chain (specs.optimism.io: Granite, Isthmus, Jovian, Karst); null: unlimited. */
export function inputLimit(rules: Rules, address: Address): number | null {
  const limits = INPUT_LIMITS.find(([fork]) => rules.hasOp(fork))?.[1]
  return limits?.get(address) ?? null
}

const JOVIAN_LIMITS = [
  [PAIRING, 81_984],
  [G1_MSM, 288_960],
  [G2_MSM, 278_784],
  [BLS_PAIRING, 156_672],
] as const

/** Newest first. */
const INPUT_LIMITS = [
  ['karst', new Map([...JOVIAN_LIMITS, [PAIRING, 57_600]])],
  ['jovian', new Map(JOVIAN_LIMITS)],
  [
    'isthmus',
    new Map([
      [PAIRING, 112_687],
      [G1_MSM, 513_760],
      [G2_MSM, 488_448],
      [BLS_PAIRING, 235_008],
    ]),
  ],
  ['granite', new Map([[PAIRING, 112_687]])],
] as const
