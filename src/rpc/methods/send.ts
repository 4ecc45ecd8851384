import { TRANSACTION_BYTES } from '../../chain/index.ts'
import type { Chain, View } from '../../chain/index.ts'
import { DecodeError, Hash, Hex, PersonalMessage, Transaction, TypedData } from '../../eth/index.ts'
import type { Address, Signature, TransactionFields } from '../../eth/index.ts'
import { unknownAccount } from '../accounts.ts'
import { onView } from '../calls.ts'
import type { Context } from '../context.ts'
import { CODE, RpcError, invalidParams } from '../errors.ts'
import { fieldsOf, priced, refuseUnsendable, withinBlock } from '../filling.ts'
import type { Footing } from '../filling.ts'
import { comingBaseFee, suggestedGasPrice } from '../gasprice.ts'
import { receiptJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { RECEIPT_WAIT_MS } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { phantom } from '../phantom.ts'
import { callRequest, senderOf } from '../request.ts'
import type { CallRequest } from '../request.ts'
import { RECEIPT, TRANSACTION, record } from '../results.ts'
import { address, anything, bytes, hash, integer, refused } from '../schema.ts'

const POOL_ERRORS = {
  [CODE.server]:
    'the pool refuses it: already known, nonce too low, replacement transaction underpriced, insufficient funds for gas * price + value, …',
}
const SEND_ERRORS = { [CODE.server]: 'unknown account, a failed gas estimate, or a refusal of the pool' }
const UNKNOWN_ACCOUNT = { [CODE.server]: 'unknown account' }

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const RAW =
  '0x02f86b827a6980830f424084773594008252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c080a0387035d1da7342338128c8c7ebebe123ef21c8cc2b2ab37640bba04939938965a07bf54772597f1e144c2bd05d4b790751b6bddeedcc143295f750fa30f34b6649'
const UNSIGNED = '0x02eb827a6980830f4240847650b2408252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c0808080'
const HASH = '0xc9ec3caa78e68e4aab5d188c7fe6c0815e29ad62507fe729dbd32681405715dc'
const SIGNED_MESSAGE =
  '0xa114c834af73872c6c9efe918d85b0b1b34a486d10f9011e2630e28417c828c060dbd65cda67e73d52ebb7c555260621dbc1b0b4036acb61086bba091ac3f1641b'
const SIGNED_DATA =
  '0x15c3455f3bf1151976ee31de05ae9d46476776d36c89bfa80562aae988fd81673fad1cfa120d810d978107751e2cf045b28faa026b4200564eb3dfe757b70e731c'
const FILLED = {
  raw: UNSIGNED,
  tx: { type: '0x2', nonce: '0x0', gas: '0x5208', maxFeePerGas: '0x7650b240', maxPriorityFeePerGas: '0xf4240' },
}

/** A signed transaction as bytes; its parsing names what is wrong with them. */
export const rawTransaction: Schema<Transaction> = {
  json: { ...bytes.json, title: 'signed transaction' },
  parse: (value, path) => {
    const raw = bytes.parse(value, path)
    refuseOversized(raw)
    try {
      return Transaction.decode(raw)
    } catch (error) {
      if (error instanceof DecodeError) throw refused(path, error.message)
      throw error
    }
  },
}

/**
 * As the pool does, but before decoding: recovering the authorities of 4 MB takes 4 s. A blob transaction comes with its
 * blobs, which do not count.
 */
function refuseOversized(raw: Uint8Array): void {
  if (raw[0] === 3 || raw.length <= TRANSACTION_BYTES) return
  throw new RpcError(CODE.server, `oversized data: transaction size ${raw.length}, limit ${TRANSACTION_BYTES}`)
}

export const SEND_METHODS: readonly Method[] = [
  method({
    name: 'eth_sendRawTransaction',
    doc: 'Takes a signed transaction into the pool and returns its hash; it is pre-confirmed with the next flashblock.',
    params: [required('transaction', rawTransaction)],
    result: hash.json,
    errors: POOL_ERRORS,
    example: { params: [RAW], result: HASH },
    handler: async ({ chain }, [tx]) => {
      await chain.submit(tx)
      return tx.hash
    },
  }),
  method({
    name: 'eth_sendRawTransactionSync',
    doc: 'Takes a signed transaction into the pool and returns its receipt as soon as a flashblock or block has it (EIP-7966).',
    params: [required('transaction', rawTransaction), optional('timeoutMs', integer)],
    result: RECEIPT,
    errors: { ...POOL_ERRORS, [CODE.unconfirmed]: 'accepted, but there was no receipt in time; data is the hash' },
    example: { params: [RAW, 2_000], result: { transactionHash: HASH, blockNumber: '0x1', status: '0x1' } },
    handler: ({ chain }, [tx, timeoutMs]) => submitAndWait(chain, tx, waitOf(timeoutMs)),
  }),
  method({
    name: 'eth_sendTransaction',
    doc: 'Fills in what a transaction lacks (nonce, gas, fees), signs it with the account of `from` and takes it into the pool.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: HASH },
    handler: (context, [request]) => {
      const from = requireSender(request)
      if (!context.accounts.canSend(from)) throw unknownAccount(from)
      return send(context, request, from, (fields) => context.accounts.transaction(fields, from))
    },
  }),
  method({
    name: 'eth_sendUnsignedTransaction',
    doc: 'Sends from any address without a signature, as if it were impersonated.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: HASH },
    handler: (context, [request]) => {
      const from = requireSender(request)
      return send(context, request, from, (fields) => Transaction.unsigned(fields, from))
    },
  }),
  method({
    name: 'eth_signTransaction',
    doc: 'Fills in what a transaction lacks and returns it signed by the account of `from`, without sending it.',
    params: [required('transaction', callRequest)],
    result: bytes.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: RAW },
    handler: async (context, [request]) => {
      const from = requireSender(request)
      const tx = context.accounts.transaction(await fill(context, request), from)
      return Hex.fromBytes(tx.raw)
    },
  }),
  method({
    name: 'eth_fillTransaction',
    doc: 'Fills in what a transaction lacks (nonce, gas, fees, chain id) and returns it unsigned.',
    params: [required('transaction', callRequest)],
    result: record('filled transaction', { raw: bytes.json, tx: TRANSACTION }),
    errors: { [CODE.server]: 'the gas estimate failed' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: FILLED },
    handler: async (context, [request]) => {
      const tx = phantom(await fill(context, request), senderOf(request))
      return { raw: Hex.fromBytes(tx.raw), tx: transactionJson(tx, null) }
    },
  }),
  method({
    name: 'eth_sign',
    doc: 'Signs a message with the prefix of EIP-191 (`\\x19Ethereum Signed Message:\\n`).',
    params: [required('address', address), required('message', bytes)],
    result: bytes.json,
    errors: UNKNOWN_ACCOUNT,
    example: { params: [ALICE, '0xdeadbeef'], result: SIGNED_MESSAGE },
    handler: ({ accounts }, [signer, message]) => signatureBytes(accounts.sign(signer, PersonalMessage.hash(message))),
  }),
  method({
    name: 'personal_sign',
    doc: 'As eth_sign, with message and address in the other order.',
    params: [required('message', bytes), required('address', address), optional('password', anything)],
    result: bytes.json,
    errors: UNKNOWN_ACCOUNT,
    example: { params: ['0xdeadbeef', ALICE], result: SIGNED_MESSAGE },
    handler: ({ accounts }, [message, signer]) => signatureBytes(accounts.sign(signer, PersonalMessage.hash(message))),
  }),
  ...['eth_signTypedData_v4', 'eth_signTypedData'].map((name) =>
    method({
      name,
      doc: 'Signs structured data (EIP-712), given as an object or as JSON text.',
      params: [required('address', address), required('typedData', anything)],
      result: bytes.json,
      errors: UNKNOWN_ACCOUNT,
      example: {
        params: [ALICE, { types: { Mail: [{ name: 'text', type: 'string' }] }, primaryType: 'Mail', domain: {}, message: { text: 'hi' } }],
        result: SIGNED_DATA,
      },
      handler: ({ accounts }, [signer, data]) => signatureBytes(accounts.sign(signer, typedDataHash(data))),
    }),
  ),
]

