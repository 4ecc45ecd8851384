import { Address } from './address.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'

/** Values that are constant for a block; sent with index 0 only. */
export interface FlashblockBase {
  readonly parentBeaconBlockRoot: Hash
  readonly parentHash: Hash
  readonly feeRecipient: Address
  readonly prevRandao: Hash
  readonly blockNumber: number
  readonly gasLimit: bigint
  readonly timestamp: number
  readonly extraData: Uint8Array
  readonly baseFeePerGas: bigint
}

/** `transactions` and `withdrawals` are new since the previous flashblock; the other fields are cumulative. */
export interface FlashblockDiff {
  readonly stateRoot: Hash
  readonly receiptsRoot: Hash
  readonly logsBloom: Uint8Array
  readonly gasUsed: bigint
  readonly blockHash: Hash
  /** EIP-2718 envelopes */
  readonly transactions: readonly Uint8Array[]
  readonly withdrawalsRoot: Hash
  readonly blobGasUsed: bigint | null
}

/** One message of the pre-confirmation stream. */
export interface Flashblock {
  /** 8 bytes, the same for all flashblocks of a block */
  readonly payloadId: Hex
  readonly index: number
  readonly base: FlashblockBase | null
  readonly diff: FlashblockDiff
  readonly blockNumber: number
}

export const Flashblock = { toWire, fromWire, fromJson }

/**
 * Encodes the message as base/node-reth reads it: snake_case keys, `index` and `metadata.block_number` as JSON numbers, every other number
 * a 0x quantity, `base` only at index 0. Nothing needs escaping, so the text is concatenated.
 */
function toWire(flashblock: Flashblock): string {
  const { payloadId, index, base, diff, blockNumber } = flashblock
  const head = `{"payload_id":"${payloadId}","index":${index}`
  const middle = base === null ? '' : `,"base":${baseToWire(base)}`
  return `${head}${middle},"diff":${diffToWire(diff)},"metadata":{"block_number":${blockNumber}}}`
}

function baseToWire(base: FlashblockBase): string {
  return (
    `{"parent_beacon_block_root":"${base.parentBeaconBlockRoot}","parent_hash":"${base.parentHash}",` +
    `"fee_recipient":"${base.feeRecipient}","prev_randao":"${base.prevRandao}",` +
    `"block_number":"${Hex.fromQuantity(base.blockNumber)}","gas_limit":"${Hex.fromQuantity(base.gasLimit)}",` +
    `"timestamp":"${Hex.fromQuantity(base.timestamp)}","extra_data":"${Hex.fromBytes(base.extraData)}",` +
    `"base_fee_per_gas":"${Hex.fromQuantity(base.baseFeePerGas)}"}`
  )
}

function diffToWire(diff: FlashblockDiff): string {
  const transactions = diff.transactions.map((raw) => `"${Hex.fromBytes(raw)}"`).join(',')
  const blobGas = diff.blobGasUsed === null ? '' : `,"blob_gas_used":"${Hex.fromQuantity(diff.blobGasUsed)}"`
  return (
    `{"state_root":"${diff.stateRoot}","receipts_root":"${diff.receiptsRoot}","logs_bloom":"${Hex.fromBytes(diff.logsBloom)}",` +
    `"gas_used":"${Hex.fromQuantity(diff.gasUsed)}","block_hash":"${diff.blockHash}","transactions":[${transactions}],` +
    `"withdrawals":[],"withdrawals_root":"${diff.withdrawalsRoot}"${blobGas}}`
  )
}

/** Decodes a message and ignores unknown keys. Throws DecodeError. */
function fromWire(message: string | Uint8Array): Flashblock {
  return fromJson(parse(message))
}

/** As `fromWire`, of a parsed message. */
function fromJson(message: unknown): Flashblock {
  const top = new Wire(message, 'flashblock')
  const index = top.count('index')
  const base = top.has('base') ? baseFromWire(top.object('base')) : null
  if (index === 0 && base === null) throw new DecodeError('flashblock.base', 'is missing at index 0')
  return {
    payloadId: Hex.fromBytes(top.bytes('payload_id', 8)),
    index,
    base,
    diff: diffFromWire(top.object('diff')),
    blockNumber: top.object('metadata').count('block_number'),
  }
}

