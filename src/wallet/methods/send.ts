import { Hex } from '../../eth/index.ts'
import { BLOB_FIELDS, blobRefusal, invalidParams, required, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { chainMismatch, selectedChain } from '../connecting.ts'
import { WALLET_CODE } from '../errors.ts'
import { ACCESS_LIST_ITEMS } from '../limits.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'
import { sendTransaction } from '../batches/sendtransaction.ts'
import { permittedAccount } from '../sites.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const HASH = '0xc9ec3caa78e68e4aab5d188c7fe6c0815e29ad62507fe729dbd32681405715dc'

const accessList = schema.arrayOf(
  schema.object({ address: schema.address, storageKeys: schema.arrayOf(schema.hash, ACCESS_LIST_ITEMS) }),
  ACCESS_LIST_ITEMS,
)

const shape = schema.object({
  type: schema.maybe(schema.quantityNumber),
  from: schema.maybe(schema.address),
  to: schema.maybe(schema.address),
  value: schema.maybe(schema.quantity),
  data: schema.maybe(schema.bytes),
  input: schema.maybe(schema.bytes),
  gas: schema.maybe(schema.uint64),
  gasLimit: schema.maybe(schema.uint64),
  gasPrice: schema.maybe(schema.quantity),
  maxFeePerGas: schema.maybe(schema.quantity),
  maxPriorityFeePerGas: schema.maybe(schema.quantity),
  nonce: schema.maybe(schema.uint64),
  chainId: schema.maybe(schema.quantity),
  accessList: schema.maybe(accessList),
  authorizationList: schema.maybe(schema.anything),
  maxFeePerBlobGas: schema.maybe(schema.anything),
  blobVersionedHashes: schema.maybe(schema.anything),
  ...BLOB_FIELDS,
})

type Shape = schema.Infer<typeof shape>

/** The parameter of eth_sendTransaction. Unknown fields are ignored. */
const transaction: Schema<Shape> = {
  json: shape.json,
  parse: (value, path) => {
    const parsed = shape.parse(value, path)
    assertSendable(parsed, path)
    return parsed
  },
}

export const SEND_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'eth_sendTransaction',
    doc: 'Asks the user to approve a transaction, signs it and sends it to the node; returns its hash. The wallet adds gas, fees and nonce if they are absent. `type` is 0x0, 0x1 or 0x2 and must match the fee fields.',
    params: [required('transaction', transaction)],
    result: schema.hash.json,
    errors: {
      [-32000]: 'the node refuses the transaction',
      [WALLET_CODE.rejected]: 'the user refused the transaction',
      [WALLET_CODE.unauthorized]:
        'the origin is not connected, or not to that account; or the private key of the account is public and the chain is a real one',
    },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: HASH },
    handler: async (wallet, [request], caller) => {
      const { origin } = caller
      const from = permittedAccount(wallet.sites.get(origin), request.from)
      const chain = selectedChain(wallet, origin)
      const { type, chainId, gasPrice, maxFeePerGas, maxPriorityFeePerGas, accessList } = request
      if (chainId !== undefined && chainId !== BigInt(chain.chainId)) throw chainMismatch(chain.chainId, Hex.fromQuantity(chainId))
      const data = request.input ?? request.data ?? new Uint8Array()
      const call = { to: request.to ?? null, value: request.value ?? 0n, data, gasLimitOverride: null }
      const requested = { type, gasPrice, maxFeePerGas, maxPriorityFeePerGas, gas: request.gas ?? request.gasLimit, accessList }
      return sendTransaction(wallet, { chain, from, calls: [call], requested, nonce: request.nonce ?? null }, caller)
    },
  }),
]

/** Throws RpcError -32602. */
function assertSendable(request: Shape, path: string): void {
  const { to, data, input, authorizationList } = request
  if (isList(authorizationList)) {
    throw invalidParams(
      `invalid ${path}: authorizationList delegates an account to code that the app chooses (EIP-7702), which this wallet does not sign; it upgrades an account itself if a batch of wallet_sendCalls needs it`,
      { reason: 'authorization-list' },
    )
  }
  const blobs = blobRefusal(request)
  if (blobs !== null) throw schema.refused(path, blobs)
  const wrongType = typeRefusal(request)
  if (wrongType !== null) throw schema.refused(`${path}.type`, wrongType)
  if (input !== undefined && data !== undefined && Hex.fromBytes(input) !== Hex.fromBytes(data)) {
    throw schema.refused(path, '"data" and "input" are both there and not equal; leave one of them out')
  }
  if (to === undefined && (input ?? data ?? NO_BYTES).length === 0) {
    throw schema.refused(path, 'neither "to" nor data: a contract creation needs init code')
  }
}

/** Returns why the type cannot be sent with these fields; null: it can. Without a type the fee fields determine it. */
function typeRefusal({ type, gasPrice, maxFeePerGas, maxPriorityFeePerGas, accessList }: Shape): string | null {
  if (type === undefined) return null
  const name = Hex.fromQuantity(type)
  if (type === 4) {
    return `transaction type ${name} (EIP-7702) needs an authorizationList, which this wallet does not accept from apps; leave the type out`
  }
  if (type > 4) return `transaction type ${name} is unknown; use 0x0, 0x1 or 0x2, or leave the type out`
  if (type === 2 && gasPrice !== undefined) return `transaction type ${name} has maxFeePerGas and maxPriorityFeePerGas, not gasPrice`
  if (type < 2 && (maxFeePerGas !== undefined || maxPriorityFeePerGas !== undefined)) {
    return `transaction type ${name} has gasPrice, not maxFeePerGas or maxPriorityFeePerGas`
  }
  if (type === 0 && isList(accessList)) return `transaction type ${name} has no accessList; use 0x1 or 0x2`
  return null
}

const NO_BYTES = new Uint8Array()

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}
