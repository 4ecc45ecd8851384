import { SYSTEM_DEPOSIT_GAS } from '../../compat.ts'
import { Address, Hash, Hex, SourceHash, Transaction } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { L1_BLOCK } from '../../evm/index.ts'
import type { Rules } from '../../evm/index.ts'
import type { L1Options, L1Origin } from '../l1.ts'

const DEPOSITOR = Address.from('0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001')
const BASE_TIME = Address.from('0x4200000000000000000000000000000000000030')

/** Selector and length of the L1-attributes call data (specs.optimism.io). */
const LAYOUTS = {
  ecotone: { selector: 0x440a5e20, length: 164 },
  isthmus: { selector: 0x098999be, length: 176 },
  jovian: { selector: 0x3db6be2b, length: 178 },
} as const
const SET_TIMESTAMP_MILLIS_PART = Hash.ofText('setTimestampMillisPart(uint16)').slice(0, 10)

/** Returns the first transaction of an L2 block, which records the L1 origin. */
export function l1AttributesDeposit(origin: L1Origin, parent: Block, options: L1Options, rules: Rules): Transaction {
  const sequenceNumber = nextSequenceNumber(parent, origin)
  return systemDeposit(
    L1_BLOCK,
    SourceHash.l1Attributes(origin.hash, BigInt(sequenceNumber)),
    l1AttributesData(origin, sequenceNumber, options, rules),
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
function nextSequenceNumber(parent: Block, origin: L1Origin): number {
  const data = parent.transactions[0]?.data
  if (data === undefined || data.length < LAYOUTS.ecotone.length) return 0
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  return Number(view.getBigUint64(28)) === origin.number ? Number(view.getBigUint64(12)) + 1 : 0
}

function l1AttributesData(origin: L1Origin, sequenceNumber: number, options: L1Options, rules: Rules): Uint8Array {
  const layout = rules.hasOp('jovian') ? LAYOUTS.jovian : rules.hasOp('isthmus') ? LAYOUTS.isthmus : LAYOUTS.ecotone
  const data = new Uint8Array(layout.length)
  const view = new DataView(data.buffer)
  view.setUint32(0, layout.selector)
  view.setUint32(4, options.baseFeeScalar)
  view.setUint32(8, options.blobBaseFeeScalar)
  view.setBigUint64(12, BigInt(sequenceNumber))
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
