import { SYSTEM_DEPOSIT_GAS } from '../../compat.ts'
import { Address, Hash, Hex, SourceHash, Transaction } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { L1_BLOCK } from '../../evm/index.ts'
import type { Rules } from '../../evm/index.ts'
import type { L1Options, L1Origin, SimulatedL1 } from '../l1.ts'

export const DEPOSITOR = Address.from('0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001')
const BASE_TIME = Address.from('0x4200000000000000000000000000000000000030')

/** Selector and length of the L1-attributes call data (specs.optimism.io). */
const LAYOUTS = {
  ecotone: { selector: 0x440a5e20, length: 164 },
  isthmus: { selector: 0x098999be, length: 176 },
  jovian: { selector: 0x3db6be2b, length: 178 },
} as const
const KNOWN_LAYOUTS = Object.values(LAYOUTS)
const SET_TIMESTAMP_MILLIS_PART = Hash.ofText('setTimestampMillisPart(uint16)').slice(0, 10)

/** Returns the first transaction of an L2 block, which records the L1 origin. */
export function l1AttributesDeposit(origin: L1Origin, parent: Block, l1: SimulatedL1, rules: Rules): Transaction {
  const sequenceNumber = nextSequenceNumber(parent, l1, origin)
  return systemDeposit(
    L1_BLOCK,
    SourceHash.l1Attributes(origin.hash, BigInt(sequenceNumber)),
    l1AttributesData(origin, sequenceNumber, l1.options, rules),
  )
}

/** Returns the second deposit under the native cadence, which records the millisecond part: 0 to 800 in steps of 200. */
export function baseTimeDeposit(parent: Block, millisecondPart: number): Transaction {
  const data = Hex.toBytes(`${SET_TIMESTAMP_MILLIS_PART}${millisecondPart.toString(16).padStart(64, '0')}`)
  const intent = `BaseTime ${parent.hash}`
  return systemDeposit(BASE_TIME, SourceHash.upgrade(intent), data)
}

/** Decodes a block's time in milliseconds from its second deposit; `null` for a block with a whole-second timestamp. */
export function decodeTimestampMs({ header, transactions }: Pick<Block, 'header' | 'transactions'>): number | null {
  const tx = transactions[1]
  if (tx?.type !== 0x7e || tx.to !== BASE_TIME || tx.from !== DEPOSITOR || tx.data.length !== 36) return null
  if (!Hex.fromBytes(tx.data).startsWith(SET_TIMESTAMP_MILLIS_PART)) return null
  return header.timestamp * 1_000 + new DataView(tx.data.buffer, tx.data.byteOffset).getUint16(34)
}

function systemDeposit(to: Address, sourceHash: Hash, data: Uint8Array): Transaction {
  return Transaction.deposit({
    sourceHash,
    from: DEPOSITOR,
    to,
    mint: 0n,
    value: 0n,
    gas: SYSTEM_DEPOSIT_GAS,
    isSystemTx: false,
    data,
  })
}

/** Position of the block within its L1 epoch, derived from the parent's attributes. */
function nextSequenceNumber(parent: Block, l1: SimulatedL1, origin: L1Origin): number {
  const data = parent.transactions[0]?.data
  // A fork has only the header of the fork block.
  if (data === undefined) return (l1.sequenceNumberBefore(origin) ?? -1) + 1
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (layoutOf(view) === undefined || Number(view.getBigUint64(28)) !== origin.number) return 0
  return Number(view.getBigUint64(12)) + 1
}

/** The values of an L1 attributes transaction. */
export interface L1Attributes extends L1Origin {
  readonly sequenceNumber: number
  readonly options: L1Options
}

/** Decodes the call data of an L1 attributes transaction since Ecotone; `null` for other data. */
export function decodeL1Attributes(data: Uint8Array): L1Attributes | null {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (layoutOf(view) === undefined) return null
  const [baseFee, blobBaseFee] = [getWord(view, 36), getWord(view, 68)]
  const isIsthmus = data.length >= LAYOUTS.isthmus.length
  return {
    number: Number(view.getBigUint64(28)),
    hash: Hash.from(data.slice(100, 132)),
    timestamp: Number(view.getBigUint64(20)),
    baseFee,
    blobBaseFee,
    sequenceNumber: Number(view.getBigUint64(12)),
    options: {
      baseFee,
      blobBaseFee,
      baseFeeScalar: view.getUint32(4),
      blobBaseFeeScalar: view.getUint32(8),
      operatorFeeScalar: isIsthmus ? view.getUint32(164) : 0,
      operatorFeeConstant: isIsthmus ? view.getBigUint64(168) : 0n,
      daFootprintGasScalar: data.length >= LAYOUTS.jovian.length ? view.getUint16(176) : 0,
    },
  }
}

function layoutOf(view: DataView): { readonly selector: number; readonly length: number } | undefined {
  if (view.byteLength < LAYOUTS.ecotone.length) return undefined
  return KNOWN_LAYOUTS.find(({ selector, length }) => selector === view.getUint32(0) && length === view.byteLength)
}

function getWord(view: DataView, at: number): bigint {
  return BigInt(Hex.fromBytes(new Uint8Array(view.buffer, view.byteOffset + at, 32)))
}

/** The blocks of an L1 epoch differ in the sequence number only. The data is valid until the next call. */
function l1AttributesData(origin: L1Origin, sequenceNumber: number, options: L1Options, rules: Rules): Uint8Array {
  let epoch = epochs.get(origin)
  if (epoch?.rules !== rules || epoch.options !== options)
    epochs.set(origin, (epoch = { rules, options, data: epochData(origin, options, rules) }))
  new DataView(epoch.data.buffer).setBigUint64(12, BigInt(sequenceNumber))
  return epoch.data
}

const epochs = new WeakMap<L1Origin, { readonly rules: Rules; readonly options: L1Options; readonly data: Uint8Array<ArrayBuffer> }>()

/** Call data without the sequence number. */
function epochData(origin: L1Origin, options: L1Options, rules: Rules): Uint8Array<ArrayBuffer> {
  const layout = rules.hasOp('jovian') ? LAYOUTS.jovian : rules.hasOp('isthmus') ? LAYOUTS.isthmus : LAYOUTS.ecotone
  const data = new Uint8Array(layout.length)
  const view = new DataView(data.buffer)
  view.setUint32(0, layout.selector)
  view.setUint32(4, options.baseFeeScalar)
  view.setUint32(8, options.blobBaseFeeScalar)
  view.setBigUint64(20, BigInt(origin.timestamp))
  view.setBigUint64(28, BigInt(origin.number))
  setWord(view, 36, origin.baseFee)
  setWord(view, 68, origin.blobBaseFee)
  data.set(Hash.toBytes(origin.hash), 100)
  if (layout.length >= LAYOUTS.isthmus.length) {
    view.setUint32(164, options.operatorFeeScalar)
    view.setBigUint64(168, options.operatorFeeConstant)
  }
  if (layout.length >= LAYOUTS.jovian.length) view.setUint16(176, options.daFootprintGasScalar)
  return data
}

/** Writes 32 bytes, big-endian. */
function setWord(view: DataView, at: number, value: bigint): void {
  for (let offset = 24, rest = value; offset >= 0; offset -= 8, rest >>= 64n) view.setBigUint64(at + offset, BigInt.asUintN(64, rest))
}
