import { Address, Hash, Hex, L1_COST_NAMES, isObject } from '../eth/index.ts'
import type { Log, PlacedReceipt } from '../eth/index.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Reads the fields that promises are about from a receipt, or a transaction with receipt fields, of any node. Fields that are absent or malformed
 * are absent in the result.
 */
export function receiptFromJson(json: JsonObject): Partial<PlacedReceipt> {
  const status = quantity(json['status'])
  const index = quantity(json['transactionIndex'])
  const gasUsed = quantity(json['gasUsed'])
  const cumulativeGasUsed = quantity(json['cumulativeGasUsed'])
  const effectiveGasPrice = quantity(json['effectiveGasPrice'])
  const [blobGasUsed, blobGasPrice] = [quantity(json['blobGasUsed']), quantity(json['blobGasPrice'])]
  const l1 = Object.entries(L1_COST_NAMES).flatMap(([key, name]) => {
    const value = quantity(json[name])
    return value === undefined ? [] : [[key, value]]
  })
  const contractAddress = 'contractAddress' in json ? addressOrNull(json['contractAddress']) : undefined
  const logs = Array.isArray(json['logs']) ? logsFromJson(json['logs']) : undefined
  return {
    ...(status === 0n || status === 1n ? { status: status === 1n ? 1 : 0 } : {}),
    ...(index === undefined ? {} : { transactionIndex: Number(index) }),
    ...(gasUsed === undefined ? {} : { gasUsed }),
    ...(cumulativeGasUsed === undefined ? {} : { cumulativeGasUsed }),
    ...(effectiveGasPrice === undefined ? {} : { effectiveGasPrice }),
    ...(blobGasUsed === undefined ? {} : { blobGasUsed }),
    ...(blobGasPrice === undefined ? {} : { blobGasPrice }),
    ...(l1.length === 0 ? {} : { l1: Object.fromEntries(l1) }),
    ...(contractAddress === undefined ? {} : { contractAddress }),
    ...(logs === undefined ? {} : { logs }),
  }
}

/**
 * Reads `metadata.receipts` of a flashblock: an object by transaction hash. Receipts are tagged by their type inside (`"type":"0x2"`) or outside
 * (`{"Eip1559":{…}}`), depending on the publisher's version. `null` if there are none.
 */
export function receiptsOfMetadata(metadata: JsonObject): ReadonlyMap<string, Partial<PlacedReceipt>> | null {
  const receipts = metadata['receipts']
  if (!isObject(receipts)) return null
  const found = new Map<string, Partial<PlacedReceipt>>()
  for (const [hash, receipt] of Object.entries(receipts)) {
    if (!isObject(receipt)) continue
    const [inner] = Object.values(receipt)
    const isTagged = !('cumulativeGasUsed' in receipt) && isObject(inner)
    found.set(hash.toLowerCase(), receiptFromJson(isTagged ? inner : receipt))
  }
  return found
}

/** Returns `undefined` if one of the logs is malformed. */
function logsFromJson(logs: readonly unknown[]): readonly Log[] | undefined {
  const read = logs.map(logFromJson)
  return read.includes(null) ? undefined : (read as Log[]) // none is null
}

/** Returns `null` for a malformed log. */
export function logFromJson(json: unknown): Log | null {
  if (!isObject(json)) return null
  const { address, topics, data } = json
  if (typeof address !== 'string' || typeof data !== 'string' || !Array.isArray(topics)) return null
  try {
    return {
      address: Address.from(Hex.toBytes(address)),
      topics: topics.map((topic) => Hash.from(Hex.toBytes(String(topic)))),
      data: Hex.toBytes(data),
    }
  } catch {
    return null
  }
}

/** Returns `undefined` for a value that is not a 0x quantity of at most 32 bytes. */
export function quantity(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined
}

/** Returns `undefined` for a value that is not a block number or index. */
export function integer(value: unknown): number | undefined {
  const read = quantity(value)
  return read !== undefined && read <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(read) : undefined
}

/** Returns the hash in lower case; `undefined` for another value. */
export function hashOf(value: unknown): Hash | undefined {
  return typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value) ? (value.toLowerCase() as Hash) : undefined // checked
}

function addressOrNull(value: unknown): Address | null | undefined {
  if (value === null) return null
  return typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value) ? Address.from(Hex.toBytes(value)) : undefined
}
