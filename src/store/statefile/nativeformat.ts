import { StateHistory } from '../../chain/index.ts'
import type { Chain, Genesis } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Hash, Header } from '../../eth/index.ts'
import { L1_FORKS, OP_FORKS } from '../../evm/index.ts'
import type { Activation, BlobParameters, ChainConfig, L1Fork, OpActivation, WriteSet } from '../../evm/index.ts'
import { BlockRecord, CorruptRecord } from '../record/index.ts'
import { accountsText, readAccounts, writeSetOf } from './accounts.ts'
import { StateFileError } from './jsonfield.ts'
import type { JsonField } from './jsonfield.ts'
import { readPastStates } from './paststates.ts'
import type { PastStates } from './paststates.ts'
import { STATE_FILE_BYTES_PER_PIECE, STATE_FILE_RECORD_BYTES, STATE_FILE_RECORD_BYTES_READ } from './limits.ts'

/** The format of the value under the key `pocketchain`, and the older one that is read too: it has older records. */
const FORMAT = 2
const OLDER_FORMAT = 1

/** The data that, together with the newest state, restores the chain. */
export interface NativeChain {
  readonly chainId: number
  readonly genesis: Genesis
  /** root of the newest state */
  readonly stateRoot: Hash
  /** records of blocks 0, 1, … */
  readonly records: readonly Uint8Array[]
  /** `null`: the file has the newest state only */
  readonly past: PastStates | null
}

// --- writing --------------------------------------------------------------------------------------------------------------------------------

/**
 * Writes the value under the key `pocketchain` in pieces. `records`: the records of all blocks from 0; `past`: the text of older states. Throws StateFileError if they exceed
 * the limit.
 */
export function* nativeText(chain: Chain, stateRoot: Hash, records: Iterable<Uint8Array>, past: Iterable<string> | null): Iterable<string> {
  const { config, genesisState } = chain
  yield `{"format":${FORMAT},"chainId":${config.chainId},"stateRoot":"${stateRoot}","genesis":`
  yield* genesisText(config, genesisState)
  yield ',"records":['
  let comma = ''
  for (const piece of pieces(records)) {
    yield `${comma}"${piece}"`
    comma = ','
  }
  yield ']'
  if (past !== null) {
    yield ',"pastStates":'
    yield* past
  }
  yield '}'
}

/** Writes rules and state of a genesis as one JSON value in pieces; `readGenesis` is the inverse. */
export function* genesisText(config: ChainConfig, state: WriteSet): Iterable<string> {
  yield `{"config":${JSON.stringify(configJson(config))},"stateRoot":"${rootOf(state)}","alloc":`
  yield* accountsText([state])
  yield '}'
}

/** Cached: the same genesis is written repeatedly. */
function rootOf(state: WriteSet): Hash {
  const root = ROOTS.get(state) ?? new StateHistory(state).stateRoot()
  ROOTS.set(state, root)
  return root
}

const ROOTS = new WeakMap<WriteSet, Hash>()

/** Base64 of concatenated records, each after its length in 4 bytes. */
function* pieces(records: Iterable<Uint8Array>): Iterable<string> {
  let piece: Uint8Array[] = []
  let [size, total] = [0, 0]
  for (const record of records) {
    const length = Buffer.allocUnsafe(LENGTH_BYTES)
    length.writeUInt32BE(record.length)
    piece.push(length, record)
    size += LENGTH_BYTES + record.length
    if ((total += record.length) > STATE_FILE_RECORD_BYTES) throw tooManyRecords()
    if (size < STATE_FILE_BYTES_PER_PIECE) continue
    yield Buffer.concat(piece).toString('base64')
    piece = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(piece).toString('base64')
}

const LENGTH_BYTES = 4

function tooManyRecords(): StateFileError {
  const most = STATE_FILE_RECORD_BYTES / 2 ** 20
  return new StateFileError(
    'pocketchain.records',
    `would take more than ${most} MB: keep a chain of this length in a directory, with --data`,
  )
}

function configJson(config: ChainConfig): object {
  const { op, transactionGasCap, blobSchedule } = config
  return {
    ...config,
    transactionGasCap: transactionGasCap === null ? null : Hex.fromQuantity(transactionGasCap),
    blobSchedule: Object.fromEntries(Object.entries(blobSchedule).map(([fork, parameters]) => [fork, blobJson(parameters)])),
    op:
      op === null
        ? null
        : { ...op, ...hexed({ elasticity: op.elasticity, denominator: op.denominator, denominatorCanyon: op.denominatorCanyon }) },
  }
}

function blobJson({ target, max, baseFeeUpdateFraction }: BlobParameters): object {
  return { target, max, ...hexed({ baseFeeUpdateFraction }) }
}

function hexed(values: Readonly<Record<string, bigint>>): object {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Hex.fromQuantity(value)]))
}

// --- reading --------------------------------------------------------------------------------------------------------------------------------

