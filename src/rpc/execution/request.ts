import { Address, Authorization } from '../../eth/index.ts'
import type { TransactionType } from '../../eth/index.ts'
import type { ChainConfig, Message } from '../../evm/index.ts'
import { AUTHORIZATIONS, REQUEST_LIST_ITEMS } from '../limits.ts'
import type { Schema } from '../method.ts'
import {
  address,
  arrayOf,
  bytes,
  hash,
  integer,
  maybe,
  object,
  quantity,
  quantityNumber,
  readAddress,
  readBytes,
  refused,
  uint64,
} from '../../jsonrpc/schema.ts'
import type { Infer } from '../../jsonrpc/schema.ts'
import { BLOB_FIELDS } from '../../jsonrpc/index.ts'

const NO_BYTES = new Uint8Array()

const accessList = arrayOf(object({ address, storageKeys: arrayOf(hash, REQUEST_LIST_ITEMS) }), REQUEST_LIST_ITEMS)

const authorizationShape = object({
  chainId: quantity,
  address,
  nonce: uint64,
  yParity: maybe(quantityNumber),
  v: maybe(quantityNumber),
  r: maybe(quantity),
  s: maybe(quantity),
})

/** EIP-7702. Wallets omit the signature in estimates: the authorization then has no authority. */
const authorization: Schema<Authorization> = {
  json: authorizationShape.json,
  parse: (value, path) => {
    const { chainId, address: target, nonce, ...signature } = authorizationShape.parse(value, path)
    const yParity = signature.yParity ?? parityOf(signature.v ?? 0)
    const signed = { chainId, address: target, nonce, yParity, r: signature.r ?? 0n, s: signature.s ?? 0n }
    return { ...signed, authority: Authorization.recover(signed) }
  },
}

/** A quantity. geth ignores the type, and anvil also accepts numbers and `02`, which ape-foundry sends. */
const type: Schema<number> = { json: quantityNumber.json, parse: integer.parse }

const shape = object({
  from: maybe(address),
  to: maybe(address),
  gas: maybe(uint64),
  gasPrice: maybe(quantity),
  maxFeePerGas: maybe(quantity),
  maxPriorityFeePerGas: maybe(quantity),
  value: maybe(quantity),
  nonce: maybe(uint64),
  data: maybe(bytes),
  input: maybe(bytes),
  type: maybe(type),
  chainId: maybe(quantity),
  accessList: maybe(accessList),
  maxFeePerBlobGas: maybe(quantity),
  blobVersionedHashes: maybe(arrayOf(hash, REQUEST_LIST_ITEMS)),
  ...BLOB_FIELDS,
  authorizationList: maybe(arrayOf(authorization, AUTHORIZATIONS)),
})

/** The call object (interface 2.3) and the transaction object: every field is optional. `input` is parsed into `data`. */
export type CallRequest = Partial<Omit<Infer<typeof shape>, 'input'>>

export const callRequest: Schema<CallRequest> = {
  json: shape.json,
  parse: (value, path) => {
    const plain = plainRequest(value)
    if (plain !== null) return plain
    const request = shape.parse(value, path)
    refuseContradictions(request, path)
    const { input } = request
    if (input === undefined) return request
    if (request.data !== undefined && !Buffer.from(input).equals(request.data)) {
      throw refused(path, 'both "data" and "input" are set and not equal; use "input" for call data')
    }
    return { ...request, data: input }
  },
}

/** Parses `{ to, data }`, the form of nearly every call. Null for any other form: the general schema takes 0.1 us more. */
function plainRequest(value: unknown): CallRequest | null {
  if (typeof value !== 'object' || value === null) return null
  for (const key in value) if (key !== 'to' && key !== 'data') return null
  const { to, data } = value as { readonly to?: unknown; readonly data?: unknown } // any object may have them
  const target = readAddress(to)
  const input = typeof data === 'string' ? readBytes(data) : null
  return target === null || input === null ? null : { to: target, data: input }
}

/** The sender, the zero address by default (geth, reth, interface 2.3). */
export function senderOf(request: CallRequest): Address {
  return request.from ?? Address.zero
}

/** The price per gas that the request offers; both are 0n without a price. */
export function feesOf(request: CallRequest, baseFeePerGas: bigint | null): { maxFee: bigint; maxTip: bigint } {
  if (request.gasPrice !== undefined) return { maxFee: request.gasPrice, maxTip: request.gasPrice }
  const maxTip = request.maxPriorityFeePerGas ?? 0n
  // With only a tip, the base fee decides the cap.
  const open = maxTip === 0n ? 0n : maxTip + (baseFeePerGas ?? 0n)
  return { maxFee: request.maxFeePerGas ?? open, maxTip }
}

/** Throws RpcError -32602 that names `path` for a request of another chain. */
export function assertChain(chainId: bigint | undefined, config: ChainConfig, path: string): void {
  if (chainId === undefined || chainId === BigInt(config.chainId)) return
  throw refused(`${path}.chainId`, `chainId does not match node's (have=${chainId}, want=${config.chainId})`)
}

/** The transaction types that the node signs. */
type SignedType = Exclude<TransactionType, 0x7e>

/** Returns the executor's message, without an envelope because a call pays no L1 fee. */
export function messageOf(
  request: CallRequest,
  gas: bigint,
  nonce: bigint,
  baseFeePerGas: bigint | null,
): Message & { readonly type: SignedType } {
  const { maxFee, maxTip } = feesOf(request, baseFeePerGas)
  const type = typeOf(request)
  return {
    // Before London there is no type 2; with an access list the rules of type 1 decide.
    type: type !== 2 || baseFeePerGas !== null ? type : request.accessList === undefined ? 0 : 1,
    from: senderOf(request),
    to: request.to ?? null,
    nonce,
    gas,
    value: request.value ?? 0n,
    data: request.data ?? NO_BYTES,
    maxFeePerGas: maxFee,
    maxPriorityFeePerGas: maxTip,
    accessList: request.accessList ?? [],
    maxFeePerBlobGas: request.maxFeePerBlobGas ?? 0n,
    blobVersionedHashes: request.blobVersionedHashes ?? [],
    authorizationList: request.authorizationList ?? [],
    deposit: null,
    raw: null,
  }
}

/** The type that the fields require, 2 by default; `type` decides only between types that have these fields. */
export function typeOf(request: CallRequest): SignedType {
  if (request.authorizationList !== undefined) return 4
  if (request.blobVersionedHashes !== undefined) return 3
  const dynamic = request.maxFeePerGas !== undefined || request.maxPriorityFeePerGas !== undefined
  const legacy = request.gasPrice !== undefined || (!dynamic && request.type !== undefined && request.type < 2)
  if (!legacy) return 2
  return request.accessList === undefined && request.type !== 1 ? 0 : 1
}

function refuseContradictions(request: CallRequest, path: string): void {
  const dynamic = request.maxFeePerGas !== undefined || request.maxPriorityFeePerGas !== undefined
  if (request.gasPrice !== undefined && dynamic) {
    throw refused(path, 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
  }
  if (request.gasPrice !== undefined && request.authorizationList !== undefined) {
    throw refused(path, 'both gasPrice and authorizationList specified')
  }
  if (request.type !== undefined && request.type > 4) throw refused(`${path}.type`, `transaction type ${request.type} cannot be sent`)
}

function parityOf(v: number): number {
  return v >= 27 ? v - 27 : v
}
