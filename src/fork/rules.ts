import { decodeExtraData, DEFAULT_HARDFORK } from '../chain/index.ts'
import { EMPTY_ROOT } from '../eth/index.ts'
import type { Header } from '../eth/index.ts'
import type { BlobParameters, L1Fork, OpFork } from '../evm/index.ts'

/** Seconds since which a chain has the rules of a fork that its headers do not show. */
const SCHEDULES: Readonly<Record<number, readonly (readonly [fork: L1Fork | OpFork, timestamp: number])[]>> = {
  1: [['osaka', 1_764_798_551]],
  11_155_111: [['osaka', 1_760_427_360]],
  17_000: [['osaka', 1_759_308_480]],
  560_048: [['osaka', 1_761_677_592]],
  8_453: [['azul', 1_782_410_400]],
  84_532: [['azul', 1_781_546_400]],
}

/** The second increase of blob parameters (EIP-7892), which Ethereum and its test networks have since January 2026. */
export const NEWEST_BLOBS: BlobParameters = { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n }

/** Chain ids of development nodes, which run the newest rules. */
const DEV_CHAINS: ReadonlySet<number> = new Set([1_337, 31_337])

/** Returns the hard fork of a block: by chain id and time where these are known, otherwise by what its header has. */
export function hardforkOf(chainId: number, header: Header, isOp: boolean): OpFork | L1Fork {
  if (DEV_CHAINS.has(chainId) && isNewest(header, isOp)) return isOp ? DEFAULT_HARDFORK : 'osaka'
  const scheduled = SCHEDULES[chainId]?.findLast(([, timestamp]) => timestamp <= header.timestamp)
  return scheduled?.[0] ?? (isOp ? opForkOf(header) : l1ForkOf(header))
}

function isNewest(header: Header, isOp: boolean): boolean {
  return isOp ? opForkOf(header) === 'jovian' : l1ForkOf(header) === 'prague'
}

/** Jovian and Holocene write EIP-1559 parameters of 17 and 9 bytes into the extra data; Isthmus a storage root in place of the withdrawals'. */
function opForkOf({ extraData, withdrawalsRoot }: Header): OpFork {
  const parameters = decodeExtraData(extraData)
  if (parameters !== null && extraData.length === 17) return 'jovian'
  if (withdrawalsRoot !== null && withdrawalsRoot !== EMPTY_ROOT) return 'isthmus'
  return parameters === null ? 'granite' : 'holocene'
}

function l1ForkOf({ requestsHash, parentBeaconBlockRoot, withdrawalsRoot }: Header): L1Fork {
  if (requestsHash !== null) return 'prague'
  if (parentBeaconBlockRoot !== null) return 'cancun'
  return withdrawalsRoot === null ? 'paris' : 'shanghai'
}
