import { type Curve, SIZE } from './curve.ts'
import { POINTS_PER_BATCH } from './limits.ts'
import { curve } from './mcl.ts'
import { fixedPrice, isZero, word } from './precompile.ts'
import type { Precompile } from './precompile.ts'

/** EIP-2537: 0x0b to 0x11. */
export const BLS12_381 = {
  addG1: fixedPrice(375, (input) => add(input, G1)),
  sumG1: discounted(12_000, () => G1),
  addG2: fixedPrice(600, (input) => add(input, G2)),
  sumG2: discounted(22_500, () => G2),
  pair: { gas: ({ length }) => 37_700 + 32_600 * Math.floor(length / 384), run: isProductOne },
  mapG1: fixedPrice(5_500, (input) => map(input, G1)),
  mapG2: fixedPrice(23_800, (input) => map(input, G2)),
} as const satisfies Readonly<Record<string, Precompile>>

/** geth's messages (core/vm/contracts.go). */
const REASON = {
  length: 'invalid input length',
  top: 'invalid field element top bytes',
  encoding: 'invalid fp.Element encoding',
  curve: 'invalid point: not on curve',
} as const
type Reason = (typeof REASON)[keyof typeof REASON] | Group['notInSubgroup']

const FIELD_BYTES = 64
const SCALAR_BYTES = 32

/** Discount in thousandths by number of pairs from 1; constant above 128 pairs. */
const DISCOUNTS = {
  g1: `1000 949 848 797 764 750 738 728 719 712 705 698 692 687 682 677 673 669 665 661 658 654 651 648 645 642 640 637 635 632 630 627
    625 623 621 619 617 615 613 611 609 608 606 604 603 601 599 598 596 595 593 592 591 589 588 586 585 584 582 581 580 579 577 576
    575 574 573 572 570 569 568 567 566 565 564 563 562 561 560 559 558 557 556 555 554 553 552 551 550 549 548 547 547 546 545 544
    543 542 541 540 540 539 538 537 536 536 535 534 533 532 532 531 530 529 528 528 527 526 525 525 524 523 522 522 521 520 520 519`,
  g2: `1000 1000 923 884 855 832 812 796 782 770 759 749 740 732 724 717 711 704 699 693 688 683 679 674 670 666 663 659 655 652 649 646
    643 640 637 634 632 629 627 624 622 620 618 615 613 611 609 607 606 604 602 600 598 597 595 593 592 590 589 587 586 584 583 582
    580 579 578 576 575 574 573 571 570 569 568 567 566 565 563 562 561 560 559 558 557 556 555 554 553 552 552 551 550 549 548 547
    546 545 545 544 543 542 541 541 540 539 538 537 537 536 535 535 534 533 532 532 531 530 530 529 528 528 527 526 526 525 524 524`,
} as const

/** Operations of a group, so that each precompile is implemented once for both. */
interface Group {
  readonly discounts: readonly number[]
  readonly notInSubgroup: 'g1 point is not on correct subgroup' | 'g2 point is not on correct subgroup'
  /** 64-byte field elements per point */
  readonly fields: 2 | 4
  /** bytes per point in mcl's memory */
  readonly size: number
  clear(wasm: Curve['wasm'], out: number): void
  isZero(wasm: Curve['wasm'], point: number): boolean
  isOnCurve(wasm: Curve['wasm'], point: number): boolean
  isInSubgroup(wasm: Curve['wasm'], point: number): boolean
  add(wasm: Curve['wasm'], out: number, other: number): void
  sum(wasm: Curve['wasm'], out: number, points: number, scalars: number, count: number): void
  map(wasm: Curve['wasm'], out: number, field: number): void
  normalize(wasm: Curve['wasm'], point: number): void
}

const G1: Group = {
  discounts: DISCOUNTS.g1.split(/\s+/).map(Number),
  notInSubgroup: 'g1 point is not on correct subgroup',
  fields: 2,
  size: SIZE.g1,
  clear: (wasm, out) => wasm.mclBnG1_clear(out),
  isZero: (wasm, point) => wasm.mclBnG1_isZero(point) === 1,
  isOnCurve: (wasm, point) => wasm.mclBnG1_isValid(point) === 1,
  isInSubgroup: (wasm, point) => wasm.mclBnG1_isValidOrder(point) === 1,
  add: (wasm, out, other) => wasm.mclBnG1_add(out, out, other),
  sum: (wasm, out, points, scalars, count) => wasm.mclBnG1_mulVec(out, points, scalars, count),
  map: (wasm, out, field) => void wasm.mclBnFp_mapToG1(out, field),
  normalize: (wasm, point) => wasm.mclBnG1_normalize(point, point),
}

const G2: Group = {
  discounts: DISCOUNTS.g2.split(/\s+/).map(Number),
  notInSubgroup: 'g2 point is not on correct subgroup',
  fields: 4,
  size: SIZE.g2,
  clear: (wasm, out) => wasm.mclBnG2_clear(out),
  isZero: (wasm, point) => wasm.mclBnG2_isZero(point) === 1,
  isOnCurve: (wasm, point) => wasm.mclBnG2_isValid(point) === 1,
  isInSubgroup: (wasm, point) => wasm.mclBnG2_isValidOrder(point) === 1,
  add: (wasm, out, other) => wasm.mclBnG2_add(out, out, other),
  sum: (wasm, out, points, scalars, count) => wasm.mclBnG2_mulVec(out, points, scalars, count),
  map: (wasm, out, field) => void wasm.mclBnFp2_mapToG2(out, field),
  normalize: (wasm, point) => wasm.mclBnG2_normalize(point, point),
}

