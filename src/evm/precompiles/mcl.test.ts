import { afterEach, expect, test } from 'vitest'
import { CURVES } from './curve.ts'
import type { CurveName } from './curve.ts'
import { curve, loadCurve, PrecompileNotLoaded } from './mcl.ts'

const { getBuiltinModule } = process

afterEach(() => {
  process.getBuiltinModule = getBuiltinModule
})

test('without a file system a curve throws PrecompileNotLoaded until it is loaded', async () => {
  Object.assign(process, { getBuiltinModule: undefined })
  const missing = thrownBy(() => curve('bn254'))
  expect(missing).toBeInstanceOf(PrecompileNotLoaded)
  if (missing instanceof PrecompileNotLoaded) await missing.load()
  expect(square('bn254', 3)).toBe(9n)
  expect(thrownBy(() => curve('p256'))).toBeInstanceOf(PrecompileNotLoaded)
})

test.each(CURVES)('with a file system %s loads synchronously, once', async (name) => {
  expect(square(name, 3)).toBe(9n)
  const first = curve(name)
  await loadCurve(name)
  expect(curve(name)).toBe(first)
})

test('two curves are independent', () => {
  // -1 differs per field
  const both = (): bigint[] => [minusOne('bn254'), minusOne('bls12381')]
  const [bn254, bls12381] = both()
  expect(bn254).toBe(0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd46n)
  expect(bls12381).toBe(0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaaan)
  expect(both()).toEqual([bn254, bls12381])
})

test('a field element not below the modulus is rejected', () => {
  const p = curve('bn254')
  const at = p.reserve(48)
  const modulus = Buffer.from('30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47', 'hex')
  expect(p.readField(at, modulus, 0)).toBe(false)
  modulus[31] = 0x46
  expect(p.readField(at, modulus, 0)).toBe(true)
})

test('the work area grows, and the memory with it', () => {
  const { reserve, wasm } = { reserve: (size: number) => curve('bls12381').reserve(size), wasm: curve('bls12381').wasm }
  const large = reserve(8_000_000)
  wasm.mclBnFp_setInt32(large + 7_999_900, 5)
  expect(numberAt('bls12381', large + 7_999_900)).toBe(5n)
  expect(reserve(100)).toBe(large)
  expect(square('bls12381', 7)).toBe(49n)
})

function square(name: CurveName, value: number): bigint {
  const { wasm } = curve(name)
  const at = curve(name).reserve(48)
  wasm.mclBnFp_setInt32(at, value)
  wasm.mclBnFp_sqr(at, at)
  return numberAt(name, at)
}

function minusOne(name: CurveName): bigint {
  const { wasm } = curve(name)
  const at = curve(name).reserve(48)
  wasm.mclBnFp_setInt32(at, 1)
  wasm.mclBnFp_neg(at, at)
  return numberAt(name, at)
}

function numberAt(name: CurveName, at: number): bigint {
  const bytes = new Uint8Array(name === 'bls12381' ? 48 : 32)
  curve(name).writeField(bytes, 0, at)
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return null
}
