import { Bytes, Hash, sha256 } from '../eth/index.ts'
import type { Address, Log } from '../eth/index.ts'

/** DepositEvent(bytes,bytes,bytes,bytes,bytes) of the beacon deposit contract. */
const DEPOSIT_EVENT = Hash.from('0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5')

/** Positions of its five fields in the ABI data: public key, credentials, amount, signature, index. */
const FIELDS = [
  { start: 192, end: 240 },
  { start: 288, end: 320 },
  { start: 352, end: 360 },
  { start: 416, end: 512 },
  { start: 544, end: 552 },
] as const
const EVENT_SIZE = 576

/** EIP-6110: the deposit requests in the logs of a block, in the encoding of the consensus layer. */
export function depositRequests(logs: Iterable<Log>, contract: Address): Uint8Array {
  const parts: Uint8Array[] = []
  for (const { address, topics, data } of logs) {
    if (address !== contract || topics[0] !== DEPOSIT_EVENT || data.length !== EVENT_SIZE) continue
    for (const { start, end } of FIELDS) parts.push(data.subarray(start, end))
  }
  return Bytes.concat(parts)
}

/** EIP-7685: each non-empty list of `lists`, which are by request type from 0, behind its type. */
export function encodeRequests(lists: readonly Uint8Array[]): readonly Uint8Array[] {
  return lists.flatMap((data, type) => (data.length === 0 ? [] : [Bytes.concat([Uint8Array.of(type), data])]))
}

/** EIP-7685: of the requests that `encodeRequests` returns. */
export function requestsHash(requests: readonly Uint8Array[]): Hash {
  return Hash.from(sha256(Bytes.concat(requests.map(sha256))))
}