function baseFromWire(base: Wire): FlashblockBase {
  return {
    parentBeaconBlockRoot: base.hash('parent_beacon_block_root'),
    parentHash: base.hash('parent_hash'),
    feeRecipient: Address.from(base.bytes('fee_recipient', 20)),
    prevRandao: base.hash('prev_randao'),
    blockNumber: base.number('block_number'),
    gasLimit: base.quantity('gas_limit', 64),
    timestamp: base.number('timestamp'),
    extraData: base.bytes('extra_data'),
    baseFeePerGas: base.quantity('base_fee_per_gas', 256),
  }
}

function diffFromWire(diff: Wire): FlashblockDiff {
  if (diff.list('withdrawals').length > 0) throw new DecodeError('flashblock.diff.withdrawals', 'must be empty on an OP chain')
  return {
    stateRoot: diff.hash('state_root'),
    receiptsRoot: diff.hash('receipts_root'),
    logsBloom: diff.bytes('logs_bloom', 256),
    gasUsed: diff.quantity('gas_used', 64),
    blockHash: diff.hash('block_hash'),
    transactions: diff.list('transactions').map((raw) => bytesOf(raw, 'flashblock.diff.transactions')),
    withdrawalsRoot: diff.hash('withdrawals_root'),
    blobGasUsed: diff.has('blob_gas_used') ? diff.quantity('blob_gas_used', 64) : null,
  }
}

function parse(message: string | Uint8Array): unknown {
  const text = typeof message === 'string' ? message : new TextDecoder().decode(message)
  try {
    return JSON.parse(text)
  } catch {
    throw new DecodeError('flashblock', 'is not JSON')
  }
}

function bytesOf(value: unknown, field: string): Uint8Array {
  if (typeof value !== 'string') throw new DecodeError(field, 'must be a hex string')
  return Hex.toBytes(value, field)
}

/** Reads the keys of one JSON object. */
class Wire {
  readonly #object: ReadonlyMap<string, unknown>
  readonly #path: string

  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new DecodeError(path, 'must be a JSON object')
    this.#object = new Map(Object.entries(value))
    this.#path = path
  }

  /** A key with the value null counts as absent. */
  has(key: string): boolean {
    return (this.#object.get(key) ?? null) !== null
  }

  object(key: string): Wire {
    return new Wire(this.#object.get(key), this.#name(key))
  }

  list(key: string): readonly unknown[] {
    const value = this.#object.get(key)
    if (!Array.isArray(value)) throw new DecodeError(this.#name(key), 'must be an array')
    return value
  }

  /** Reads a JSON integer. */
  count(key: string): number {
    const value = this.#object.get(key)
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw new DecodeError(this.#name(key), 'must be a JSON integer')
    return value
  }

  quantity(key: string, bits: number): bigint {
    const value = this.#object.get(key)
    if (typeof value !== 'string' || !QUANTITY.test(value)) throw new DecodeError(this.#name(key), 'must be a 0x quantity')
    const quantity = BigInt(value)
    if (quantity >> BigInt(bits) !== 0n) throw new DecodeError(this.#name(key), `does not fit ${bits} bits`)
    return quantity
  }

  number(key: string): number {
    const value = Number(this.quantity(key, 64))
    if (!Number.isSafeInteger(value)) throw new DecodeError(this.#name(key), `is too large (${value})`)
    return value
  }

  bytes(key: string, sizeBytes?: number): Uint8Array {
    const bytes = bytesOf(this.#object.get(key), this.#name(key))
    if (sizeBytes !== undefined && bytes.length !== sizeBytes)
      throw new DecodeError(this.#name(key), `must be ${sizeBytes} bytes, not ${bytes.length}`)
    return bytes
  }

  hash(key: string): Hash {
    return Hash.from(this.bytes(key, 32))
  }

  #name(key: string): string {
    return `${this.#path}.${key}`
  }
}

const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]{0,63})$/i