/** Throws StateFileError. */
export function readNative(field: JsonField): NativeChain {
  const format = field.key('format').number()
  if (format !== FORMAT && format !== OLDER_FORMAT)
    throw field.key('format').wrong(`is ${format}: another version of pocketchain wrote it, this one reads ${OLDER_FORMAT} and ${FORMAT}`)
  const chainId = field.key('chainId').number()
  const records = [...readRecords(field.key('records'))]
  const [first] = records
  if (first === undefined) throw field.key('records').wrong('holds no block')
  const genesis = readGenesis(field.key('genesis'), new BlockRecord(first).decode().header)
  if (genesis.config.chainId !== chainId) throw field.key('chainId').wrong(`is not that of genesis.config, ${genesis.config.chainId}`)
  const past = field.maybe('pastStates')
  const pastStates = past === null ? null : readPastStates(past, records.length)
  return { chainId, genesis, stateRoot: field.key('stateRoot').hash(), records, past: pastStates }
}

function* readRecords(field: JsonField): Iterable<Uint8Array> {
  let [number, total] = [0, 0]
  for (const item of field.items()) {
    const bytes = Buffer.from(item.text(), 'base64')
    if ((total += bytes.length) > STATE_FILE_RECORD_BYTES_READ) throw tooManyRecords()
    for (let at = 0; at < bytes.length; number++) {
      const start = at + LENGTH_BYTES
      const end = start <= bytes.length ? start + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY
      if (end > bytes.length) throw item.wrong(`ends within the record of block ${number}`)
      yield checked(bytes.subarray(start, end), number, item)
      at = end
    }
  }
}

function checked(bytes: Uint8Array, number: number, field: JsonField): Uint8Array {
  try {
    return BlockRecord.checked(bytes, number).bytes
  } catch (error) {
    if (error instanceof CorruptRecord) throw field.wrong(`is damaged: ${error.message}`)
    throw error
  }
}

/** The header of block 0 provides the values that the text does not repeat. Throws StateFileError. */
export function readGenesis(field: JsonField, header: Header): Genesis {
  const state = writeSetOf(readAccounts(field.key('alloc')), true)
  assertRoot(field.key('stateRoot'), state)
  return {
    config: readConfig(field.key('config')),
    number: header.number,
    timestamp: header.timestamp,
    extraData: header.extraData,
    gasLimit: header.gasLimit,
    gasUsed: header.gasUsed,
    difficulty: header.difficulty,
    mixHash: header.mixHash,
    nonce: header.nonce,
    coinbase: header.coinbase,
    parentHash: header.parentHash,
    baseFeePerGas: header.baseFeePerGas,
    excessBlobGas: header.excessBlobGas,
    blobGasUsed: header.blobGasUsed,
    state,
  }
}

/** Throws StateFileError unless the field is the root of `state`. */
export function assertRoot(field: JsonField, state: WriteSet): void {
  const root = new StateHistory(state).stateRoot()
  if (field.hash() !== root) throw field.wrong(`is not the root of the accounts that are there, ${root}: they were lost or changed`)
}

function readConfig(field: JsonField): ChainConfig {
  const op = field.maybe('op')
  return {
    chainId: field.key('chainId').number(),
    l1: field.key('l1').items().map(activation),
    op: op === null ? null : readOp(op),
    blobSchedule: Object.fromEntries(
      (field.maybe('blobSchedule')?.entries() ?? []).map(([fork, entry]) => [l1Fork(fork, entry), blobParameters(entry)]),
    ),
    ...(field.maybe('bombDelays') === null
      ? {}
      : {
          bombDelays: field
            .key('bombDelays')
            .items()
            .map((item) => item.number()),
        }),
    depositContract: field.maybe('depositContract')?.text() ?? null,
    transactionGasCap: field.maybe('transactionGasCap')?.quantity() ?? null,
    codeSizeLimit: field.maybe('codeSizeLimit')?.number() ?? null,
  }
}

function activation(field: JsonField): Activation {
  const fork = field.key('fork')
  return {
    fork: l1Fork(fork.text(), fork),
    block: field.maybe('block')?.number() ?? null,
    timestamp: field.maybe('timestamp')?.number() ?? null,
  }
}

function l1Fork(name: string, field: JsonField): L1Fork {
  const fork = L1_FORKS.find((each) => each === name)
  if (fork === undefined) throw field.wrong(`names a fork that is not known here, ${JSON.stringify(name)}`)
  return fork
}

function readOp(field: JsonField): NonNullable<ChainConfig['op']> {
  return {
    activations: field.key('activations').items().map(opActivation),
    elasticity: field.key('elasticity').quantity(),
    denominator: field.key('denominator').quantity(),
    denominatorCanyon: field.key('denominatorCanyon').quantity(),
  }
}

function opActivation(field: JsonField): OpActivation {
  const name = field.key('fork')
  const fork = OP_FORKS.find((each) => each === name.text())
  if (fork === undefined) throw name.wrong(`is not known here (${JSON.stringify(name.text())})`)
  return { fork, timestamp: field.key('timestamp').number() }
}

function blobParameters(field: JsonField): BlobParameters {
  return {
    target: field.key('target').number(),
    max: field.key('max').number(),
    baseFeeUpdateFraction: field.key('baseFeeUpdateFraction').quantity(),
  }
}
