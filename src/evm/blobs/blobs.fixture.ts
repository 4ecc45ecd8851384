import { keccak256, toHex } from 'viem'

const MODULUS = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

/** Commitments and proofs by micro-eth-signer, which takes 20 s for them; `blobs.test.ts` verifies them with it. */
export interface BlobVector {
  /** 4,096 field elements, as 0x string */
  readonly blob: `0x${string}`
  readonly commitment: `0x${string}`
  readonly proof: `0x${string}`
}

export const BLOBS: readonly [BlobVector, BlobVector] = [
  {
    blob: blobOf(1),
    commitment: '0x89c9189c87b3eef0fcf7a8c247533a904979e885d187ee6ebdb400045c74f09e2c80154808dbd663f510088f4a00c3a2',
    proof: '0xa623be4237b4ebf247f4d0e887386a9a3abff140bf61d856183c972b03bb5d564efa2279cbeacc6860a8ffc8f7b981b4',
  },
  {
    blob: blobOf(2),
    commitment: '0xb6548a35a8c450a4ecfec78c04bbd83d1cd1288b4b51bb80066d6bcaf9b74e5f52198ebc74c52c6f817e4c6d137158c2',
    proof: '0xb9222ab2dbc79aa769985a9cc55c2ad158983bd060426211affb7145f180083bb1f33fbd27f0ba09f5795b4f44cddeba',
  },
]

/** The point at infinity: the commitment to the polynomial zero, and the proof for each constant polynomial. */
export const INFINITY = `0xc0${'00'.repeat(47)}` as const

/** Returns hashes as field elements. */
function blobOf(seed: number): `0x${string}` {
  return `0x${Array.from({ length: 4_096 }, (_, index) => element(BigInt(keccak256(toHex(seed * 10_000 + index))) % MODULUS)).join('')}`
}

/** Returns a field element as 64 digits. */
export function element(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}