// --- receipts -------------------------------------------------------------------------------------------------------

function waitOf(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined || timeoutMs === 0) return RECEIPT_WAIT_MS
  if (timeoutMs <= RECEIPT_WAIT_MS) return timeoutMs
  throw invalidParams(`time out too long, timeout: ${timeoutMs} ms, max: ${RECEIPT_WAIT_MS} ms`)
}

async function submitAndWait(chain: Chain, tx: Transaction, limitMs: number): Promise<Json> {
  await chain.submit(tx)
  const { promise, resolve, reject } = withResolvers<Json>()
  const look = (view: View) => {
    const place = view.locate(tx.hash)
    if (place !== null) resolve(receiptJson(place))
  }
  const end = chain.head.subscribe(({ view }) => look(view))
  const reason = `the transaction was added to the mempool but wasn't confirmed within ${limitMs} ms`
  const timer = setTimeout(() => reject(new RpcError(CODE.unconfirmed, reason, tx.hash)), limitMs)
  look(chain.head.view)
  return promise.finally(() => {
    end()
    clearTimeout(timer)
  })
}

/** Promise.withResolvers, which Node 20 lacks. */
function withResolvers<T>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((accept, refuse) => {
    resolve = accept
    reject = refuse
  })
  return { promise, resolve, reject }
}

