/** Reasons why a sidecar is refused. */
export const REASON = {
  none: 'blob transaction missing blob hashes',
  hash: (index: number, computed: string, hash: string | undefined) =>
    `blob ${index}: computed hash ${computed} mismatches transaction one ${hash}`,
  point: (kind: 'commitment' | 'proof', index: number) => `KZG verification error: ${kind} ${index} is no point of the group G1`,
  element: (index: number) => `KZG verification error: blob ${index} has a field element that is not below the modulus`,
  proof: 'KZG verification error: invalid KZG proof',
} as const