/** EIP-2537: no subgroup check for additions. */
function add(input: Uint8Array, group: Group): Uint8Array | Reason {
  const pointBytes = group.fields * FIELD_BYTES
  if (input.length !== 2 * pointBytes) return REASON.length
  const bls = curve('bls12381')
  const left = bls.reserve(2 * group.size)
  const right = left + group.size
  const wrong = readPoint(bls, group, left, input, 0) ?? readPoint(bls, group, right, input, pointBytes)
  if (wrong !== null) return wrong
  group.add(bls.wasm, left, right)
  return writePoint(bls, group, left)
}

function discounted(price: number, of: () => Group): Precompile {
  const gas = ({ length }: Uint8Array): number => {
    const { discounts, fields } = of()
    const pairs = Math.floor(length / (fields * FIELD_BYTES + SCALAR_BYTES))
    if (pairs === 0) return 0
    const discount = discounts[Math.min(pairs, discounts.length) - 1] as number // 128 entries
    return Math.floor((pairs * price * discount) / 1_000)
  }
  return { gas, run: (input, checkDeadline) => sum(input, of(), checkDeadline) }
}

/** Multi-scalar multiplication in batches. */
function sum(input: Uint8Array, group: Group, checkDeadline?: () => void): Uint8Array | Reason {
  const pointBytes = group.fields * FIELD_BYTES
  const pairBytes = pointBytes + SCALAR_BYTES
  if (input.length === 0 || input.length % pairBytes !== 0) return REASON.length
  const bls = curve('bls12381')
  const total = bls.reserve((group.size + SIZE.scalar) * POINTS_PER_BATCH + 2 * group.size)
  const part = total + group.size
  const points = part + group.size
  const scalars = points + group.size * POINTS_PER_BATCH
  group.clear(bls.wasm, total)
  for (let start = 0; start < input.length; start += POINTS_PER_BATCH * pairBytes) {
    const batch = input.subarray(start, start + POINTS_PER_BATCH * pairBytes)
    let count = 0
    for (let offset = 0; offset < batch.length; offset += pairBytes) {
      const point = points + count * group.size
      const wrong = readMember(bls, group, point, batch, offset)
      if (wrong !== null) return wrong
      if (group.isZero(bls.wasm, point)) continue
      bls.reduceScalar(scalars + count * SIZE.scalar, batch, offset + pointBytes)
      count++
    }
    if (count > 0) {
      group.sum(bls.wasm, part, points, scalars, count)
      group.add(bls.wasm, total, part)
    }
    checkDeadline?.()
  }
  return writePoint(bls, group, total)
}

/** Returns 1 if the product of the pairings is one. */
function isProductOne(input: Uint8Array, checkDeadline?: () => void): Uint8Array | Reason {
  const g1Bytes = G1.fields * FIELD_BYTES
  const pairBytes = g1Bytes + G2.fields * FIELD_BYTES
  if (input.length === 0 || input.length % pairBytes !== 0) return REASON.length
  const bls = curve('bls12381')
  const read = (pair: number, p: number, q: number): Reason | null =>
    readMember(bls, G1, p, input, pair * pairBytes) ?? readMember(bls, G2, q, input, pair * pairBytes + g1Bytes)
  const result = bls.isProductOne(input.length / pairBytes, read, checkDeadline)
  return typeof result === 'boolean' ? word(result ? 1 : 0) : result
}

function map(input: Uint8Array, group: Group): Uint8Array | Reason {
  const fields = group.fields / 2
  if (input.length !== fields * FIELD_BYTES) return REASON.length
  const bls = curve('bls12381')
  const point = bls.reserve(group.size + fields * SIZE.field)
  const field = point + group.size
  const wrong = readFields(bls, field, input, 0, fields)
  if (wrong !== null) return wrong
  group.map(bls.wasm, point, field)
  return writePoint(bls, group, point)
}

function readMember(bls: Curve, group: Group, out: number, input: Uint8Array, offset: number): Reason | null {
  const wrong = readPoint(bls, group, out, input, offset)
  if (wrong !== null || group.isZero(bls.wasm, out) || group.isInSubgroup(bls.wasm, out)) return wrong
  return group.notInSubgroup
}

function readPoint(bls: Curve, group: Group, out: number, input: Uint8Array, offset: number): Reason | null {
  group.clear(bls.wasm, out)
  if (isZero(input, offset, offset + group.fields * FIELD_BYTES)) return null
  const wrong = readFields(bls, out, input, offset, group.fields)
  if (wrong !== null) return wrong
  bls.wasm.mclBnFp_setInt32(out + group.fields * SIZE.field, 1)
  return group.isOnCurve(bls.wasm, out) ? null : REASON.curve
}

function readFields(bls: Curve, out: number, input: Uint8Array, offset: number, count: number): Reason | null {
  for (let i = 0; i < count; i++) {
    const at = offset + i * FIELD_BYTES
    if (!isZero(input, at, at + 16)) return REASON.top
    if (!bls.readField(out + i * SIZE.field, input, at + 16)) return REASON.encoding
  }
  return null
}

function writePoint(bls: Curve, group: Group, point: number): Uint8Array {
  const output = new Uint8Array(group.fields * FIELD_BYTES)
  if (group.isZero(bls.wasm, point)) return output
  group.normalize(bls.wasm, point)
  for (let i = 0; i < group.fields; i++) bls.writeField(output, i * FIELD_BYTES + 16, point + i * SIZE.field)
  return output
}
