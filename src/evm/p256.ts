import { p256 } from '@noble/curves/nist.js'

/** True when `input` (hash, r, s, x, y; 32 bytes each) is a valid secp256r1 signature. RIP-7212 and EIP-7951: any s. */
export function verifyP256(input: Uint8Array): boolean {
  if (input.length !== 160) return false
  const publicKey = new Uint8Array(65)
  publicKey[0] = 4
  publicKey.set(input.subarray(96), 1)
  try {
    return p256.verify(input.subarray(32, 96), input.subarray(0, 32), publicKey, { lowS: false, prehash: false })
  } catch {
    // Thrown for a point off the curve and for r or s outside the group: such a signature is not valid.
    return false
  }
}
