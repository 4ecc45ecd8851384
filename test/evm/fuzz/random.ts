/** Deterministic generator: xoshiro128** seeded by splitmix32. Program 17 of seed 5 is the same on its own. */
export class Random {
  readonly #state: Uint32Array

  constructor(seed: number, stream: number) {
    let x = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca77)) >>> 0
    this.#state = Uint32Array.from({ length: 4 }, () => {
      x = (x + 0x9e3779b9) >>> 0
      let z = x
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
      return (z ^ (z >>> 15)) >>> 0
    })
  }

  /** 0 to 2^32 - 1 */
  next(): number {
    const s = this.#state
    const [a, b, c, d] = [s[0] ?? 0, s[1] ?? 0, s[2] ?? 0, s[3] ?? 0]
    const product = Math.imul(b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0
    const [e, f] = [c ^ a, d ^ b]
    s[0] = a ^ f
    s[1] = b ^ e
    s[2] = e ^ (b << 9)
    s[3] = (f << 11) | (f >>> 21)
    return result
  }

  /** 0 to `end` - 1 */
  below(end: number): number {
    return this.next() % end
  }

  /** both included */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1)
  }

  chance(share: number): boolean {
    return this.next() < share * 4_294_967_296
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)]
    if (item === undefined) throw new RangeError('nothing to pick from')
    return item
  }

  /** One of the rows, by weight. */
  weighted<T>(rows: readonly (readonly [weight: number, item: T])[]): T {
    const total = rows.reduce((sum, [weight]) => sum + weight, 0)
    let at = (this.next() / 4_294_967_296) * total
    for (const [weight, item] of rows) if ((at -= weight) < 0) return item
    return this.pick(rows)[1]
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256))
  }

  /** Below 2^bits. */
  bits(bits: number): bigint {
    let value = 0n
    for (let at = 0; at < bits; at += 32) value = (value << 32n) | BigInt(this.next())
    return BigInt.asUintN(bits, value)
  }
}
