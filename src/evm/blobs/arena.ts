import { SIZE } from '../precompiles/curve.ts'
import type { Curve } from '../precompiles/curve.ts'

/** Values in mcl's memory that are freed together. */
export class Arena {
  readonly #bls: Curve
  readonly #blocks: number[] = []

  constructor(bls: Curve) {
    this.#bls = bls
  }

  /** Returns the address of consecutive scalars, which are not initialised. */
  scalars(count: number): number {
    return this.#allocate(count * SIZE.scalar)
  }

  /** Returns the address of consecutive points of G1 at infinity. */
  points(count: number): number {
    const start = this.#allocate(count * SIZE.g1)
    for (let i = 0; i < count; i++) this.#bls.wasm.mclBnG1_clear(pointAt(start, i))
    return start
  }

  free(): void {
    for (const block of this.#blocks.splice(0)) this.#bls.wasm.free(block)
  }

  #allocate(sizeBytes: number): number {
    const block = this.#bls.wasm.malloc(sizeBytes)
    if (block === 0) throw new RangeError(`mcl has no ${sizeBytes} bytes`)
    this.#blocks.push(block)
    return block
  }
}

export function scalarAt(start: number, index: number): number {
  return start + index * SIZE.scalar
}

export function pointAt(start: number, index: number): number {
  return start + index * SIZE.g1
}