// --- filling and sending --------------------------------------------------------------------------------------------

type Maker = (fields: TransactionFields) => Transaction

/** With an explicit nonce there is nothing to wait for. */
function send(context: Context, request: CallRequest, from: Address, make: Maker): Promise<Hash> {
  const go = async () => {
    const tx = make(await fill(context, request))
    await context.chain.submit(tx)
    return tx.hash
  }
  return request.nonce === undefined ? context.accounts.inTurn(from, go) : go()
}

function requireSender({ from }: CallRequest): Address {
  if (from === undefined) throw invalidParams('invalid argument 0 (transaction): missing "from"')
  return from
}

/** Estimated on what is pre-confirmed, which it may depend on. The nonce comes last: that takes time, and the sender's nonce may move meanwhile. */
async function fill({ chain, compat }: Context, request: CallRequest): Promise<TransactionFields> {
  refuseUnsendable(request, chain.config, 'argument 0 (transaction)')
  const whole = await onView(chain, (view) => priced(withinBlock(request, chain), atTheTip(view), compat))
  return fieldsOf(whole, request.nonce ?? nextNonce(chain, senderOf(request)), chain.config)
}

function atTheTip(view: View): Footing {
  const block = view.tagged('pending')
  const baseFee = block.header.baseFeePerGas === null ? null : comingBaseFee(view)
  return { view, block, baseFee, gasPrice: suggestedGasPrice(view) }
}

/** After all that is pre-confirmed and all that follows on it in the pool. */
function nextNonce(chain: Chain, sender: Address): bigint {
  const { view } = chain.head
  const nonce = view.state(view.tagged('pending')).account(sender)?.nonce ?? 0n
  return chain.pool.nextNonce(sender, nonce)
}

// --- messages -------------------------------------------------------------------------------------------------------

/** r, s and 27 or 28. */
function signatureBytes({ r, s, yParity }: Signature): Hex {
  return Hex.fromBytes(Buffer.concat([Hash.toBytes(Hash.fromBigint(r)), Hash.toBytes(Hash.fromBigint(s)), Uint8Array.of(27 + yParity)]))
}

function typedDataHash(data: unknown): Hash {
  try {
    return TypedData.hash(TypedData.parse(data))
  } catch (error) {
    if (error instanceof DecodeError) throw refused('argument 1 (typedData)', error.message)
    throw error
  }
}
