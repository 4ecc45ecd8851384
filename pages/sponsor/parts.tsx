import { grouped, readable, rounded, units, visible } from '../wallet/format.ts'

/** An amount in rounded ether, with the exact amount as the title. Remaining amounts are rounded down, others up. */
export function Ether({ wei, isLeft = false }: { wei: string; isLeft?: boolean }) {
  const value = BigInt(wei)
  return (
    <span class="amount" title={`${units(value, 18)} ETH`}>
      {value > 0n && value < FEW_WEI ? `${value} wei` : `${isLeft ? atLeast(value) : rounded(value, 18)} ETH`}
    </span>
  )
}

/** Smaller amounts are shown in wei. */
const FEW_WEI = 1_000_000n

/** A price per gas in gwei, with the exact wei as the title; rounded to four digits in lists. */
export function Gwei({ wei, isRough = false }: { wei: bigint | string; isRough?: boolean }) {
  const value = BigInt(wei)
  const exact = `${grouped(value.toString())} wei`
  return (
    <span class="price" title={exact}>
      {value < FEW_WEI_OF_GAS && value > 0n ? exact : `${isRough ? rounded(value, 9) : readable(value, 9)} gwei`}
    </span>
  )
}

/** Lower prices are shown in wei: 0.0001 gwei. */
const FEW_WEI_OF_GAS = 100_000n

/** Ether with four significant digits, rounded down. */
function atLeast(value: bigint): string {
  const drop = value.toString().length - 4
  return units(drop <= 0 ? value : value - (value % 10n ** BigInt(Math.min(drop, 18))), 18)
}

/** The sponsor's icon, a data: URI, which causes no request; without one the first letter of its name. */
export function Icon({ uri, name }: { uri: string | null; name: string }) {
  if (uri?.startsWith('data:image/') === true) return <img class="icon" src={uri} alt="" width="44" height="44" />
  return (
    <span class="icon" aria-hidden="true">
      {visible(String.fromCodePoint(name.codePointAt(0) ?? 0x20))}
    </span>
  )
}

/** `2026-11-22 02:31:40` in UTC, as daily budgets. */
export function moment(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}
