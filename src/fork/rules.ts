import { decodeExtraData, DEFAULT_HARDFORK } from '../chain/index.ts'
import { EMPTY_ROOT } from '../eth/index.ts'
import type { Header } from '../eth/index.ts'
import { OP_FORKS } from '../evm/index.ts'
import type { BlobParameters, L1Fork, OpFork } from '../evm/index.ts'

/** Seconds since which the chains that follow the common schedule have Granite, Holocene, Isthmus, Jovian and Karst. */
const MAINNET = [1_726_070_401, 1_736_445_601, 1_746_806_401, 1_764_691_201, 1_783_526_401] as const
const SEPOLIA = [1_723_478_400, 1_732_633_200, 1_744_905_600, 1_763_568_001, 1_781_712_001] as const

/**
 * Seconds since which each OP chain has Granite, Holocene and so on, 0 from its genesis on: `superchain/configs/` of
 * github.com/ethereum-optimism/superchain-registry of 2026-08-04; Karst of World Chain by the release notes of op-node 1.19.6 (2026-09-08).
 */
const OP_TIMES: Readonly<Record<number, readonly number[]>> = {
  10: MAINNET, // OP Mainnet
  130: [0, ...MAINNET.slice(1)], // Unichain
  177: [0], // HashKey Chain
  183: MAINNET, // Ethernity
  185: MAINNET.slice(0, 3), // Mint
  252: [1_738_958_401], // Fraxtal
  288: [1_729_753_200, 1_738_785_600], // Boba
  291: MAINNET.slice(0, 3), // Orderly
  360: [1_727_370_000], // Shape
  480: [1_727_780_400, 1_738_238_400, 1_764_072_000, 1_777_593_600, 1_789_992_000], // World Chain
  624: MAINNET, // Binary
  957: MAINNET.slice(0, 3), // Lyra
  1_135: MAINNET, // Lisk
  1_750: MAINNET, // Metal
  1_868: [0, 1_738_573_200, ...MAINNET.slice(2)], // Soneium
  5_330: [1_726_185_601, ...MAINNET.slice(1, 3)], // Superseed
  5_371: [0, 0], // Settlus
  7_560: [1_767_841_200, 1_767_927_600], // Cyber
  8_008: MAINNET.slice(0, 3), // Polynomial
  33_979: [1_767_582_000, 1_767_668_400], // Funki
  34_443: MAINNET, // Mode
  42_220: [0, 1_752_073_200, 1_752_073_200], // Celo
  57_073: [0, 1_742_396_400, ...MAINNET.slice(2)], // Ink
  60_808: MAINNET.slice(0, 3), // BOB
  380_929: [0, 0], // Silent Data
  7_777_777: MAINNET, // Zora
  // On Sepolia
  625: [1_723_545_055], // Binary
  863: [0, 0], // Radius
  919: SEPOLIA, // Mode
  1_301: [0, 1_734_559_200, ...SEPOLIA.slice(2)], // Unichain
  1_740: SEPOLIA, // Metal
  1_946: [1_730_106_000, 1_734_685_200, ...SEPOLIA.slice(2)], // Soneium Minato
  4_202: SEPOLIA, // Lisk
  4_801: [1_726_570_800, 1_737_633_600, 1_761_825_600, 1_777_161_600, 1_788_868_800], // World Chain
  5_373: [0, 0], // Settlus
  6_806: [1_749_686_400, 1_749_772_800], // Race
  11_011: [1_727_197_200], // Shape
  28_882: [1_726_470_000, 1_736_150_400], // Boba
  325_000: SEPOLIA.slice(0, 2), // Camp
  763_373: SEPOLIA, // Ink
  11_142_220: [0, 0], // Celo
  11_155_420: SEPOLIA, // OP Sepolia
  999_999_999: SEPOLIA, // Zora
}

/** Base has Azul in place of Karst (docs.base.org, "Upgrades"; times of the code of github.com/base/base). */
const BASE_TIMES: Readonly<Record<number, readonly number[]>> = {
  8_453: [...MAINNET.slice(0, 4), 1_779_991_200],
  84_532: [...SEPOLIA.slice(0, 4), 1_776_708_000],
}

/** Seconds since which an Ethereum chain has the rules of a fork that its headers do not show. */
const OSAKA_TIMES: Readonly<Record<number, number>> = {
  1: 1_764_798_551,
  11_155_111: 1_760_427_360,
  17_000: 1_759_308_480,
  560_048: 1_761_677_592,
}

/** The second increase of blob parameters (EIP-7892), which Ethereum and its test networks have since January 2026. */
export const NEWEST_BLOBS: BlobParameters = { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n }

/** Chain ids of development nodes, which run the newest rules. */
const DEV_CHAINS: ReadonlySet<number> = new Set([1_337, 31_337])

/** Returns the hard fork of a block: by chain id and time where these are known, otherwise by what its header has. */
export function hardforkOf(chainId: number, header: Header, isOp: boolean): OpFork | L1Fork {
  if (DEV_CHAINS.has(chainId) && isNewest(header, isOp)) return isOp ? DEFAULT_HARDFORK : 'osaka'
  if (!isOp) return header.timestamp >= (OSAKA_TIMES[chainId] ?? Infinity) ? 'osaka' : l1ForkOf(header)
  // A fork that was scheduled after the table was made shows in the header, unless it is Granite or Karst.
  const forks = [scheduledFork(chainId, header.timestamp), opForkOf(header)]
  return OP_FORKS.findLast((fork) => forks.includes(fork)) ?? 'granite'
}

/** Granite without a known schedule: a header does not tell it from Fjord. */
function scheduledFork(chainId: number, timestamp: number): OpFork {
  const times = OP_TIMES[chainId] ?? BASE_TIMES[chainId]
  if (times === undefined) return 'granite'
  const reached = times.filter((time) => time <= timestamp).length
  return (['fjord', 'granite', 'holocene', 'isthmus', 'jovian', chainId in BASE_TIMES ? 'azul' : 'karst'] as const)[reached] ?? 'fjord'
}

function isNewest(header: Header, isOp: boolean): boolean {
  return isOp ? opForkOf(header) === 'jovian' : l1ForkOf(header) === 'prague'
}

/**
 * Jovian and Holocene write EIP-1559 parameters of 17 and 9 bytes into the extra data; Isthmus a storage root in place of the withdrawals'.
 * Fjord stands for all earlier ones.
 */
function opForkOf({ extraData, withdrawalsRoot }: Header): OpFork {
  const parameters = decodeExtraData(extraData)
  if (parameters !== null && extraData.length === 17) return 'jovian'
  if (withdrawalsRoot !== null && withdrawalsRoot !== EMPTY_ROOT) return 'isthmus'
  return parameters === null ? 'fjord' : 'holocene'
}

function l1ForkOf({ requestsHash, parentBeaconBlockRoot, withdrawalsRoot }: Header): L1Fork {
  if (requestsHash !== null) return 'prague'
  if (parentBeaconBlockRoot !== null) return 'cancun'
  return withdrawalsRoot === null ? 'paris' : 'shanghai'
}
