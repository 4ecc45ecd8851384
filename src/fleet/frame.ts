import type { ChainChange, RewindCause } from '../chain/index.ts'
import { DecodeError, Fields, Hash, Hex, Rlp } from '../eth/index.ts'
import type { Block, RlpInput, RlpItem } from '../eth/index.ts'
import { BlockRecord, CorruptRecord, WriteSets, encodeBlock } from '../store/index.ts'

/** One message of the sequencer to the replicas. */
export interface Frame {
  /** The database's commit that holds the change, or, for a flashblock and a retraction, the newest one before it. */
  readonly commit: number
  /** Milliseconds by the sequencer's monotonic clock. */
  readonly sentAtMs: number
  readonly change: ChainChange
}

/** Contains the number of the newest frame, so that a receiver detects the loss of the last frame. */
export interface Heartbeat {
  readonly newest: number
  /** Milliseconds by the sequencer's monotonic clock. */
  readonly sentAtMs: number
}

export const Frame = { encode, decode, encodeHeartbeat, decodeHeartbeat }

/** The version of the encoding, its first byte. A receiver refuses others. */
const VERSION = 1

function encode({ commit, sentAtMs, change }: Frame): Uint8Array {
  const body = Rlp.encode([commit, sentAtMs, KINDS.indexOf(change.kind), ...fieldsOf(change)])
  const frame = new Uint8Array(body.length + 1)
  frame[0] = VERSION
  frame.set(body, 1)
  return frame
}

function encodeHeartbeat({ newest, sentAtMs }: Heartbeat): Uint8Array {
  return Rlp.encode([VERSION, newest, sentAtMs])
}

/** Throws DecodeError. */
function decodeHeartbeat(bytes: Uint8Array): Heartbeat {
  const fields = new Fields(Rlp.decode(bytes, 'heartbeat'), 'heartbeat', 3)
  assertVersion(fields.number('version'))
  return { newest: fields.number('newest'), sentAtMs: fields.number('sentAtMs') }
}

function assertVersion(version: number | undefined): void {
  if (version === VERSION) return
  throw new DecodeError(
    'frame',
    `has version ${version ?? 'none'}, and this program reads ${VERSION}; run the same pocketchain in the whole fleet`,
  )
}

const KINDS: readonly ChainChange['kind'][] = ['flashblock', 'sealed', 'edit', 'rewind']

function fieldsOf(change: ChainChange): readonly RlpInput[] {
  if (change.kind === 'flashblock') {
    const { isPromise, payloadId, index, blockHash, block, firstTransaction, writes } = change
    const record = partRecord({ ...block, hash: blockHash })
    return [isPromise ? 1 : 0, payloadId, index, firstTransaction, firstLogOf(block), record, WriteSets.toRlp(writes)]
  }
  if (change.kind === 'sealed') {
    const { block, firstTransaction, writes } = change
    return [firstTransaction, firstLogOf(block), partRecord(block), WriteSets.toRlp(writes)]
  }
  if (change.kind === 'edit') return [WriteSets.toRlp(change.writes), change.nextBaseFee === null ? [] : [change.nextBaseFee]]
  const { cause, number, isSealedRewound, writes, repromised } = change
  return [Buffer.from(cause), number, isSealedRewound ? 1 : 0, WriteSets.toRlp(writes), [...repromised]]
}

/** Throws DecodeError. */
function decode(bytes: Uint8Array): Frame {
  assertVersion(bytes[0])
  const fields = new Fields(Rlp.decode(bytes.subarray(1), 'frame'), 'frame', 5, 10)
  const commit = fields.number('commit')
  const sentAtMs = fields.number('sentAtMs')
  const kind = KINDS[fields.number('kind')]
  if (kind === undefined) throw new DecodeError('frame', 'is of an unknown kind')
  return { commit, sentAtMs, change: readChange(kind, fields) }
}

function readChange(kind: ChainChange['kind'], fields: Fields): ChainChange {
  if (kind === 'flashblock') {
    const isPromise = fields.bit('isPromise') === 1
    const payloadId = Hex.fromBytes(fields.bytes('payloadId'))
    const index = fields.number('index')
    const firstTransaction = fields.number('firstTransaction')
    const block = readPart(fields)
    const writes = WriteSets.fromRlp(fields.item('writes'))
    return { kind, isPromise, payloadId, index, firstTransaction, blockHash: block.hash, block: { ...block, hash: Hash.zero }, writes }
  }
  if (kind === 'sealed') {
    const firstTransaction = fields.number('firstTransaction')
    const block = readPart(fields)
    return { kind, firstTransaction, block, writes: WriteSets.fromRlp(fields.item('writes')) }
  }
  if (kind === 'edit') {
    const writes = WriteSets.fromRlp(fields.item('writes'))
    const [nextBaseFee] = fields.list('nextBaseFee')
    return { kind, writes, nextBaseFee: nextBaseFee === undefined ? null : Rlp.toBigint(bytesOf(nextBaseFee)) }
  }
  return {
    kind,
    cause: Buffer.from(fields.bytes('cause')).toString() as RewindCause, // of the same version
    number: fields.number('number'),
    isSealedRewound: fields.bit('isSealedRewound') === 1,
    writes: WriteSets.fromRlp(fields.item('writes')),
    repromised: fields.list('repromised').map((item) => Hash.from(bytesOf(item))),
  }
}

function firstLogOf({ receipts }: Block): number {
  return receipts[0]?.firstLogIndex ?? 0
}

/** A record counts its logs from 0. */
function partRecord(block: Block): Uint8Array {
  const first = firstLogOf(block)
  return encodeBlock(first === 0 ? block : shifted(block, -first))
}

/** Throws DecodeError. */
function readPart(fields: Fields): Block {
  const firstLog = fields.number('firstLog')
  const bytes = fields.bytes('record')
  try {
    const block = BlockRecord.checked(bytes, new BlockRecord(bytes).number).decode()
    return firstLog === 0 ? block : shifted(block, firstLog)
  } catch (error) {
    // In a truncated record, the block number may be beyond its end.
    throw error instanceof CorruptRecord || error instanceof RangeError ? new DecodeError('frame.record', error.message) : error
  }
}

function shifted(block: Block, logs: number): Block {
  return { ...block, receipts: block.receipts.map((receipt) => ({ ...receipt, firstLogIndex: receipt.firstLogIndex + logs })) }
}

function bytesOf(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new DecodeError('frame', 'has a list in place of bytes')
}
